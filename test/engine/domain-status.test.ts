// The status of a domain says what can be found and what failed, and reads the ledger only once.
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, test } from "node:test";
import { BUILT_IN_KINDS } from "../../src/app/source-kinds.ts";
import type { Backend } from "../../src/contracts/backend.ts";
import type { Ledgers } from "../../src/contracts/ledger.ts";
import { createDomainStatuses, type DomainStatus } from "../../src/engine/domain-status.ts";
import { healthOf } from "../../src/http/pages/domain-health.ts";
import { openTestLedgers } from "../ledger/open-test-ledgers.ts";
import { openStage } from "../stories/stage.ts";
import { DOMAIN, World } from "./world.ts";

let world: World;
beforeEach(async () => {
  world = await World.open();
  await world.change("add", { path: "heron.txt", text: "The heron wades." });
  await world.change("add", { path: "stork.txt", text: "The stork claps." });
});
afterEach(() => world.close());

async function standing(): Promise<DomainStatus> {
  return await world.app.standing(await world.app.domains.get(DOMAIN));
}

test("before the first crawl there is nothing, and nothing is wrong", async () => {
  assert.deepEqual(await standing(), {
    documents: 0,
    failed: 0,
    acknowledged: 0,
    empty: 0,
    rolledBackTo: null,
    error: "",
    sources: [{ sourceId: "docs", sourceType: "file_sources", documents: 0, failed: 0, acknowledged: 0, empty: 0 }],
  });
});

test("it tells what a search can find, and what failed on the way; what changed is told anew", async () => {
  await world.change("add", { path: "broken.pdf", text: "no PDF at all" });
  await world.crawl();
  assert.deepEqual([(await standing()).documents, (await standing()).failed], [2, 1]);
  await world.change("add", { path: "crane.txt", text: "The crane dances." });
  await world.fault({ url: "\\$value", times: "always" }, { status: 403, body: "{}" });
  await world.crawl();
  const first = await standing();
  assert.deepEqual([first.documents, first.failed, first.error], [2, 2, ""]);
  assert.deepEqual(first.sources, [
    { sourceId: "docs", sourceType: "file_sources", documents: 2, failed: 2, acknowledged: 0, empty: 0 },
  ]);
  await world.control("DELETE", "faults");
  await world.change("delete", { path: "broken.pdf" });
  await world.crawl();
  const second = await standing();
  assert.deepEqual([second.documents, second.failed], [3, 0]);
});

test("what has nothing to index is counted by itself, and is no failure", async () => {
  await world.change("add", { path: "blank.md", text: " \n\n" });
  await world.change("add", { path: "matter.md", text: "---\ntitle: The curlew\ndescription: It whistles.\n---\n" });
  const first = await world.crawl();
  assert.deepEqual([first.job.result?.error, first.source.embed.added, first.source.embed.empty], ["", 3, 1]);
  const now = await standing();
  assert.deepEqual([now.documents, now.failed, now.empty], [3, 0, 1]);
  assert.ok((await world.search("curlew whistles")).some(({ text }) => text.includes("It whistles.")));
  assert.equal(
    healthOf({ kinds: BUILT_IN_KINDS, domainId: DOMAIN, active: undefined, last: first.job, standing: now }).word,
    "in step",
  );
  const { documents } = await world.app.explainDocument({ domainId: DOMAIN, document: "blank.md", query: "" });
  assert.match(JSON.stringify(documents), /there is nothing in it to index: The file contains no text\./);
  const second = await world.crawl();
  assert.deepEqual([second.job.result?.error, second.source.embed.skipped, second.source.embed.empty], ["", 0, 1]);
});

test("a rolled-back domain shows what readers see, and says so", async () => {
  await world.crawl();
  await world.change("add", { path: "crane.txt", text: "The crane dances." });
  await world.crawl();
  assert.deepEqual([(await standing()).documents, (await standing()).rolledBackTo], [3, null]);
  await world.app.rollback(DOMAIN, 1, { dryRun: false });
  assert.deepEqual([(await standing()).documents, (await standing()).rolledBackTo], [2, 1]);
});

test("a broken map file and a lost store are told; the rest is told all the same", async () => {
  await world.crawl();
  const domain = await world.app.domains.get(DOMAIN);
  const [docs] = domain.sources;
  assert.ok(docs);
  const other = { ...docs, sourceId: "other" as typeof docs.sourceId };
  await world.app.domains.update({ ...domain, sources: [docs, other] }, domain);
  await world.crawl();
  await writeFile(world.folder("files_map.csv"), "what,is,this\r\n1,2,3\r\n");
  const broken = await standing();
  assert.match(broken.error, /^The map files of source 'docs' cannot be read: .*files_map\.csv/);
  assert.deepEqual(
    broken.sources.map(({ sourceId, documents }) => [sourceId, documents]),
    [
      ["docs", 2],
      ["other", 2],
    ],
  );
  await world.openai().vectorStores.delete(domain.vectorStoreId);
  const lost = await standing();
  assert.equal(lost.documents, null);
  assert.match(lost.error, /does not exist any more/);
  assert.equal(lost.sources[1]?.documents, 2, "as the map files have it");
});

test("the ledger is read once, however often and by however many it is asked, until it says something else", async (t) => {
  await world.crawl();
  let reads = 0;
  const backend = { openIndex: async () => undefined } as unknown as Backend;
  const crawlerFolder = join(world.storage, "crawler");
  const ledgers = openTestLedgers(crawlerFolder);
  t.after(() => ledgers.close());
  const open: Ledgers["open"] = (source, options) => {
    reads += 1;
    return ledgers.open(source, options);
  };
  const ask = createDomainStatuses({ backend, crawlerFolder, ledgers: { ...ledgers, open } });
  const domain = await world.app.domains.get(DOMAIN);
  await Promise.all([ask(domain), ask(domain), ask(domain)]);
  await ask(domain);
  assert.equal(reads, 1);
  await world.change("add", { path: "crane.txt", text: "The crane dances." });
  await world.crawl();
  assert.equal((await ask(domain)).sources[0]?.documents, 3);
  assert.equal(reads, 2);
});

test("a remote service is asked once in a while, not at every look; another store is asked at once", async () => {
  const stage = await openStage({}, "remote");
  try {
    await stage.plant();
    const { app } = stage.world;
    const domain = await app.domains.get(DOMAIN);
    const from = stage.proxy.log.length;
    const [first] = await Promise.all([app.standing(domain), app.standing(domain)]);
    assert.equal(first.documents, 3);
    const asked = stage.proxy.log.length - from;
    assert.ok(asked > 0);
    assert.deepEqual(await app.standing(domain), first);
    assert.equal(stage.proxy.log.length - from, asked);
    const lost = await app.standing({ ...domain, vectorStoreId: "vs_nowhere" as typeof domain.vectorStoreId });
    assert.match(lost.error, /does not exist/);
  } finally {
    await stage.close();
  }
});
