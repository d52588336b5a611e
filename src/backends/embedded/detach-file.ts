import type { FileId, VectorStoreId } from "../../contracts/ids.ts";
import { deleteDocumentsOfFile, dropLooseBodies } from "../../index/retention.ts";
import type { Store } from "../../index/store.ts";
import { bumpVisibleRevision, writeInTurn } from "../../index/store-state.ts";
import type { Sql } from "../../lib/sql/sql.ts";
import { deleteTasks } from "./catalog/attach-tasks.ts";

/**
 * Final in all generations of the store. false when it did not hold the file. The task goes first: whoever is processing
 * the file finds no document to complete.
 */
export async function detachFile(
  catalog: Sql,
  store: Store,
  { storeId, fileId }: { readonly storeId: VectorStoreId; readonly fileId: string },
): Promise<boolean> {
  if (!(await store.db.get("SELECT id FROM documents WHERE file_id = $1 LIMIT 1", [fileId]))) return false;
  await deleteTasks(catalog, [{ storeId, fileId: fileId as FileId }]);
  const deleted = await writeInTurn(store.db, async (sql) => {
    await bumpVisibleRevision(sql);
    return deleteDocumentsOfFile(sql, store, fileId);
  });
  await dropLooseBodies(store, { budget: 10 });
  return deleted > 0;
}
