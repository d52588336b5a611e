// A bucket is crawled and found through its life, at the least cost.
import assert from "node:assert/strict";
import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";
import type { SourceId } from "../../src/contracts/ids.ts";
import { ofKind } from "../kinds.ts";
import { temporaryFolder } from "./blob-world.ts";
import { S3Server, sendError } from "./s3-server.ts";
import { type Crawled, filesBelow, SourceStory } from "./source-story.ts";

/** Named by the domain, held by the environment. */
const VARIABLE = "LOCKSTEP_TEST_S3_STORY";
const SECRET = "wJalrXUtnFEMIK7MDENGbPxRfiCYEXAMPLEKEY";

let server: S3Server;
let storage: string;
let story: SourceStory;
before(async () => {
  server = await S3Server.start();
  server.accessKey = "READER";
  storage = await temporaryFolder();
  const own = { sourceId: "box" as SourceId, prefix: "docs/", credential: VARIABLE, hidden: true };
  const limits = { maxRemovals: 25, maxRemovalsPercent: 25, allowEmpty: false };
  const source = ofKind("s3_sources", { ...server.config, ...own, limits });
  story = await SourceStory.open({ domain: "BUCKETS", scope: "s3", storage, source });
  process.env[VARIABLE] = `READER:${SECRET}`;
});
after(async () => {
  delete process.env[VARIABLE];
  await story.close();
  await server.stop();
  await rm(storage, { recursive: true, force: true });
});

/** Also what was read of the bucket. */
async function crawl(): Promise<Crawled & { readonly reads: readonly string[] }> {
  server.requests.length = 0;
  return { ...(await story.crawl()), reads: server.reads };
}

const assertNoSecrets = (): Promise<void> => story.assertNoSecrets([SECRET, "AWS4-HMAC-SHA256"]);

const url = (key: string): string => `${server.endpoint}/box/docs/${key}`;

test("added objects are read once and found under their addresses; a dry run leaves nothing", async () => {
  server.put("docs/otters.md", "Otters hold hands while they sleep.");
  server.put("docs/bees.md", "Bees dance to tell the way.");
  server.put("docs/old/cats.txt", "Cats purr.");
  server.put("docs/old/", "");
  server.put("elsewhere.md", "Otters are not here.");
  const preview = await story.tryCrawl({ dryRun: true });
  assert.equal(preview.source?.download.added, 3, preview.log);
  await assert.rejects(readdir(story.folder), { code: "ENOENT" });
  const { reads } = await crawl();
  assert.match(story.folder, /07_s3/);
  assert.deepEqual(reads.toSorted(), ["docs/bees.md", "docs/old/cats.txt", "docs/otters.md"]);
  assert.deepEqual(await story.found("Otters"), [url("otters.md")]);
  assert.ok(!(await readdir(join(story.folder, ".lockstep", "tree"))).includes("read"));
  await assertNoSecrets();
});

test("what has the ETag it had is not read again", async () => {
  const { reads, source } = await crawl();
  assert.deepEqual([reads, source?.download.changed], [[], 0]);
});

test("an edit is found instead of what was there, under the same identity", async () => {
  const before = (await story.entries()).get("bees.md");
  server.put("docs/bees.md", "Bees dance and hum.");
  const { reads } = await crawl();
  assert.deepEqual(reads, ["docs/bees.md"]);
  assert.deepEqual([await story.found("hum"), await story.found("tell")], [[url("bees.md")], []]);
  assert.equal((await story.entries()).get("bees.md")?.docId, before?.docId);
});

test("renamed, which is copied and deleted: the same document at another address, and nothing is embedded", async () => {
  const before = (await story.entries()).get("old/cats.txt");
  server.objects.delete("docs/old/cats.txt");
  server.put("docs/new/cats.txt", "Cats purr.");
  const { source } = await crawl();
  assert.equal((await story.entries()).get("new/cats.txt")?.docId, before?.docId);
  assert.deepEqual([source?.embed.moved, source?.embed.added, source?.embed.changed], [1, 0, 0]);
  assert.deepEqual(await story.found("purr"), [url("new/cats.txt")]);
});

