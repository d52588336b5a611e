// A blob container is crawled and found through its life, at the least cost.
import assert from "node:assert/strict";
import { readdir, rm } from "node:fs/promises";
import { join, relative } from "node:path";
import { after, before, test } from "node:test";
import { type Azurite, startAzurite } from "../azurite.ts";
import { type BlobWorld, openBlobWorld, temporaryFolder } from "./blob-world.ts";
import { filesBelow, SourceStory } from "./source-story.ts";

/** Named by the domain, held by the environment. */
const VARIABLE = "LOCKSTEP_TEST_BLOB_STORY";

let azurite: Azurite;
let world: BlobWorld;
let place: string;
let story: SourceStory;
before(async () => {
  azurite = await startAzurite();
  world = await openBlobWorld(azurite.connectionString, "story");
  place = await temporaryFolder();
  const source = { ...world.config, credential: VARIABLE, prefix: "docs/", hidden: true };
  story = await SourceStory.open({ domain: "BLOBS", scope: "blobs", storage: join(place, "a", "storage"), source });
  process.env[VARIABLE] = await world.sas();
});
after(async () => {
  delete process.env[VARIABLE];
  await story.close();
  await azurite.stop();
  await rm(place, { recursive: true, force: true });
});

async function assertNoSecrets(): Promise<void> {
  const signatures = [process.env[VARIABLE] ?? "", await world.sas()].map(
    (sas) => new URLSearchParams(sas).get("sig") ?? "",
  );
  await story.assertNoSecrets([...signatures, ...signatures.map(encodeURIComponent), "sig=", "AccountKey="]);
}

const url = (name: string): string => `${world.container.url}/docs/${name}`;

test("added blobs are found under their addresses; a dry run leaves nothing", async () => {
  await world.put("docs/otters.md", "Otters hold hands while they sleep.");
  await world.put("docs/bees.md", "Bees dance to tell the way.");
  await world.put("docs/old/cats.txt", "Cats purr.");
  await world.put("elsewhere.md", "Otters are not here.");
  const preview = await story.tryCrawl({ dryRun: true });
  assert.equal(preview.source?.download.added, 3, preview.log);
  await assert.rejects(readdir(story.folder), { code: "ENOENT" });
  await story.crawl();
  assert.deepEqual(await story.found("Otters"), [url("otters.md")]);
  assert.deepEqual(
    await readdir(join(story.folder, ".lockstep", "tree")).then((names) => names.includes("read")),
    false,
  );
  await assertNoSecrets();
});

test("an edit is found instead of what was there, under the same identity", async () => {
  const before = (await story.entries()).get("bees.md");
  await world.put("docs/bees.md", "Bees dance and hum.");
  await story.crawl();
  assert.deepEqual([await story.found("hum"), await story.found("tell")], [[url("bees.md")], []]);
  assert.equal((await story.entries()).get("bees.md")?.docId, before?.docId);
});

test("renamed, which is copied and deleted: the same document at another address", async () => {
  const before = (await story.entries()).get("old/cats.txt");
  await (
    await world.container
      .getBlobClient("docs/new/cats.txt")
      .beginCopyFromURL(world.container.getBlobClient("docs/old/cats.txt").url)
  ).pollUntilDone();
  await world.container.deleteBlob("docs/old/cats.txt");
  const { source } = await story.crawl();
  assert.equal((await story.entries()).get("new/cats.txt")?.docId, before?.docId);
  assert.deepEqual([source?.embed.moved, source?.embed.added, source?.embed.changed], [1, 0, 0]);
  assert.deepEqual(await story.found("purr"), [url("new/cats.txt")]);
});

