// A search sees what was committed right before it.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { toFile } from "openai";
import { DOMAIN, World } from "./world.ts";

let world: World;
before(async () => {
  world = await World.open();
});
after(() => world.close());

/** What the wire protocol and the product's own search find for the word: they must say the same. */
async function found(word: string): Promise<string[]> {
  const { vectorStoreId } = await world.app.domains.get(DOMAIN);
  const page = await world.openai().vectorStores.search(vectorStoreId, { query: word });
  const wire = page.data.filter(({ content }) => content.some(({ text }) => text.includes(word)));
  const names = [...new Set(wire.map(({ filename }) => filename))].sort();
  const own = (await world.search(word)).filter(({ text }) => text.includes(word));
  assert.deepEqual([...new Set(own.map(({ name }) => name))].sort(), names);
  return names;
}

test("a search sees what was committed, deleted or rolled back right before it, and nothing else", async () => {
  await world.change("add", { path: "a.txt", text: "The zebra is first." });
  assert.equal((await world.crawl()).job.result?.error, "");
  assert.deepEqual(await found("zebra"), ["a.txt"]);

  const { vectorStoreId } = await world.app.domains.get(DOMAIN);
  const client = world.openai();
  for (let round = 0; round < 5; round++) {
    const file = await toFile(Buffer.from(`The zebra of round ${round}.`), "put.txt");
    const { id } = await client.vectorStores.files.uploadAndPoll(vectorStoreId, file);
    assert.deepEqual(await found("zebra"), ["a.txt", "put.txt"]);
    await client.vectorStores.files.delete(id, { vector_store_id: vectorStoreId });
    assert.deepEqual(await found("zebra"), ["a.txt"], "no ghost");
  }

  await world.change("update", { path: "a.txt", text: "The quagga is second." });
  assert.equal((await world.crawl()).job.result?.error, "");
  assert.deepEqual([await found("zebra"), await found("quagga")], [[], ["a.txt"]]);
  await world.app.rollback(DOMAIN, 1, { dryRun: false });
  assert.deepEqual([await found("zebra"), await found("quagga")], [["a.txt"], []]);

  await client.vectorStores.delete(vectorStoreId);
  await assert.rejects(client.vectorStores.search(vectorStoreId, { query: "zebra" }), { status: 404 });
});
