// Settings are read from the environment with safe defaults, and every mistake in them is reported at once.
import assert from "node:assert/strict";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join, resolve } from "node:path";
import { after, before, describe, it } from "node:test";
import { inspect } from "node:util";
import { type Config, ConfigError, readConfig, Variables } from "../../src/app/config.ts";
import { loadEnvironment, Secret } from "../../src/app/setting-reader.ts";
import { BadInputError } from "../../src/contracts/errors.ts";
import { parseDomainId } from "../../src/contracts/ids.ts";

const EXAMPLE = new URL("../../.env.example", import.meta.url);

function problemsOf(env: Record<string, string>): readonly string[] {
  try {
    readConfig(env);
  } catch (error) {
    assert.ok(error instanceof ConfigError);
    assert.ok(error instanceof BadInputError);
    for (const problem of error.problems) assert.ok(error.message.includes(problem));
    return error.problems;
  }
  return [];
}

describe("configuration", () => {
  it("works with nothing set", () => {
    const config = readConfig({});
    assert.deepEqual(config, {
      host: "127.0.0.1",
      port: 8000,
      storagePath: resolve("storage"),
      publicUrl: "",
      groupAccess: "none",
      sharepoint: null,
      web: {
        contactUrl: "",
        allowPrivateNetworks: false,
        requestsPerHost: 4,
        hostDelayMs: 100,
        pagesAtOnce: 16,
        timeoutSeconds: 30,
        maxBytes: 50 * 1024 * 1024,
        keepSnapshotsDays: 0,
        render: { enabled: false, browserPath: "" },
        trackingPrefixes: ["utm_", "gclid", "fbclid", "msclkid"],
        images: { minWidth: 128, minHeight: 128, minArea: 16_384, minBytes: 5000, maxAspect: 6, enableSvg: false },
        checks: {
          baseIntervalSeconds: 86_400,
          maxIntervalSeconds: 1_209_600,
          errorBackoffSeconds: 600,
          goneSpacingSeconds: 3600,
          movedSpacingSeconds: 3600,
          forceOnCanonicalChange: true,
          timerSeconds: 60,
          itemsAtOnce: 4,
          keepGoneDays: 30,
        },
        defaultDomain: parseDomainId("INGEST"),
        registry: { kind: "database", tableName: "IngestItems", partitions: "host" },
        queue: { kind: "database" },
        account: undefined,
      },
      trees: {
        roots: [],
        fileRoots: [],
        blobCredential: "",
        identityClientId: "",
        graceRuns: 3,
        graceHours: 24,
        keepDeletedDays: 30,
        keepVersions: 10,
        keepVersionDays: 90,
      },
      variables: new Variables({}),
      backend: { kind: "embedded" },
      access: {
        adminKey: new Secret(""),
        entra: null,
        allowedHosts: [],
        requestsPerSecond: 20,
        behindProxy: false,
        withoutKeys: "own account",
      },
      search: { defaultVectorStoreId: "", maxNumResults: 20, contentRoot: "" },
      answers: { model: null, instructions: "", temperature: null },
      database: { kind: "sqlite", folder: resolve("./storage") },
      embeddings: { kind: "built-in" },
      prices: {
        dollars: new Map([
          ["vector_store_gb_day", 0.1],
          ["text-embedding-3-small", 0.02],
          ["text-embedding-3-large", 0.13],
          ["text-embedding-ada-002", 0.1],
        ]),
        asOf: "July 2026, developers.openai.com/api/docs/pricing",
        isBuiltIn: true,
      },
      runJobsIn: "server",
      keepSupersededDays: 7,
      appendToMapsEvery: 10,
      keepReportsDays: 0,
      acceptedTypes: null,
      warnings: [],
    } satisfies Config);
  });

  it("tells every problem at once", () => {
    const problems = problemsOf({
      PORT: "70000",
      SEARCH_DEFAULT_MAX_NUM_RESULTS: "many",
      OPENAI_SERVICE_TYPE: "gemini",
      ALLOW_UNAUTHENTICATED_NETWORK_ACCESS: "perhaps",
      ACCEPTED_FILE_TYPES: "docx,,p/df",
      CRAWLER_TENANT_ID: "contoso",
    });
    const names = problems.map((problem) => problem.split(" ")[0]).sort();
    assert.deepEqual(names, [
      "ACCEPTED_FILE_TYPES",
      "ALLOW_UNAUTHENTICATED_NETWORK_ACCESS",
      "CRAWLER_CLIENT_CERTIFICATE_PFX_FILE",
      "CRAWLER_CLIENT_ID",
      "OPENAI_SERVICE_TYPE",
      "PORT",
      "SEARCH_DEFAULT_MAX_NUM_RESULTS",
    ]);
  });

  it("reads how addresses are known, how often they are looked at, and where that is kept", () => {
    const connection = "AccountName=a;AccountKey=c2VjcmV0;TableEndpoint=http://127.0.0.1:1/a";
    const { web } = readConfig({
      AZURE_STORAGE_CONNECTION_STRING: connection,
      REGISTRY_TABLE_NAME: "Known",
      REGISTRY_PARTITION_STRATEGY: "scheme",
      CRAWL_BASE_INTERVAL_SECONDS: "60",
      CRAWL_MAX_INTERVAL_SECONDS: "600",
      CRAWL_ERROR_BACKOFF_BASE: "5",
      TRACKING_PARAM_PREFIXES: "Ref_, mc",
      FORCE_REINDEX_ON_CANONICAL_CHANGE: "false",
      INGEST_QUEUE_STORE: "database",
    });
    const { tableName, partitions, kind } = web.registry;
    assert.deepEqual([kind, tableName, partitions, web.queue.kind], ["azure", "Known", "scheme", "database"]);
    const { baseIntervalSeconds, maxIntervalSeconds, errorBackoffSeconds, forceOnCanonicalChange } = web.checks;
    assert.deepEqual([baseIntervalSeconds, maxIntervalSeconds, errorBackoffSeconds], [60, 600, 5]);
    assert.deepEqual([web.trackingPrefixes, forceOnCanonicalChange], [["ref_", "mc"], false]);
    assert.doesNotMatch(inspect(web, { depth: 9 }), /c2VjcmV0/);
    const problems = problemsOf({ REGISTRY_STORE: "azure", REGISTRY_TABLE_NAME: "1-x", INGEST_DEFAULT_DOMAIN: "../x" });
    assert.deepEqual(problems.map((problem) => problem.split(" ")[0]).sort(), [
      "AZURE_STORAGE_CONNECTION_STRING",
      "INGEST_DEFAULT_DOMAIN",
      "REGISTRY_TABLE_NAME",
    ]);
  });

  it("reads which folders may be sources, and how long what is missing is kept", () => {
    const { trees } = readConfig({
      FOLDER_ROOTS: ["/srv/shares/", " ./exports "].join(delimiter) + delimiter,
      INGEST_FILE_ROOTS: "/srv/inbox",
      INGEST_BLOB_CREDENTIAL: "INBOX_SAS",
      AZURE_MANAGED_IDENTITY_CLIENT_ID: "1234",
      MISSING_GRACE_RUNS: "1",
      MISSING_GRACE_HOURS: "0",
      DELETED_KEEP_DAYS: "7",
      VERSIONS_KEEP: "2",
      VERSIONS_KEEP_DAYS: "3",
    });
    assert.deepEqual(trees, {
      roots: [resolve("/srv/shares"), resolve("exports")],
      fileRoots: [resolve("/srv/inbox")],
      blobCredential: "INBOX_SAS",
      identityClientId: "1234",
      graceRuns: 1,
      graceHours: 0,
      keepDeletedDays: 7,
      keepVersions: 2,
      keepVersionDays: 3,
    });
    const { variables } = readConfig({ SHARE_SAS: "sig=hunter2" });
    assert.deepEqual([variables.read("SHARE_SAS"), variables.read("NO_SUCH_SAS")], ["sig=hunter2", undefined]);
    assert.doesNotMatch(inspect(variables, { showHidden: true, depth: 9 }) + JSON.stringify(variables), /hunter2/);
    assert.match(problemsOf({ MISSING_GRACE_RUNS: "-1" }).join(), /^MISSING_GRACE_RUNS must be/);
    assert.match(readConfig({ FOLDER_ROOT: "/srv" }).warnings.join(), /did you mean FOLDER_ROOTS\?/);
  });

  it("reads prices, which are the user's own then and tell no date that the user does not give", () => {
    const { prices } = readConfig({ OPENAI_PRICES: " my-model=0.5,vector_store_gb_day = 0.11 " });
    assert.deepEqual(
      [...prices.dollars],
      [
        ["my-model", 0.5],
        ["vector_store_gb_day", 0.11],
      ],
    );
    assert.deepEqual([prices.asOf, prices.isBuiltIn], ["", false]);
    assert.equal(readConfig({ OPENAI_PRICES: "a=1", OPENAI_PRICES_AS_OF: "today" }).prices.asOf, "today");
    for (const wrong of ["0.5", "a=", "a=-1", "a=1e9", "a b=1", "a=1;b=2"]) {
      const [problem = ""] = problemsOf({ OPENAI_PRICES: wrong });
      assert.ok(problem.startsWith("OPENAI_PRICES must be names with dollars") && problem.includes(`'${wrong}'`));
    }
  });

  it("takes an empty value for none", () => {
    assert.equal(readConfig({ PORT: "", CRAWLER_TENANT_ID: "  " }).sharepoint, null);
  });

  it("accepts port 0, the old name of the storage path, and a list of types", () => {
    const config = readConfig({
      PORT: "0",
      LOCAL_PERSISTENT_STORAGE_PATH: "/srv/old",
      ACCEPTED_FILE_TYPES: " .PDF, docx",
    });
    assert.equal(config.port, 0);
    assert.equal(config.storagePath, "/srv/old");
    assert.deepEqual([...(config.acceptedTypes ?? [])], ["pdf", "docx"]);
    const both = readConfig({ PERSISTENT_STORAGE_PATH: "/srv/new", LOCAL_PERSISTENT_STORAGE_PATH: "/srv/old" });
    assert.equal(both.storagePath, "/srv/new");
  });

  it("lets nobody in without a key where others can reach it, unless told in so many words", () => {
    const reachable = ["0.0.0.0", "::", "192.168.1.5", "example.com", "127.0.0.1.example.com"];
    for (const host of reachable) assert.equal(readConfig({ HOST: host }).access.withoutKeys, "nobody", host);
    assert.equal(readConfig({ ALLOWED_HOSTS: "kb.example.com" }).access.withoutKeys, "nobody");
    for (const host of ["localhost", "127.0.0.2", "::1"]) {
      const config = readConfig({ HOST: host });
      assert.deepEqual([config.host, config.access.withoutKeys, config.warnings], [host, "own account", []]);
    }
    const trusting = readConfig({ ALLOW_UNAUTHENTICATED_NETWORK_ACCESS: "true" });
    assert.deepEqual([trusting.access.withoutKeys, trusting.warnings], ["everybody", []]);
    const open = readConfig({ HOST: "0.0.0.0", ALLOW_UNAUTHENTICATED_NETWORK_ACCESS: "true" });
    assert.equal(open.access.withoutKeys, "everybody");
    assert.match(open.warnings.join(), /everyone who can reach this server/);
  });

  it("refuses a key that could be guessed, half of Entra ID, and names that are no host names", () => {
    for (const key of ["short", "a".repeat(40), "12345678901234567890123"]) {
      assert.match(problemsOf({ ADMIN_API_KEY: key }).join(), /^ADMIN_API_KEY must have at least 24 characters/, key);
    }
    assert.equal(readConfig({ ADMIN_API_KEY: "k3y-That-nobody-Guesses!" }).access.adminKey.toString(), "(secret)");
    assert.match(problemsOf({ ENTRA_TENANT_ID: "contoso.example", ENTRA_AUDIENCE: "x" }).join(), /must be the id/);
    assert.match(problemsOf({ ENTRA_AUDIENCE: "api://x" }).join(), /go together/);
    assert.match(problemsOf({ ALLOWED_HOSTS: "https://kb.example.com" }).join(), /host names without port/);
  });

  it("asks for what the chosen backend needs", () => {
    assert.match(problemsOf({ OPENAI_SERVICE_TYPE: "openai" }).join(), /^OPENAI_API_KEY is needed/);
    const azure = problemsOf({ OPENAI_SERVICE_TYPE: "azure_openai" }).join("\n");
    assert.match(azure, /AZURE_OPENAI_API_KEY is needed[\s\S]*AZURE_OPENAI_ENDPOINT is needed/);
    const { backend } = readConfig({
      OPENAI_SERVICE_TYPE: "azure_openai",
      AZURE_OPENAI_API_KEY: "k-123",
      AZURE_OPENAI_ENDPOINT: "https://contoso.openai.azure.com",
    });
    assert.ok(backend.kind === "azure_openai");
    assert.equal(backend.apiKey.reveal(), "k-123");
    assert.equal(backend.apiVersion, "2025-04-01-preview");
  });

  it("allows plain http where nothing is given away", () => {
    const endpoint = { OPENAI_SERVICE_TYPE: "azure_openai", AZURE_OPENAI_API_KEY: "k" };
    assert.match(
      problemsOf({ ...endpoint, AZURE_OPENAI_ENDPOINT: "http://contoso.com" }).join(),
      /must begin with https/,
    );
    assert.deepEqual(problemsOf({ ...endpoint, AZURE_OPENAI_ENDPOINT: "http://127.0.0.1:9000" }), []);
    const lan = readConfig({
      OPENAI_SERVICE_TYPE: "openai",
      OPENAI_API_KEY: "k",
      OPENAI_BASE_URL: "http://gpu:8000/v1",
    });
    assert.match(lan.warnings.join(), /OPENAI_BASE_URL uses http/);
    const leak = problemsOf({ OPENAI_BASE_URL: "https://user:hunter2@x.com" }).join();
    assert.match(leak, /must not contain a user name or password/);
    assert.ok(!leak.includes("hunter2"));
  });

  it("prints no secret", () => {
    const config = readConfig({ OPENAI_SERVICE_TYPE: "openai", OPENAI_API_KEY: "sk-hidden" });
    assert.ok(config.backend.kind === "openai");
    for (const text of [
      inspect(config, { depth: 9, showHidden: true }),
      JSON.stringify(config),
      `${config.backend.apiKey}`,
    ]) {
      assert.ok(!text.includes("sk-hidden"), text);
      assert.ok(text.includes("(secret)"));
    }
  });

  it("says what has no effect, and what was probably meant", () => {
    const { warnings } = readConfig({
      CRAWLER_USE_MANAGED_IDENTITY: "true",
      AZURE_OPENAI_USE_MANAGED_IDENTITY: "false",
      CRAWLER_SELFTEST_DOMAIN: "TEST",
      PNP_CLIENT_ID: "x",
      SEARCH_DEFAULT_MAX_NUM_RESULT: "5",
      OPENAI_APIKEY: "sk-1",
      CRAWLER_COLOUR_OF_THE_SKY: "blue",
      OPENAI_API_KEY: "sk-2",
      LOG_QUERIES_AND_RESPONSES: "true",
      SEARCH_DEFAULT_TEMPERATURE: "0",
      PATH: "/bin",
    });
    assert.deepEqual(
      warnings.map((text) => text.split(":")[0]),
      [
        "OPENAI_API_KEY is set but has no effect",
        "SEARCH_DEFAULT_TEMPERATURE is set but has no effect",
        "CRAWLER_SELFTEST_DOMAIN is set but has no effect",
        "CRAWLER_USE_MANAGED_IDENTITY is set but has no effect",
        "LOG_QUERIES_AND_RESPONSES is set but has no effect yet",
        "OPENAI_APIKEY is not a setting; did you mean OPENAI_API_KEY?",
        "PNP_CLIENT_ID is set but has no effect",
        "SEARCH_DEFAULT_MAX_NUM_RESULT is not a setting; did you mean SEARCH_DEFAULT_MAX_NUM_RESULTS?",
      ],
    );
    assert.ok(!warnings.join().includes("sk-"));
    assert.deepEqual(readConfig({ LOG_QUERIES_AND_RESPONSES: "false" }).warnings, []);
  });
});