test("deleted it is missing and out of search at once; restored it is the same document again", async () => {
  const before = (await story.entries()).get("otters.md");
  server.objects.delete("docs/otters.md");
  await crawl();
  assert.equal((await story.entries()).get("otters.md")?.status, "missing");
  assert.deepEqual(await story.found("Otters"), []);
  for (const called of [url("otters.md"), url("otters%2Emd"), "docs/otters.md", "otters.md"]) {
    assert.match(await story.explained(called, "Otters"), /^It is missing since .* it was at 'otters\.md'/);
  }
  server.put("docs/otters.md", "Otters hold hands while they sleep.");
  await crawl();
  const after = (await story.entries()).get("otters.md");
  assert.deepEqual([after?.docId, after?.status], [before?.docId, "active"]);
  assert.deepEqual(await story.found("Otters"), [url("otters.md")]);
});

test("changed between listing and reading: what is there then counts, and the next run finds it as it is", async () => {
  server.put("docs/bees.md", "Bees buzz.");
  server.faults.push(undefined, (request, response) => {
    assert.ok(request.headers["if-match"]);
    server.put("docs/bees.md", "Bees swarm.");
    sendError(response, 412, "PreconditionFailed");
  });
  await crawl();
  assert.deepEqual(
    [await story.found("swarm"), await story.found("buzz"), await story.found("hum")],
    [[url("bees.md")], [], []],
  );
  const { source } = await crawl();
  assert.deepEqual([source?.download.unchanged, source?.embed.changed], [3, 0]);
});

test("deleted between listing and reading it is gone like any other", async () => {
  server.put("docs/moths.md", "Moths flutter.");
  server.faults.push(undefined, (_request, response) => {
    server.objects.delete("docs/moths.md");
    sendError(response, 404, "NoSuchKey");
  });
  await story.tryCrawl();
  await crawl();
  assert.deepEqual(await story.found("Moths"), []);
});

test("an archived object stays where it is known, and says why it is not read", async () => {
  server.put("docs/bees.md", "Bees swarm.", { storageClass: "DEEP_ARCHIVE" });
  const { log } = await story.tryCrawl();
  assert.match(log, /archive class \(Glacier\)/);
  assert.equal((await story.entries()).get("bees.md")?.status, "error");
  assert.deepEqual(await story.found("swarm"), [url("bees.md")]);
  server.put("docs/bees.md", "Bees swarm.");
  await crawl();
  assert.equal((await story.entries()).get("bees.md")?.status, "active");
});

test("keys that lead out of the folder stay in it", async () => {
  const odd = { Marmots: "../up.md", Voles: "a/../../../up.md", Shrews: "../../../../../../up.md" };
  for (const [word, key] of Object.entries(odd)) server.put(`docs/${key}`, `${word} dig.`);
  await crawl();
  for (const word of Object.keys(odd)) assert.equal((await story.found(word)).length, 1, word);
  const mirrored = (await filesBelow(storage)).filter((file) => file.endsWith("/up.md"));
  assert.deepEqual(
    mirrored.filter((file) => !file.startsWith(`${story.folder}/`)),
    [],
  );
  assert.equal(mirrored.filter((file) => file.includes("02_embedded")).length, 3);
});

test("a key that is refused, or a bucket that is gone, changes nothing; one that is empty is held", async () => {
  const before = await story.entries();
  server.accessKey = "ANOTHER";
  const refused = await story.tryCrawl();
  assert.match(`${refused.error} ${refused.log}`, new RegExp(`S3 refuses .*check the key in ${VARIABLE}`));
  server.accessKey = "READER";
  server.bucket = "another";
  const gone = await story.tryCrawl();
  server.bucket = "box";
  assert.match(`${gone.error} ${gone.log}`, /there is no such bucket/);
  assert.deepEqual(await story.entries(), before);
  server.objects.clear();
  const empty = await story.tryCrawl();
  assert.match(`${empty.error} ${empty.log}`, /held/);
  assert.deepEqual(await story.found("Otters"), [url("otters.md")]);
  await assertNoSecrets();
});
