// The embedded index keeps its contract when another thread searches it.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before } from "node:test";
import type { VectorStoreId } from "../../src/contracts/ids.ts";
import { createFixedModel } from "../../src/index/embedding/vector-model.ts";
import { createSearchThreads } from "../../src/index/search/search-threads.ts";
import { openSqliteStores } from "../../src/index/sqlite/open-sqlite-stores.ts";
import type { StoreProvider } from "../../src/index/store.ts";
import { filterSuite } from "../contracts/filter-suite.ts";
import { forceSuite } from "../contracts/force-suite.ts";
import { generationsSuite } from "../contracts/generations-suite.ts";
import { indexSuite } from "../contracts/index-suite.ts";
import { previewSuite } from "../contracts/preview-suite.ts";
import { searchSuite } from "../contracts/search-suite.ts";
import { defaultParts, type OwnStoreUnderTest, type Parts, storeInHouse } from "../contracts/store-under-test.ts";
import { STORE } from "./index-fixture.ts";

/** As the product has it: written here, searched by another thread. */
async function openStores({ embedder }: Parts): Promise<{ provider: StoreProvider; close: () => Promise<void> }> {
  const folder = await mkdtemp(join(tmpdir(), "search-thread-"));
  const inside = join(folder, "index");
  const threads = createSearchThreads({ folder: inside, model: { kind: "built-in" } });
  const provider = openSqliteStores(inside, { model: createFixedModel(embedder), threads });
  const close = async (): Promise<void> => {
    await provider.close();
    await rm(folder, { recursive: true, force: true });
  };
  return { provider, close };
}

/** With a thread of its own. */
async function openAlone(parts: Parts): Promise<OwnStoreUnderTest> {
  const { provider, close } = await openStores(parts);
  return storeInHouse(provider, STORE, parts, close);
}

let shared: Awaited<ReturnType<typeof openStores>>;
before(async () => {
  shared = await openStores(defaultParts());
});
after(() => shared.close());

/** A thread takes as long to start as most tests to run, so they share one. */
let stores = 0;
async function open(): Promise<OwnStoreUnderTest> {
  const id = `vs_${++stores}` as VectorStoreId;
  return storeInHouse(shared.provider, id, defaultParts(), () => shared.provider.drop(id));
}

searchSuite("SQLite, searched by another thread", open);
filterSuite("SQLite, searched by another thread", open);
indexSuite("the embedded index, searched by another thread", open);
generationsSuite("the embedded index, searched by another thread", openAlone);
forceSuite("the embedded index, searched by another thread", openAlone);
previewSuite("the embedded index, searched by another thread", openAlone);
