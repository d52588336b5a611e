import type { FeedbackRow, FeedbackRows } from "../contracts/feedback.ts";
import { isListed, listsOf, replacing, type SqlDatabase } from "../lib/sql/sql.ts";
import type { LedgerDatabases } from "./ledger-databases.ts";

interface StoredRow {
  readonly feedback_id: string;
  readonly vote: number;
  readonly question: string;
  readonly answer: string;
  readonly file_ids: string;
  readonly times: number;
  readonly at: string;
}

const COLUMNS = "vote, question, answer, file_ids, times, at";

export function openFeedbackRows(databases: LedgerDatabases): FeedbackRows {
  return {
    async of(domainId) {
      const db = await databases.find(domainId);
      const text = "SELECT * FROM feedback WHERE domain_id = $1 ORDER BY at DESC, feedback_id";
      return ((await db?.all<StoredRow>(text, [domainId])) ?? []).map(toRow);
    },
    async put(domainId, row, { since, most }) {
      const db: SqlDatabase | undefined = await databases.find(domainId);
      await db?.write(async (sql) => {
        const known = await sql.get<StoredRow>("SELECT * FROM feedback WHERE domain_id = $1 AND feedback_id = $2", [
          domainId,
          row.id,
        ]);
        const { id, vote, question, answer, fileIds, at } = row;
        const values = [domainId, id, vote, question, answer, JSON.stringify(fileIds), (known?.times ?? 0) + 1, at];
        const into = `feedback (domain_id, feedback_id, ${COLUMNS})`;
        await sql.insert(into, [values], replacing("domain_id, feedback_id", COLUMNS));
        await sql.run("DELETE FROM feedback WHERE domain_id = $1 AND at < $2", [domainId, since]);
        await sql.run(
          `DELETE FROM feedback WHERE domain_id = $1 AND feedback_id NOT IN
           (SELECT feedback_id FROM feedback WHERE domain_id = $1 ORDER BY at DESC, feedback_id LIMIT $2)`,
          [domainId, most],
        );
      });
    },
    async remove(domainId, ids) {
      const db = await databases.find(domainId);
      if (!db) return 0;
      return await db.write(async (sql) => {
        let removed = 0;
        for (const list of listsOf(ids)) {
          const isNamed = isListed(sql, "feedback_id", "$2", "text");
          removed += await sql.run(`DELETE FROM feedback WHERE domain_id = $1 AND ${isNamed}`, [domainId, list]);
        }
        return removed;
      });
    },
  };
}

function toRow({ feedback_id: id, vote, file_ids, ...row }: StoredRow): FeedbackRow {
  const { question, answer, times, at } = row;
  return { id, vote: vote > 0 ? 1 : vote < 0 ? -1 : 0, question, answer, fileIds: JSON.parse(file_ids), times, at };
}