describe(".env.example", () => {
  it("lists exactly the names that are read, with their defaults", async () => {
    const text = await readFile(EXAMPLE, "utf8");
    const listed = [...text.matchAll(/^([A-Z_]+)=/gm)].map((match) => match[1]);
    const asked = new Set<string>();
    const nothingSet = new Proxy({} as Record<string, string>, {
      get: (_, name) => {
        asked.add(String(name));
        return undefined;
      },
    });
    const defaults = readConfig(nothingSet);
    assert.deepEqual(listed.toSorted(), [...asked].toSorted());
    const folder = await mkdtemp(join(tmpdir(), "lockstep-"));
    try {
      await writeFile(join(folder, ".env"), text);
      assert.deepEqual(readConfig(loadEnvironment(folder, {})), defaults);
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  it("has a comment above every name", async () => {
    const lines = (await readFile(EXAMPLE, "utf8")).split("\n");
    for (const [at, line] of lines.entries()) {
      if (/^[A-Z_]+=/.test(line)) assert.match(lines[at - 1] ?? "", /^# \S/, line);
    }
  });
});

describe("the environment", () => {
  let folder = "";
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), "lockstep-"));
  });
  after(() => rm(folder, { recursive: true }));

  it("wins over .env", async () => {
    await writeFile(join(folder, ".env"), '\uFEFFPORT=1234\nHOST=localhost\nQUOTED="a b"\n');
    const env = loadEnvironment(folder, { PORT: "99" });
    assert.deepEqual({ ...env }, { PORT: "99", HOST: "localhost", QUOTED: "a b" });
  });

  it("is enough without .env", () => {
    assert.deepEqual({ ...loadEnvironment(join(folder, "nowhere"), { PORT: "99" }) }, { PORT: "99" });
  });
});
