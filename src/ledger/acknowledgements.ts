import type { AcknowledgedFailure, Acknowledgements, LedgerSource } from "../contracts/ledger.ts";
import { isListed, listsOf, replacing } from "../lib/sql/sql.ts";
import type { LedgerDatabases } from "./ledger-databases.ts";
import { findSource, type SourceKey } from "./source-row.ts";

interface AcknowledgedRow {
  readonly item_id: AcknowledgedFailure["itemId"];
  readonly step: AcknowledgedFailure["step"];
  readonly reason: string;
  readonly content: string;
  readonly acknowledged_at: string;
}

export function openAcknowledgements(
  databases: LedgerDatabases,
  keyOf: (source: LedgerSource) => SourceKey,
): Acknowledgements {
  return {
    async of(source) {
      const db = await databases.find(source.domainId);
      const row = await (db && findSource(db, keyOf(source)));
      if (!db || !row) return [];
      const text = "SELECT * FROM acknowledged WHERE source_no = $1 ORDER BY item_id";
      const rows = await db.all<AcknowledgedRow>(text, [row.source_no]);
      return rows.map(({ item_id: itemId, step, reason, content, acknowledged_at: at }) => {
        return { itemId, step, reason, content, at };
      });
    },
    async put(source, failures) {
      const db = await databases.open(source.domainId);
      await db.write(async (sql) => {
        const row = await findSource(sql, keyOf(source));
        const columns = "step, reason, content, acknowledged_at";
        const rows = failures.map(({ itemId, step, reason, content, at }) => {
          return [row?.source_no ?? 0, itemId, step, reason, content, at];
        });
        if (!row) return;
        const into = `acknowledged (source_no, item_id, ${columns})`;
        await sql.insert(into, rows, replacing("source_no, item_id", columns));
      });
    },
    async remove(source, items) {
      const db = await databases.find(source.domainId);
      const row = await (db && findSource(db, keyOf(source)));
      if (!db || !row) return 0;
      return await db.write(async (sql) => {
        let removed = 0;
        for (const list of listsOf(items)) {
          const isNamed = isListed(sql, "item_id", "$2", "text");
          removed += await sql.run(`DELETE FROM acknowledged WHERE source_no = $1 AND ${isNamed}`, [
            row.source_no,
            list,
          ]);
        }
        return removed;
      });
    },
  };
}
