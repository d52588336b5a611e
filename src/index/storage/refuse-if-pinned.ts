import { ConflictError } from "../../contracts/errors.ts";
import type { Sql } from "../../lib/sql/sql.ts";
import type { SourceKey } from "./documents.ts";
import { readState } from "./state.ts";

/** While a store is rolled back nothing is written to it, let alone committed or forgotten: somebody may yet go forward again. */
export async function refuseIfPinned(sql: Sql, verb: string, { domainId, sourceId }: SourceKey): Promise<void> {
  const { active, pinned } = await readState(sql);
  if (pinned === 0) return;
  throw new ConflictError(
    `${verb} ${domainId}/${sourceId}: the vector store is rolled back to generation ${active}; release it, and the next run brings it up to date`,
  );
}
