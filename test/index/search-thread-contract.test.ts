// The embedded index keeps its contract when another thread searches it.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before } from "node:test";
import type { VectorStoreId } from "../../src/contracts/ids.ts";
import { createFixedModel } from "../../src/index/embedding/vector-model.ts";
import { createSearchThreads } from "../../src/index/search/search-threads.ts";
import { openSqliteHouse } from "../../src/index/sqlite/open-sqlite-house.ts";
import type { StoreHouse } from "../../src/index/store.ts";
import { filterSuite } from "../contracts/filter-suite.ts";
import { generationsSuite } from "../contracts/generations-suite.ts";
import { indexSuite } from "../contracts/index-suite.ts";
import { searchSuite } from "../contracts/search-suite.ts";
import { defaultParts, type OwnStoreUnderTest, type Parts, storeInHouse } from "../contracts/store-under-test.ts";
import { STORE } from "./index-fixture.ts";

/** As the product has it: written here, searched by another thread. */
async function openHouse({ embedder }: Parts): Promise<{ house: StoreHouse; close: () => Promise<void> }> {
  const folder = await mkdtemp(join(tmpdir(), "search-thread-"));
  const inside = join(folder, "index");
  const threads = createSearchThreads({ folder: inside, model: { kind: "built-in" } });
  const house = openSqliteHouse(inside, { model: createFixedModel(embedder), threads });
  const close = async (): Promise<void> => {
    await house.close();
    await rm(folder, { recursive: true, force: true });
  };
  return { house, close };
}

/** With a thread of its own. */
async function openAlone(parts: Parts): Promise<OwnStoreUnderTest> {
  const { house, close } = await openHouse(parts);
  return storeInHouse(house, STORE, parts, close);
}

let shared: Awaited<ReturnType<typeof openHouse>>;
before(async () => {
  shared = await openHouse(defaultParts());
});
after(() => shared.close());

/** A thread takes as long to start as most tests to run, so they share one. */
let stores = 0;
async function open(): Promise<OwnStoreUnderTest> {
  const id = `vs_${++stores}` as VectorStoreId;
  return storeInHouse(shared.house, id, defaultParts(), () => shared.house.drop(id));
}

searchSuite("SQLite, searched by another thread", open);
filterSuite("SQLite, searched by another thread", open);
indexSuite("the embedded index, searched by another thread", open);
generationsSuite("the embedded index, searched by another thread", openAlone);
