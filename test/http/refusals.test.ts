// Malformed, large and slow requests are refused, and the server goes on.
import assert from "node:assert/strict";
import { mkdir, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import type { DomainId, JobId } from "../../src/contracts/ids.ts";
import { parseDomainInput } from "../kinds.ts";
import { ask } from "./ask.ts";
import { sendRaw } from "./raw-request.ts";
import { type Served, serveScripted } from "./scripted-app.ts";

const MB = 1024 * 1024;
const JSON_TYPE = "content-type: application/json";
const FORM_TYPE = "content-type: application/x-www-form-urlencoded";

interface Attempt {
  readonly title: string;
  /** The request line without the version, then headers, one a line; Host and an end are added. */
  readonly head: string;
  readonly body?: string | Buffer;
  /** The body comes in chunks, so nobody says beforehand how long it is. */
  readonly chunked?: true;
  readonly status: number;
  readonly says: RegExp;
}

const post = (path: string, ...headers: string[]): string => [`POST ${path}`, ...headers].join("\r\n");
const create = (...headers: string[]): string => post("/v2/domains/create", ...headers);

const PATHS: readonly Attempt[] = [
  {
    title: "report_id",
    head: "GET /v2/reports/get?report_id=../../secret",
    status: 400,
    says: /report_id/,
  },
  {
    title: "report_id, encoded",
    head: "GET /v2/reports/get?report_id=crawls%2F..%2F..%2Fsecret",
    status: 400,
    says: /report_id/,
  },
  {
    title: "file_path",
    head: "GET /v2/reports/file?report_id=crawls/2026-01-15_14-25-00_DEMO_all_full&file_path=../../secret.txt",
    status: 404,
    says: /secret.txt/,
  },
  {
    title: "domain_id",
    head: "GET /v2/domains/get?domain_id=..%2F..%2Fsecret",
    status: 400,
    says: /'domain_id' must be/,
  },
  { title: "domain_id of dots", head: "GET /v2/domains/get?domain_id=..", status: 400, says: /'domain_id' must be/ },
  {
    title: "domain_id, backslashes",
    head: "GET /v2/domains/get?domain_id=..%5C..%5Csecret",
    status: 400,
    says: /'domain_id' must be/,
  },
  { title: "job_id", head: "GET /v2/jobs/get?job_id=../jb_1", status: 400, says: /'job_id' must be/ },
  {
    title: "source_id",
    head: "GET /v2/crawler/crawl?domain_id=DEMO&source_id=../x",
    status: 400,
    says: /'source_id' must be/,
  },
  { title: "assets", head: "GET /assets/../http-app.ts", status: 404, says: /Nothing is at/ },
  { title: "assets, encoded", head: "GET /assets/%2e%2e/http-app.ts", status: 404, says: /Nothing is at/ },
  { title: "assets, slashes encoded", head: "GET /assets/..%2fhttp-app.ts", status: 404, says: /Nothing is at/ },
  {
    title: "assets, encoded twice",
    head: "GET /assets/%252e%252e%252fhttp-app.ts",
    status: 404,
    says: /Nothing is at/,
  },
  { title: "assets, absolute", head: "GET /assets//etc/passwd", status: 404, says: /Nothing is at/ },
  { title: "assets, backslash", head: "GET /assets/..\\http-app.ts", status: 400, says: /address/ },
  { title: "the root", head: "GET /../../../../etc/passwd", status: 404, says: /Nothing is at/ },
  {
    title: "creating a domain",
    head: create(JSON_TYPE),
    body: '{"domain_id":"../x","name":"x"}',
    status: 400,
    says: /'domain_id' must be/,
  },
];

const FOREIGN: readonly Attempt[] = [
  {
    title: "Origin",
    head: create(JSON_TYPE, "origin: https://evil.example"),
    body: "{}",
    status: 403,
    says: /from another site/,
  },
  {
    title: "Origin: null",
    head: create(FORM_TYPE, "origin: null"),
    body: "domain_id=X",
    status: 403,
    says: /from another site/,
  },
  {
    title: "Sec-Fetch-Site",
    head: "GET /v2/crawler/crawl?domain_id=DEMO\r\nsec-fetch-site: cross-site",
    status: 403,
    says: /from another site/,
  },
  {
    title: "Referer, where a browser tells nothing else",
    head: "GET /v2/domains/delete?domain_id=DEMO\r\nreferer: http://evil.example/",
    status: 403,
    says: /from another site/,
  },
  {
    title: "Referer over the wire protocol",
    head: post("/openai/v1/files", "referer: http://evil.example/"),
    status: 403,
    says: /from another site/,
  },
  {
    title: "a form post that claims to be text",
    head: create("content-type: text/plain", "origin: https://evil.example"),
    body: '{"domain_id":"X","name":"x"}',
    status: 403,
    says: /from another site/,
  },
  {
    title: "prefetch",
    head: "GET /v2/domains/delete?domain_id=DEMO\r\nsec-purpose: prefetch",
    status: 403,
    says: /must not be prefetched/,
  },
  {
    title: "a method hidden in a header",
    head: "GET /v2/domains/get?domain_id=DEMO\r\nx-http-method-override: DELETE",
    status: 200,
    says: /"Demo"/,
  },
  {
    title: "a method hidden in a parameter",
    head: "GET /v2/domains/get?domain_id=DEMO&_method=DELETE",
    status: 400,
    says: /Unknown parameter '_method'/,
  },
  {
    title: "a method that the endpoint does not have",
    head: "PATCH /v2/domains/update?domain_id=DEMO",
    status: 400,
    says: /HTTP method 'PATCH' not supported/,
  },
  { title: "TRACE", head: "TRACE /v2/domains?format=json", status: 400, says: /not supported|not valid/ },
  {
    title: "TRACE over the wire protocol",
    head: "TRACE /openai/v1/files",
    status: 400,
    says: /^\{"error":\{"message":"HTTP method 'TRACE' not supported\."/,
  },
  {
    title: "DNS rebinding",
    head: "GET /v2/domains?format=json\r\nhost: rebound.evil.example",
    status: 403,
    says: /not known by that host name/,
  },
  {
    title: "another server's address",
    head: "GET http://evil.example/v2/domains?format=json\r\nhost: evil.example",
    status: 403,
    says: /not known by that host name/,
  },
  {
    title: "a Host that is the address of no machine",
    head: "GET /health\r\nhost: 127.999.1.1",
    status: 400,
    says: /Host header is not valid/,
  },
  { title: "a Host that is none", head: "GET /health\r\nhost: a b", status: 400, says: /Host header is not valid/ },
];

const MALFORMED: readonly Attempt[] = [
  {
    title: "JSON that ends early",
    head: create(JSON_TYPE),
    body: '{"domain_id":"X"',
    status: 400,
    says: /not valid JSON/,
  },
  { title: "JSON that is a list", head: create(JSON_TYPE), body: "[]", status: 400, says: /must be a JSON object/ },
  { title: "JSON that is null", head: create(JSON_TYPE), body: "null", status: 400, says: /must be a JSON object/ },
  {
    title: "JSON with NUL",
    head: create(JSON_TYPE),
    body: '{"domain_id":"X","name":"a\\u0000b"}',
    status: 400,
    says: /'name' holds a character that is no text/,
  },
  {
    title: "JSON with half a character",
    head: create(JSON_TYPE),
    body: '{"domain_id":"X","name":"\\ud800"}',
    status: 400,
    says: /'name' holds a character that is no text/,
  },
  {
    title: "JSON with __proto__",
    head: create(JSON_TYPE),
    body: '{"__proto__":{"a":1},"domain_id":"X","name":"x"}',
    status: 400,
    says: /Unknown field '__proto__'/,
  },
  {
    title: "JSON a thousand levels deep",
    head: create(JSON_TYPE),
    body: `{"file_sources":${"[".repeat(1000)}${"]".repeat(1000)}}`,
    status: 400,
    says: /nested more than 64 levels deep/,
  },
  {
    title: "bytes that are not UTF-8",
    head: create(JSON_TYPE),
    body: Buffer.from([0x7b, 0xff, 0xfe, 0x7d]),
    status: 400,
    says: /not UTF-8/,
  },
  {
    title: "a form with a field twice",
    head: create(FORM_TYPE),
    body: "domain_id=A&domain_id=B",
    status: 400,
    says: /'domain_id' is given more than once/,
  },
  {
    title: "a form with NUL",
    head: create(FORM_TYPE),
    body: "domain_id=A&name=%00",
    status: 400,
    says: /'name' holds a character that is no text/,
  },
  {
    title: "multipart without a boundary",
    head: create("content-type: multipart/form-data"),
    body: "--x",
    status: 400,
    says: /not a valid form/,
  },
  {
    title: "multipart that ends early",
    head: create("content-type: multipart/form-data; boundary=x"),
    body: '--x\r\ncontent-disposition: form-data; name="a"\r\n\r\nb',
    status: 400,
    says: /not a valid form/,
  },
  {
    title: "a content type that nobody reads",
    head: create("content-type: application/xml"),
    body: "<a/>",
    status: 400,
    says: /Content type 'application\/xml' not supported/,
  },
  {
    title: "a parameter twice",
    head: "GET /v2/domains/get?domain_id=A&domain_id=B",
    status: 400,
    says: /'domain_id' is given more than once/,
  },
  {
    title: "an unknown parameter",
    head: "GET /v2/domains/delete?domain_id=DEMO&dryrun=true",
    status: 400,
    says: /Unknown parameter 'dryrun'/,
  },
  {
    title: "an unknown field",
    head: create(JSON_TYPE),
    body: '{"domain_id":"X","name":"x","dryrun":true}',
    status: 400,
    says: /Unknown field 'dryrun'/,
  },
  { title: "a path that is not encoded right", head: "GET /v2/%E0%A4%A", status: 400, says: /path is not valid/ },
  { title: "a path that is not UTF-8", head: "GET /v2/%ff%fe", status: 400, says: /path is not valid/ },
  { title: "NUL in the path", head: "GET /v2/domains%00", status: 400, says: /path is not valid/ },
  { title: "NUL in the query", head: "GET /query2?query=a%00b", status: 400, says: /NUL/ },
  {
    title: "a query that is not UTF-8",
    head: "GET /v2/domains/get?domain_id=%ff",
    status: 400,
    says: /'domain_id' must be/,
  },
  {
    title: "two lengths",
    head: create(JSON_TYPE, "content-length: 2", "content-length: 3"),
    body: "{}",
    status: 400,
    says: /not valid HTTP/,
  },
  {
    title: "a length that is no number",
    head: create(JSON_TYPE, "content-length: two"),
    body: "{}",
    status: 400,
    says: /not valid HTTP/,
  },
  {
    title: "a length and chunks",
    head: create(JSON_TYPE, "content-length: 2", "transfer-encoding: chunked"),
    body: "0\r\n\r\n",
    status: 400,
    says: /not valid HTTP/,
  },
  {
    title: "chunks that are none",
    head: create(JSON_TYPE, "transfer-encoding: chunked"),
    body: "zz\r\n{}\r\n0\r\n\r\n",
    status: 400,
    says: /not valid HTTP/,
  },
  {
    title: "a line end in a header",
    head: "GET /v2/domains?format=json\r\nx: a\nb",
    status: 400,
    says: /not valid HTTP/,
  },
  { title: "NUL in a header", head: "GET /v2/domains?format=json\r\nx: a\0b", status: 400, says: /not valid HTTP/ },
  { title: "no HTTP at all", head: "\x16\x03\x01", status: 400, says: /not valid HTTP/ },
];

const OVERSIZED: readonly Attempt[] = [
  {
    title: "a body that says how long it is",
    head: create(JSON_TYPE, `content-length: ${2 * MB}`),
    status: 413,
    says: /larger than 1048576 bytes/,
  },
  {
    title: "a body that does not say",
    head: create(JSON_TYPE),
    body: "x".repeat(MB + 1),
    chunked: true,
    status: 413,
    says: /larger than 1048576 bytes/,
  },
  {
    title: "the body of a query",
    head: post("/query", JSON_TYPE),
    body: "x".repeat(MB + 1),
    chunked: true,
    status: 413,
    says: /^\{"error":"Request body/,
  },
  {
    title: "the body of a sign-in",
    head: post("/sign-in", FORM_TYPE, "sec-fetch-site: same-origin"),
    body: `key=${"x".repeat(MB)}`,
    status: 413,
    says: /larger than/,
  },
  {
    title: "a long address",
    head: `GET /v2/domains?filter=${"x".repeat(9000)}`,
    status: 414,
    says: /address is longer than 8192/,
  },
  {
    title: "a very long address",
    head: `GET /v2/domains?filter=${"x".repeat(20_000)}`,
    status: 431,
    says: /longer than 16 kB/,
  },
  {
    title: "a large header",
    head: `GET /v2/domains?format=json\r\nx: ${"x".repeat(20_000)}`,
    status: 431,
    says: /longer than 16 kB/,
  },
  {
    title: "a thousand headers",
    head: `GET /v2/domains?format=json${"\r\nx-header: 12345678".repeat(1000)}`,
    status: 431,
    says: /longer than 16 kB/,
  },
];

describe("refusals", () => {
  let served: Served;
  before(async () => {
    served = await serveScripted();
    await served.app.domains.create(parseDomainInput({ domain_id: "DEMO", name: "Demo" }));
    await archiveReport(served);
    await writeFile(join(served.folder, "secret.txt"), "what nobody may see");
    await mkdir(join(served.folder, "secret"));
    await writeFile(join(served.folder, "secret", "domain.json"), '{"name":"what nobody may see"}');
  });
  after(async () => {
    assert.deepEqual(served.logged, [], "nothing of this is a failure of the server");
    assert.deepEqual(await served.app.jobs.list(), []);
    assert.deepEqual(
      await readdir(join(served.folder, "domains")),
      ["DEMO"].concat((await readdir(join(served.folder, "domains"))).filter((name) => name.startsWith("."))).sort(),
    );
    await served.close();
  });

  const GROUPS: readonly [string, readonly Attempt[]][] = [
    ["paths that lead elsewhere", PATHS],
    ["from elsewhere", FOREIGN],
    ["malformed", MALFORMED],
    ["oversized", OVERSIZED],
  ];
  for (const [group, attempts] of GROUPS) {
    for (const attempt of attempts) {
      it(`${group}: ${attempt.title}`, async () => {
        const { status, text } = await sendRaw(served.url, toBytes(attempt));
        assert.equal(status, attempt.status, text);
        assert.match(text, attempt.says);
        assert.doesNotMatch(text, /what nobody may see|node_modules|at file:|root:x/);
      });
    }
  }

  it("the server goes on after all of them", async () => {
    assert.equal((await ask(served.url, "GET /health")).status, 200);
  });
});

describe("slow clients", () => {
  let served: Served;
  before(async () => {
    served = await serveScripted({ timeouts: { headersMs: 300, bodyMs: 300, leastBytes: 64 } });
  });
  after(() => served.close());
  const HOST = "host: 127.0.0.1";

  it("headers that do not arrive: 408, and the connection is closed", async () => {
    const { status, text } = await sendRaw(served.url, `GET /health HTTP/1.1\r\n${HOST}\r\nx: `);
    assert.equal(status, 408);
    assert.match(text, /headers of the request did not arrive in time/);
  });

  for (const [path, says] of [
    ["/v2/domains/create", /^\{"ok":false,"error":"The body of the request arrived too slowly\."/],
    ["/openai/v1/files", /^\{"error":\{"message":"The body of the request arrived too slowly\."/],
    ["/query", /^\{"error":"The body of the request arrived too slowly\."/],
  ] as const) {
    it(`a body that does not arrive: 408, and the connection is closed: ${path}`, async () => {
      const head = `POST ${path} HTTP/1.1\r\n${HOST}\r\n${JSON_TYPE}\r\ncontent-length: 1000\r\n\r\n{`;
      const { status, text } = await sendRaw(served.url, head);
      assert.equal(status, 408, text);
      assert.match(text, says);
      assert.deepEqual(served.logged, []);
    });
  }

  it("a body that keeps flowing is not cut, however long it takes", async () => {
    const pieces = 24;
    let sent = 0;
    const body = new ReadableStream<Uint8Array>({
      async pull(controller) {
        if (sent++ === pieces) return controller.close();
        controller.enqueue(new Uint8Array(1024));
        await elapsed(50);
      },
    });
    const response = await fetch(`${served.url}/openai/v1/files`, { method: "POST", body, duplex: "half" });
    assert.deepEqual(await response.json(), { method: "POST", path: "/files", bytes: pieces * 1024 });
  });

  it("a body that waits because we do is not cut", async () => {
    served.script.wire = async (request) => {
      await elapsed(1500);
      let bytes = 0;
      for await (const chunk of request.body ?? []) bytes += chunk.length;
      return Response.json({ bytes });
    };
    const response = await fetch(`${served.url}/openai/v1/files`, { method: "POST", body: new Uint8Array(8 * MB) });
    assert.deepEqual(await response.json(), { bytes: 8 * MB });
  });

  it("an answer that takes long is not cut", async () => {
    served.script.wire = async () => {
      await elapsed(900);
      return Response.json({ fine: true });
    };
    assert.deepEqual((await ask(served.url, "POST /openai/v1/responses", { json: {} })).json, { fine: true });
  });
});

describe("what names may hold", () => {
  let served: Served;
  before(async () => {
    served = await serveScripted();
  });
  after(() => served.close());

  it("a line of the log stays one line, whatever was asked for", async () => {
    served.script.query = async () => {
      throw new Error("broken\n2026-01-01 forged line\u001b[2J");
    };
    const { status } = await ask(served.url, "GET /query2?query=x%0a%0dforged");
    assert.equal(status, 500);
    const logged = served.logged.join("\n");
    assert.doesNotMatch(logged, /^2026-01-01 forged/m);
    assert.ok(!logged.includes("\u001b"));
    assert.match(logged, /broken 2026-01-01 forged line\\u001b/);
  });

  it("no header of an answer can be made up", async () => {
    for (const next of ["%0d%0aset-cookie:%20x=1", "/%0d%0aset-cookie:%20x=1", "/v2/jobs%0d%0ax:%20y"]) {
      const { headers } = await ask(served.url, `GET /sign-in?next=${next}`);
      assert.equal(headers.get("set-cookie"), null);
      assert.equal(headers.get("x"), null);
    }
  });
});

function toBytes({ head, body = "", chunked }: Attempt): Buffer {
  const content = Buffer.from(body);
  const [line = "", ...given] = head.split("\r\n");
  const says = (name: string): boolean => given.some((header) => header.toLowerCase().startsWith(`${name}:`));
  const headers = [`${line} HTTP/1.1`, ...given];
  if (!says("host")) headers.push("host: 127.0.0.1");
  if (chunked) headers.push("transfer-encoding: chunked");
  else if (content.length > 0 && !says("content-length") && !says("transfer-encoding")) {
    headers.push(`content-length: ${content.length}`);
  }
  headers.push("connection: close", "", "");
  const framed = chunked ? [`${content.length.toString(16)}\r\n`, content, "\r\n0\r\n\r\n"] : [content];
  return Buffer.concat([headers.join("\r\n"), ...framed].map((part) => Buffer.from(part)));
}

async function archiveReport({ app }: Served): Promise<void> {
  await app.reports.archive({
    domainId: "DEMO" as DomainId,
    jobId: "jb_7" as JobId,
    mode: "full",
    scope: "all",
    sourceId: "",
    startedAt: "2026-01-15T14:20:00.000000Z",
    finishedAt: "2026-01-15T14:25:00.000000Z",
    ok: true,
    error: "",
    sources: [],
  });
}

/** Time is what these tests are about: the client's slowness itself, never a wait for the server. */
function elapsed(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
