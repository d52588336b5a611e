// A blob container is crawled and found through its life, at the least cost.
import assert from "node:assert/strict";
import { readdir, readFile, rm } from "node:fs/promises";
import { join, relative } from "node:path";
import { after, before, test } from "node:test";
import type { App } from "../../src/app/app.ts";
import { compose } from "../../src/app/compose.ts";
import { readConfig } from "../../src/app/config.ts";
import { crawlJob } from "../../src/app/crawl-job.ts";
import { parseDomainId } from "../../src/contracts/ids.ts";
import type { ManifestEntry } from "../../src/contracts/manifest.ts";
import { type CrawlResult, crawlRequest, type SourceResult } from "../../src/engine/crawl-request.ts";
import { sourceFolder, storageFolder } from "../../src/mirror/layout.ts";
import { type Azurite, startAzurite } from "../azurite.ts";
import { entriesOf } from "../ledger/manifest-place.ts";
import { openTestLedgers } from "../ledger/open-test-ledgers.ts";
import { type BlobWorld, openBlobWorld, temporaryFolder } from "./blob-world.ts";

const BLOBS = parseDomainId("BLOBS");
/** Named by the domain, held by the environment. */
const VARIABLE = "LOCKSTEP_TEST_BLOB_STORY";

let azurite: Azurite;
let world: BlobWorld;
let place: string;
let storage: string;
let app: App;
before(async () => {
  azurite = await startAzurite();
  world = await openBlobWorld(azurite.connectionString, "story");
  place = await temporaryFolder();
  storage = join(place, "a", "storage");
  app = await compose(readConfig({ PERSISTENT_STORAGE_PATH: storage }));
  const config = { ...world.config, credential: VARIABLE, prefix: "docs/", hidden: true };
  const texts = { name: "Blobs", description: "", vectorStoreName: "", schedule: "" };
  await app.domains.create({ domainId: BLOBS, ...texts, vectorStoreId: "", sources: [config] });
  process.env[VARIABLE] = await world.sas();
});
after(async () => {
  delete process.env[VARIABLE];
  await app.close();
  await azurite.stop();
  await rm(place, { recursive: true, force: true });
});

interface Crawled {
  readonly error: string;
  readonly source: SourceResult | undefined;
  readonly log: string;
}

async function tryCrawl(options = { dryRun: false }): Promise<Crawled> {
  const { start, work } = crawlJob(app, crawlRequest(BLOBS, { scope: "blobs" }), options);
  const job = await (await app.runner.start({ ...start, endpoint: "test" }, work)).done;
  const lines: Uint8Array[] = [];
  for await (const bytes of app.jobs.follow(job.jobId, { signal: new AbortController().signal })) lines.push(bytes);
  const source = (job.result?.data as CrawlResult | undefined)?.sources?.[0];
  return { error: job.result?.error ?? "", source, log: Buffer.concat(lines).toString() };
}

async function crawl(): Promise<Crawled> {
  const crawled = await tryCrawl();
  assert.equal(crawled.error, "", crawled.log);
  return crawled;
}

async function found(word: string): Promise<string[]> {
  const { sources } = await app.query({ text: word, limit: 50, domainId: BLOBS, vectorStoreId: undefined });
  return sources
    .filter(({ text }) => text.includes(word))
    .map(({ url }) => url)
    .sort();
}

async function explained(document: string): Promise<string> {
  const { documents } = await app.explainDocument({ domainId: BLOBS, query: "Otters", document });
  return documents[0]?.stages[0]?.detail ?? "";
}

function folder(): string {
  return join(storageFolder(storage, "crawler"), sourceFolder(BLOBS, world.config));
}

async function entries(): Promise<Map<string, ManifestEntry>> {
  const ledgers = openTestLedgers(storageFolder(storage, "crawler"));
  const { manifest } = await ledgers.open({ domainId: BLOBS, config: world.config }, { readOnly: true });
  const all = new Map((await entriesOf(manifest)).map((entry) => [entry.path, entry]));
  await ledgers.close();
  return all;
}

async function filesOf(top: string): Promise<string[]> {
  const found = await readdir(top, { recursive: true, withFileTypes: true });
  return found.filter((entry) => entry.isFile()).map(({ parentPath, name }) => join(parentPath, name));
}

/** Not a byte of a signature or a key anywhere. */
async function assertNoSecrets(): Promise<void> {
  const signatures = [process.env[VARIABLE] ?? "", await world.sas()].map(
    (sas) => new URLSearchParams(sas).get("sig") ?? "",
  );
  const secrets = [...signatures, ...signatures.map(encodeURIComponent), "sig=", "AccountKey="];
  for (const file of await filesOf(storage)) {
    const bytes = await readFile(file);
    for (const secret of secrets) assert.ok(!bytes.includes(secret), `${relative(storage, file)} holds a secret`);
  }
}

const url = (name: string): string => `${world.container.url}/docs/${name}`;

test("added blobs are found under their addresses; a dry run leaves nothing", async () => {
  await world.put("docs/otters.md", "Otters hold hands while they sleep.");
  await world.put("docs/bees.md", "Bees dance to tell the way.");
  await world.put("docs/old/cats.txt", "Cats purr.");
  await world.put("elsewhere.md", "Otters are not here.");
  const preview = await tryCrawl({ dryRun: true });
  assert.equal(preview.source?.download.added, 3, preview.log);
  await assert.rejects(readdir(folder()), { code: "ENOENT" });
  await crawl();
  assert.deepEqual(await found("Otters"), [url("otters.md")]);
  assert.deepEqual(await readdir(join(folder(), ".lockstep", "tree")).then((names) => names.includes("read")), false);
  await assertNoSecrets();
});

