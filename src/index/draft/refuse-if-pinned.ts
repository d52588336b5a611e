import { ConflictError } from "../../contracts/errors.ts";
import type { Sql } from "../../lib/sql/sql.ts";
import type { SourceKey } from "../storage/documents.ts";
import { readState } from "../storage/state.ts";

/** While a store is rolled back no draft may be written, let alone committed: somebody may yet go forward again. */
export async function refuseIfPinned(sql: Sql, { domainId, sourceId }: SourceKey): Promise<void> {
  const { active, pinned } = await readState(sql);
  if (pinned === 0) return;
  throw new ConflictError(
    `commit draft of ${domainId}/${sourceId}: the vector store is rolled back to generation ${active}; release it, and the next run brings it up to date`,
  );
}
