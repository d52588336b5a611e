import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Worker } from "node:worker_threads";
import type { EmbeddedIndex } from "../../src/index/embedded-index.ts";
import { openVectorModel, type VectorModelSettings } from "../../src/index/embedding/open-vector-model.ts";
import { createSearchThreads } from "../../src/index/search/search-threads.ts";
import { openSqliteStores } from "../../src/index/sqlite/open-sqlite-stores.ts";
import type { StoreProvider } from "../../src/index/store.ts";
import { apply, LIBRARY, never, openIndexIn, writeDocument } from "./index-fixture.ts";

/** A store that is written here and searched by another thread. */
export interface SearchThreadFixture {
  readonly indexFolder: string;
  readonly provider: StoreProvider;
  readonly index: EmbeddedIndex;
  /** The threads that were started so far, dead ones too. */
  readonly workers: readonly Worker[];
  commit(items: Readonly<Record<string, string | null>>): Promise<void>;
  close(): Promise<void>;
}

export async function searchThreadFixture(
  options: { readonly model?: VectorModelSettings; readonly maxWaiting?: number } = {},
): Promise<SearchThreadFixture> {
  const { model = { kind: "built-in" }, ...limits } = options;
  const folder = await mkdtemp(join(tmpdir(), "search-thread-"));
  const indexFolder = join(folder, "index");
  const threads = createSearchThreads({ folder: indexFolder, model, ...limits });
  const provider = openSqliteStores(indexFolder, { model: await openVectorModel(model), threads });
  const index = openIndexIn(provider);
  const workers: Worker[] = [];
  const note = (worker: Worker): unknown => workers.push(worker);
  process.on("worker", note);
  return {
    indexFolder,
    provider,
    index,
    workers,
    async commit(items) {
      const draft = await index.draft(LIBRARY);
      await apply(draft, items, (item, text) => writeDocument(folder, item, text));
      await draft.commit(never, { allowEmpty: true });
    },
    async close() {
      process.off("worker", note);
      await provider.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