test("deleted it is missing and out of search at once; restored it is the same document again", async () => {
  const before = (await story.entries()).get("otters.md");
  await world.container.deleteBlob("docs/otters.md");
  await story.crawl();
  assert.equal((await story.entries()).get("otters.md")?.status, "missing");
  assert.deepEqual(await story.found("Otters"), []);
  for (const called of [url("otters.md"), url("otters%2Emd"), "docs/otters.md", "otters.md"]) {
    assert.match(await story.explained(called, "Otters"), /^It is missing since .* it was at 'otters\.md'/);
  }
  const outside = /It lies in none of this domain's folders and containers/;
  assert.match(await story.explained(`${world.container.url}/otters.md`, "Otters"), outside);
  assert.doesNotMatch(await story.explained(url("nobody.md"), "Otters"), outside);
  await world.put("docs/otters.md", "Otters hold hands while they sleep.");
  await story.crawl();
  const after = (await story.entries()).get("otters.md");
  assert.deepEqual([after?.docId, after?.status], [before?.docId, "active"]);
  assert.deepEqual(await story.found("Otters"), [url("otters.md")]);
});

test("an archived blob stays where it is known, and says why it is not read", async () => {
  await world.container.getBlobClient("docs/bees.md").setAccessTier("Archive");
  const { log } = await story.tryCrawl();
  assert.match(log, /archive tier/);
  assert.equal((await story.entries()).get("bees.md")?.status, "error");
  assert.deepEqual(await story.found("hum"), [url("bees.md")]);
  await world.container.getBlobClient("docs/bees.md").setAccessTier("Hot");
  await story.crawl();
  assert.equal((await story.entries()).get("bees.md")?.status, "active");
});

test("names that lead out of the folder stay in it", async () => {
  const odd = { Marmots: "../up.md", Voles: "a/../../../up.md", Shrews: "../../../../../../up.md" };
  for (const [word, name] of Object.entries(odd)) await world.put(`docs/${name}`, `${word} dig.`);
  const others = async (): Promise<string[]> =>
    (await filesBelow(place)).filter((file) => /up\.md/.test(file) && !file.startsWith(`${story.folder}/`));
  const before = await others();
  await story.crawl();
  for (const word of Object.keys(odd)) assert.equal((await story.found(word)).length, 1, word);
  assert.deepEqual(await others(), before);
  const mirrored = await filesBelow(join(story.folder, "02_embedded"));
  assert.equal(mirrored.filter((file) => file.endsWith("/up.md")).length, 3);
});

test("a blob whose name is a folder to others has its place beside them, and they theirs", async () => {
  const names = { Herons: "pond.md", Egrets: "pond.md/reed.md", Storks: "pond.md/reed.md/nest.md" };
  for (const [word, name] of Object.entries(names)) {
    await world.put(`docs/${name}`, `${word} wade.`);
    await story.crawl();
  }
  for (const [word, name] of Object.entries(names)) assert.deepEqual(await story.found(word), [url(name)]);
  await world.container.deleteBlob("docs/pond.md");
  await world.put("docs/pond.md/reed.md", "Egrets stand.");
  await story.crawl();
  for (const [word, name] of Object.entries(names))
    assert.deepEqual(await story.found(word), word === "Herons" ? [] : [url(name)]);
  const mirrored = (await filesBelow(story.folder)).map((file) => relative(join(story.folder, "02_embedded"), file));
  assert.ok(mirrored.includes("pond.md/reed.md"), mirrored.join());
});

test("a signature that ended changes nothing, and says what to do", async () => {
  const before = await story.entries();
  process.env[VARIABLE] = await world.sas(new Date("2024-05-01T00:00:00Z"));
  const { error, log } = await story.tryCrawl();
  assert.match(`${error} ${log}`, new RegExp(`signature in ${VARIABLE} ended at 2024-05-01`));
  assert.deepEqual(await story.entries(), before);
  assert.deepEqual(await story.found("Otters"), [url("otters.md")]);
  await assertNoSecrets();
  process.env[VARIABLE] = await world.sas();
});

test("a container that is gone changes nothing; one that is empty is held", async () => {
  const before = await story.entries();
  await world.container.delete();
  const { error, log } = await story.tryCrawl();
  assert.match(`${error} ${log}`, /there is no such container/);
  assert.deepEqual(await story.entries(), before);
  assert.deepEqual(await story.found("Otters"), [url("otters.md")]);
  await world.container.create();
  const empty = await story.tryCrawl();
  assert.match(`${empty.error} ${empty.log}`, /held/);
  assert.deepEqual(await story.found("Otters"), [url("otters.md")]);
});
