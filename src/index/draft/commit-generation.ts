import { ConflictError } from "../../contracts/errors.ts";
import type { Sql } from "../../lib/sql/sql.ts";
import type { SourceKey } from "../storage/documents.ts";
import { activateGeneration, visibleAt } from "../storage/generations.ts";
import { releaseReturned } from "../storage/kept-documents.ts";
import { refuseIfPinned } from "../storage/refuse-if-pinned.ts";
import { writeInTurn } from "../storage/state.ts";
import type { Store } from "../storage/store.ts";

export interface Commit {
  readonly source: SourceKey;
  /** null: the draft changed nothing, so there is nothing to activate. */
  readonly generation: number | null;
  readonly nowSeconds: number;
  /** Somebody confirmed that nothing of the domain is to be left. */
  readonly allowEmpty: boolean;
}

/** The moment a draft becomes what readers see. Throws ConflictError when it must not; then nothing was changed. */
export async function commitGeneration(store: Pick<Store, "db">, commit: Commit): Promise<void> {
  const { source, generation, nowSeconds, allowEmpty } = commit;
  const what = `commit draft of ${source.domainId}/${source.sourceId}`;
  if (generation === null) return refuseIfPinned(store.db, "commit draft of", source);
  await writeInTurn(store.db, async (sql) => {
    await refuseIfPinned(sql, "commit draft of", source);
    if (!allowEmpty && (await leavesNothing(sql, source.domainId, generation))) {
      throw new ConflictError(
        `${what}: nothing of the domain ${source.domainId} would be left; readers keep what they have until the removals are confirmed`,
      );
    }
    if (await activateGeneration(sql, generation, nowSeconds)) return releaseReturned(sql, source, generation);
    throw new ConflictError(`${what}: another run of this source has taken over, or the store was rolled back`);
  });
}

/** Only a draft that brings nothing and ends something can do that. */
async function leavesNothing(sql: Sql, domainId: string, generation: number): Promise<boolean> {
  const brings = await sql.get("SELECT id FROM documents WHERE born = $1 LIMIT 1", [generation]);
  if (brings) return false;
  const left = await sql.get(
    `SELECT d.id FROM documents d WHERE d.domain_id = $1 AND d.died IS DISTINCT FROM $2
       AND ${visibleAt("(SELECT active FROM state WHERE id = 1)")} LIMIT 1`,
    [domainId, generation],
  );
  return left === undefined;
}
