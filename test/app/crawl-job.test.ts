// A crawl runs as a job of its own; two first crawls at once share one vector store.
import assert from "node:assert/strict";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { DOMAIN, World } from "../engine/world.ts";

test("two first crawls at once fill one vector store, and each is a job of its own", async (t) => {
  const world = await World.open();
  t.after(() => world.close());
  await world.change("add", { path: "a.txt", text: "The axolotl budget is 12 euros." });
  const crawls = await Promise.all([world.crawl(), world.crawl()]);

  const stores: string[] = [];
  for await (const store of world.openai().vectorStores.list()) stores.push(store.id);
  assert.equal(stores.length, 1);
  const { vectorStoreId } = await world.app.domains.get(DOMAIN);
  assert.deepEqual(
    [vectorStoreId, ...crawls.map(({ result }) => result.vector_store_id)],
    [stores[0], stores[0], stores[0]],
  );
  assert.equal(crawls.filter(({ log }) => log.includes("Created vector store")).length, 1);
  assert.deepEqual(await world.found("axolotl budget"), ["a.txt"]);
  assert.deepEqual(await world.contradictions(), []);
  const files = await readdir(join(world.storage, "jobs", "crawler"));
  assert.deepEqual(files.map((name) => /_\[crawl\]_\[(jb_\d)\]_\[STORY\]\.completed$/.exec(name)?.[1]).sort(), [
    "jb_1",
    "jb_2",
  ]);
});

test("a crawl with a problem ends not ok, and says which", async (t) => {
  const world = await World.open({ source: { sharepoint_url_part: "/Nowhere" } });
  t.after(() => world.close());
  const { job, result } = await world.crawl({ dryRun: true });
  assert.deepEqual([job.state, job.dryRun, job.result?.ok], ["completed", true, false]);
  assert.equal(job.result?.error, result.problems.join(" "));
  assert.match(result.problems.join(), /Source 'docs'.*Nowhere/);
});
