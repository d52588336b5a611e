// A bucket is crawled and found through its life, at the least cost.
import assert from "node:assert/strict";
import { readdir, readFile, rm } from "node:fs/promises";
import { join, relative } from "node:path";
import { after, before, test } from "node:test";
import type { App } from "../../src/app/app.ts";
import { compose } from "../../src/app/compose.ts";
import { readConfig } from "../../src/app/config.ts";
import { crawlJob } from "../../src/app/crawl-job.ts";
import { parseDomainId, type SourceId } from "../../src/contracts/ids.ts";
import type { ManifestEntry } from "../../src/contracts/manifest.ts";
import { type CrawlResult, crawlRequest, type SourceResult } from "../../src/engine/crawl-request.ts";
import { sourceFolder, storageFolder } from "../../src/mirror/layout.ts";
import type { S3SourceConfig } from "../../src/sources/s3/s3-source-codec.ts";
import { ofKind } from "../kinds.ts";
import { entriesOf } from "../ledger/manifest-place.ts";
import { openTestLedgers } from "../ledger/open-test-ledgers.ts";
import { temporaryFolder } from "./blob-world.ts";
import { S3Server, sendError } from "./s3-server.ts";

const BUCKETS = parseDomainId("BUCKETS");
/** Named by the domain, held by the environment. */
const VARIABLE = "LOCKSTEP_TEST_S3_STORY";
const SECRET = "wJalrXUtnFEMIK7MDENGbPxRfiCYEXAMPLEKEY";

let server: S3Server;
let config: S3SourceConfig;
let storage: string;
let app: App;
before(async () => {
  server = await S3Server.start();
  server.accessKey = "READER";
  storage = await temporaryFolder();
  app = await compose(readConfig({ PERSISTENT_STORAGE_PATH: storage }));
  const own = { sourceId: "box" as SourceId, prefix: "docs/", credential: VARIABLE, hidden: true };
  const limits = { maxRemovals: 25, maxRemovalsPercent: 25, allowEmpty: false };
  config = ofKind("s3_sources", { ...server.config, ...own, limits });
  const texts = { name: "Buckets", description: "", vectorStoreName: "", schedule: "" };
  await app.domains.create({ domainId: BUCKETS, ...texts, vectorStoreId: "", sources: [config] });
  process.env[VARIABLE] = `READER:${SECRET}`;
});
after(async () => {
  delete process.env[VARIABLE];
  await app.close();
  await server.stop();
  await rm(storage, { recursive: true, force: true });
});

interface Crawled {
  readonly error: string;
  readonly source: SourceResult | undefined;
  readonly log: string;
}

async function tryCrawl(options = { dryRun: false }): Promise<Crawled> {
  const { start, work } = crawlJob(app, crawlRequest(BUCKETS, { scope: "s3" }), options);
  const job = await (await app.runner.start({ ...start, endpoint: "test" }, work)).done;
  const lines: Uint8Array[] = [];
  for await (const bytes of app.jobs.follow(job.jobId, { signal: new AbortController().signal })) lines.push(bytes);
  const source = (job.result?.data as CrawlResult | undefined)?.sources?.[0];
  return { error: job.result?.error ?? "", source, log: Buffer.concat(lines).toString() };
}

/** Also what was read of the bucket. */
async function crawl(): Promise<Crawled & { readonly reads: readonly string[] }> {
  server.requests.length = 0;
  const crawled = await tryCrawl();
  assert.equal(crawled.error, "", crawled.log);
  return { ...crawled, reads: server.reads };
}

async function found(word: string): Promise<string[]> {
  const { sources } = await app.query({ text: word, limit: 50, domainId: BUCKETS, vectorStoreId: undefined });
  return sources
    .filter(({ text }) => text.includes(word))
    .map(({ url }) => url)
    .sort();
}

function folder(): string {
  return join(storageFolder(storage, "crawler"), sourceFolder(BUCKETS, config));
}

async function entries(): Promise<Map<string, ManifestEntry>> {
  const ledgers = openTestLedgers(storageFolder(storage, "crawler"));
  const { manifest } = await ledgers.open({ domainId: BUCKETS, config }, { readOnly: true });
  const all = new Map((await entriesOf(manifest)).map((entry) => [entry.path, entry]));
  await ledgers.close();
  return all;
}

async function filesOf(top: string): Promise<string[]> {
  const files = await readdir(top, { recursive: true, withFileTypes: true });
  return files.filter((entry) => entry.isFile()).map(({ parentPath, name }) => join(parentPath, name));
}

/** Not a byte of the secret or of a signature anywhere. */
async function assertNoSecrets(): Promise<void> {
  for (const file of await filesOf(storage)) {
    const bytes = await readFile(file);
    for (const secret of [SECRET, "AWS4-HMAC-SHA256"]) {
      assert.ok(!bytes.includes(secret), `${relative(storage, file)} holds a secret`);
    }
  }
}

const url = (key: string): string => `${server.endpoint}/box/docs/${key}`;

test("added objects are read once and found under their addresses; a dry run leaves nothing", async () => {
  server.put("docs/otters.md", "Otters hold hands while they sleep.");
  server.put("docs/bees.md", "Bees dance to tell the way.");
  server.put("docs/old/cats.txt", "Cats purr.");
  server.put("docs/old/", "");
  server.put("elsewhere.md", "Otters are not here.");
  const preview = await tryCrawl({ dryRun: true });
  assert.equal(preview.source?.download.added, 3, preview.log);
  await assert.rejects(readdir(folder()), { code: "ENOENT" });
  const { reads } = await crawl();
  assert.match(folder(), /07_s3/);
  assert.deepEqual(reads.toSorted(), ["docs/bees.md", "docs/old/cats.txt", "docs/otters.md"]);
  assert.deepEqual(await found("Otters"), [url("otters.md")]);
  assert.ok(!(await readdir(join(folder(), ".lockstep", "tree"))).includes("read"));
  await assertNoSecrets();
});

