import type { VectorStoreId } from "../../src/contracts/ids.ts";
import { createFixedModel } from "../../src/index/embedding/vector-model.ts";
import { openSqliteStores } from "../../src/index/sqlite/open-sqlite-stores.ts";
import { never, wordEmbedder } from "./embed-fixture.ts";

/** Refreshes the store in the folder given, says "embedded" for every page of vectors, and never gets beyond the second. */
const [folder = "", model = "", meanings = "[]"] = process.argv.slice(2);
const embedder = wordEmbedder(model, JSON.parse(meanings) as string[][]);
let pages = 0;
const stuck = {
  ...embedder,
  async embed(texts: readonly string[]): Promise<Float32Array[]> {
    process.stdout.write("embedded\n");
    if (++pages === 2) await new Promise((resolve) => setTimeout(resolve, 2 ** 30));
    return embedder.embed(texts);
  },
};
const provider = openSqliteStores(folder, { model: createFixedModel(stuck) });
const store = await provider.open("vs_test" as VectorStoreId);
await store.spaces.refresh(store, () => undefined, never);
