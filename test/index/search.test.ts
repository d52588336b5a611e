// When a question cannot be embedded, words alone answer it.
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import type { Embedder } from "../../src/contracts/embedder.ts";
import { explain } from "../../src/contracts/errors.ts";
import type { VectorStoreId } from "../../src/contracts/ids.ts";
import { createNgramEmbedder } from "../../src/index/embedding/ngram-embedder.ts";
import { createFixedModel } from "../../src/index/embedding/vector-model.ts";
import { openSqliteStores } from "../../src/index/sqlite/open-sqlite-stores.ts";
import { filterSuite } from "../contracts/filter-suite.ts";
import { searchFixture } from "../contracts/search-fixture.ts";
import { searchSuite } from "../contracts/search-suite.ts";
import { defaultParts, type StoreUnderTest, storeInHouse } from "../contracts/store-under-test.ts";

async function openStore(embedder: Embedder = createNgramEmbedder()): Promise<StoreUnderTest> {
  const folder = await mkdtemp(join(tmpdir(), "search-store-"));
  const provider = openSqliteStores(join(folder, "index"), { model: createFixedModel(embedder) });
  return storeInHouse(provider, "vs_search" as VectorStoreId, defaultParts(), async () => {
    await provider.close();
    await rm(folder, { recursive: true, force: true });
  });
}

searchSuite("SQLite", () => openStore());
filterSuite("SQLite", () => openStore());

test("when the question cannot be embedded, words answer alone; who wants vectors alone is told", async () => {
  const ngrams = createNgramEmbedder();
  let works = true;
  let asked = 0;
  const failing: Embedder = {
    model: ngrams.model,
    revision: ngrams.revision,
    dimensions: ngrams.dimensions,
    embed(texts) {
      asked += 1;
      return works ? ngrams.embed(texts) : Promise.reject(new Error("embed: the endpoint is down"));
    },
  };
  const at = await searchFixture(() => openStore(failing));
  try {
    await at.commit({ otters: "Otters sleep holding hands.", hotels: "A hotel room." });
    works = false;
    const before = asked;
    assert.deepEqual(await at.names("sleeping otters"), ["otters"]);
    assert.deepEqual(await at.names("sleeping otters"), ["otters"]);
    assert.equal(asked, before + 1, "nobody else waits for the same silence");
    const notes: string[] = [];
    await at.search("sleeping otters", { tell: (note) => notes.push(note) });
    await at.search("sleeping otters", { using: "text", tell: (note) => notes.push(note) });
    assert.deepEqual(notes.length, 1, "whoever asked for words alone is told nothing");
    assert.match(notes[0] ?? "", /could not be embedded, so only its words/);
    await assert.rejects(at.search("sleeping otters", { using: "vectors" }), (error: Error) => {
      assert.match(explain(error), /could not be embedded: .*the endpoint is down/);
      return true;
    });
  } finally {
    await at.close();
  }
});