test("what has the ETag it had is not read again", async () => {
  const { reads, source } = await crawl();
  assert.deepEqual([reads, source?.download.changed], [[], 0]);
});

test("an edit is found instead of what was there, under the same identity", async () => {
  const before = (await entries()).get("bees.md");
  server.put("docs/bees.md", "Bees dance and hum.");
  const { reads } = await crawl();
  assert.deepEqual(reads, ["docs/bees.md"]);
  assert.deepEqual([await found("hum"), await found("tell")], [[url("bees.md")], []]);
  assert.equal((await entries()).get("bees.md")?.docId, before?.docId);
});

test("renamed, which is copied and deleted: the same document at another address, and nothing is embedded", async () => {
  const before = (await entries()).get("old/cats.txt");
  server.objects.delete("docs/old/cats.txt");
  server.put("docs/new/cats.txt", "Cats purr.");
  const { source } = await crawl();
  assert.equal((await entries()).get("new/cats.txt")?.docId, before?.docId);
  assert.deepEqual([source?.embed.moved, source?.embed.added, source?.embed.changed], [1, 0, 0]);
  assert.deepEqual(await found("purr"), [url("new/cats.txt")]);
});

test("deleted it is missing and out of search at once; restored it is the same document again", async () => {
  const before = (await entries()).get("otters.md");
  server.objects.delete("docs/otters.md");
  await crawl();
  assert.equal((await entries()).get("otters.md")?.status, "missing");
  assert.deepEqual(await found("Otters"), []);
  const explained = async (document: string): Promise<string> =>
    (await app.explainDocument({ domainId: BUCKETS, query: "Otters", document })).documents[0]?.stages[0]?.detail ?? "";
  for (const called of [url("otters.md"), url("otters%2Emd"), "docs/otters.md", "otters.md"]) {
    assert.match(await explained(called), /^It is missing since .* it was at 'otters\.md'/);
  }
  server.put("docs/otters.md", "Otters hold hands while they sleep.");
  await crawl();
  const after = (await entries()).get("otters.md");
  assert.deepEqual([after?.docId, after?.status], [before?.docId, "active"]);
  assert.deepEqual(await found("Otters"), [url("otters.md")]);
});

test("changed between listing and reading: what is there then counts, and the next run finds it as it is", async () => {
  server.put("docs/bees.md", "Bees buzz.");
  server.faults.push(undefined, (request, response) => {
    assert.ok(request.headers["if-match"]);
    server.put("docs/bees.md", "Bees swarm.");
    sendError(response, 412, "PreconditionFailed");
  });
  await crawl();
  assert.deepEqual([await found("swarm"), await found("buzz"), await found("hum")], [[url("bees.md")], [], []]);
  const { source } = await crawl();
  assert.deepEqual([source?.download.unchanged, source?.embed.changed], [3, 0]);
});

test("deleted between listing and reading it is gone like any other", async () => {
  server.put("docs/moths.md", "Moths flutter.");
  server.faults.push(undefined, (_request, response) => {
    server.objects.delete("docs/moths.md");
    sendError(response, 404, "NoSuchKey");
  });
  await tryCrawl();
  await crawl();
  assert.deepEqual(await found("Moths"), []);
});

test("an archived object stays where it is known, and says why it is not read", async () => {
  server.put("docs/bees.md", "Bees swarm.", { storageClass: "DEEP_ARCHIVE" });
  const { log } = await tryCrawl();
  assert.match(log, /archive class \(Glacier\)/);
  assert.equal((await entries()).get("bees.md")?.status, "error");
  assert.deepEqual(await found("swarm"), [url("bees.md")]);
  server.put("docs/bees.md", "Bees swarm.");
  await crawl();
  assert.equal((await entries()).get("bees.md")?.status, "active");
});

test("keys that lead out of the folder stay in it", async () => {
  const odd = { Marmots: "../up.md", Voles: "a/../../../up.md", Shrews: "../../../../../../up.md" };
  for (const [word, key] of Object.entries(odd)) server.put(`docs/${key}`, `${word} dig.`);
  await crawl();
  for (const word of Object.keys(odd)) assert.equal((await found(word)).length, 1, word);
  const mirrored = (await filesOf(storage)).filter((file) => file.endsWith("/up.md"));
  assert.deepEqual(
    mirrored.filter((file) => !file.startsWith(`${folder()}/`)),
    [],
  );
  assert.equal(mirrored.filter((file) => file.includes("02_embedded")).length, 3);
});

test("a key that is refused, or a bucket that is gone, changes nothing; one that is empty is held", async () => {
  const before = await entries();
  server.accessKey = "ANOTHER";
  const refused = await tryCrawl();
  assert.match(`${refused.error} ${refused.log}`, new RegExp(`S3 refuses .*check the key in ${VARIABLE}`));
  server.accessKey = "READER";
  server.bucket = "another";
  const gone = await tryCrawl();
  server.bucket = "box";
  assert.match(`${gone.error} ${gone.log}`, /there is no such bucket/);
  assert.deepEqual(await entries(), before);
  server.objects.clear();
  const empty = await tryCrawl();
  assert.match(`${empty.error} ${empty.log}`, /held/);
  assert.deepEqual(await found("Otters"), [url("otters.md")]);
  await assertNoSecrets();
});