test("an edit is found instead of what was there, under the same identity", async () => {
  const before = (await entries()).get("bees.md");
  await world.put("docs/bees.md", "Bees dance and hum.");
  await crawl();
  assert.deepEqual([await found("hum"), await found("tell")], [[url("bees.md")], []]);
  assert.equal((await entries()).get("bees.md")?.docId, before?.docId);
});

test("renamed, which is copied and deleted: the same document at another address", async () => {
  const before = (await entries()).get("old/cats.txt");
  await (
    await world.container
      .getBlobClient("docs/new/cats.txt")
      .beginCopyFromURL(world.container.getBlobClient("docs/old/cats.txt").url)
  ).pollUntilDone();
  await world.container.deleteBlob("docs/old/cats.txt");
  const { source } = await crawl();
  assert.equal((await entries()).get("new/cats.txt")?.docId, before?.docId);
  assert.deepEqual([source?.embed.moved, source?.embed.added, source?.embed.changed], [1, 0, 0]);
  assert.deepEqual(await found("purr"), [url("new/cats.txt")]);
});

test("deleted it is missing and out of search at once; restored it is the same document again", async () => {
  const before = (await entries()).get("otters.md");
  await world.container.deleteBlob("docs/otters.md");
  await crawl();
  assert.equal((await entries()).get("otters.md")?.status, "missing");
  assert.deepEqual(await found("Otters"), []);
  for (const called of [url("otters.md"), url("otters%2Emd"), "docs/otters.md", "otters.md"]) {
    assert.match(await explained(called), /^It is missing since .* it was at 'otters\.md'/);
  }
  const outside = /It lies in none of this domain's places full of files/;
  assert.match(await explained(`${world.container.url}/otters.md`), outside);
  assert.doesNotMatch(await explained(url("nobody.md")), outside);
  await world.put("docs/otters.md", "Otters hold hands while they sleep.");
  await crawl();
  const after = (await entries()).get("otters.md");
  assert.deepEqual([after?.docId, after?.status], [before?.docId, "active"]);
  assert.deepEqual(await found("Otters"), [url("otters.md")]);
});

test("an archived blob stays where it is known, and says why it is not read", async () => {
  await world.container.getBlobClient("docs/bees.md").setAccessTier("Archive");
  const { log } = await tryCrawl();
  assert.match(log, /archive tier/);
  assert.equal((await entries()).get("bees.md")?.status, "error");
  assert.deepEqual(await found("hum"), [url("bees.md")]);
  await world.container.getBlobClient("docs/bees.md").setAccessTier("Hot");
  await crawl();
  assert.equal((await entries()).get("bees.md")?.status, "active");
});

test("names that lead out of the folder stay in it", async () => {
  const odd = { Marmots: "../up.md", Voles: "a/../../../up.md", Shrews: "../../../../../../up.md" };
  for (const [word, name] of Object.entries(odd)) await world.put(`docs/${name}`, `${word} dig.`);
  const others = async (): Promise<string[]> =>
    (await filesOf(place)).filter((file) => /up\.md/.test(file) && !file.startsWith(`${folder()}/`));
  const before = await others();
  await crawl();
  for (const word of Object.keys(odd)) assert.equal((await found(word)).length, 1, word);
  assert.deepEqual(await others(), before);
  const mirrored = await filesOf(join(folder(), "02_embedded"));
  assert.equal(mirrored.filter((file) => file.endsWith("/up.md")).length, 3);
});

test("a blob whose name is a folder to others has its place beside them, and they theirs", async () => {
  const names = { Herons: "pond.md", Egrets: "pond.md/reed.md", Storks: "pond.md/reed.md/nest.md" };
  for (const [word, name] of Object.entries(names)) {
    await world.put(`docs/${name}`, `${word} wade.`);
    await crawl();
  }
  for (const [word, name] of Object.entries(names)) assert.deepEqual(await found(word), [url(name)]);
  await world.container.deleteBlob("docs/pond.md");
  await world.put("docs/pond.md/reed.md", "Egrets stand.");
  await crawl();
  for (const [word, name] of Object.entries(names))
    assert.deepEqual(await found(word), word === "Herons" ? [] : [url(name)]);
  const mirrored = (await filesOf(folder())).map((file) => relative(join(folder(), "02_embedded"), file));
  assert.ok(mirrored.includes("pond.md/reed.md"), mirrored.join());
});

test("a signature that ended changes nothing, and says what to do", async () => {
  const before = await entries();
  process.env[VARIABLE] = await world.sas(new Date("2024-05-01T00:00:00Z"));
  const { error, log } = await tryCrawl();
  assert.match(`${error} ${log}`, new RegExp(`signature in ${VARIABLE} ended at 2024-05-01`));
  assert.deepEqual(await entries(), before);
  assert.deepEqual(await found("Otters"), [url("otters.md")]);
  await assertNoSecrets();
  process.env[VARIABLE] = await world.sas();
});

test("a container that is gone changes nothing; one that is empty is held", async () => {
  const before = await entries();
  await world.container.delete();
  const { error, log } = await tryCrawl();
  assert.match(`${error} ${log}`, /there is no such container/);
  assert.deepEqual(await entries(), before);
  assert.deepEqual(await found("Otters"), [url("otters.md")]);
  await world.container.create();
  const empty = await tryCrawl();
  assert.match(`${empty.error} ${empty.log}`, /held/);
  assert.deepEqual(await found("Otters"), [url("otters.md")]);
});
