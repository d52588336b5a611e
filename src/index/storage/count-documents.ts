import type { DomainId, SourceId } from "../../contracts/ids.ts";
import type { DocumentCount } from "../../contracts/search-index.ts";
import { readState } from "./state.ts";
import type { Store } from "./store.ts";

interface Counted {
  readonly revision: number;
  readonly byDomain: Map<DomainId, DocumentCount>;
}

/** Counting a large store takes a while, and nothing changes without its revision. */
const counted = new WeakMap<Store, Counted>();

/** What the active generation shows of a domain, source by source. */
export async function countDocuments(store: Store, domain: DomainId): Promise<DocumentCount> {
  return store.db.read(async (sql) => {
    const { visibleRevision: revision } = await readState(sql);
    let known = counted.get(store);
    if (known?.revision !== revision) {
      known = { revision, byDomain: new Map() };
      counted.set(store, known);
    }
    const remembered = known.byDomain.get(domain);
    if (remembered) return remembered;
    const rows = await sql.all<{ sourceId: SourceId; documents: number }>(
      `SELECT source_id AS "sourceId", count(*) AS documents FROM documents_active
       WHERE domain_id = $1 AND body_id IS NOT NULL GROUP BY source_id`,
      [domain],
    );
    const bySource = new Map(rows.map(({ sourceId, documents }) => [sourceId, documents]));
    const count = { documents: rows.reduce((sum, { documents }) => sum + documents, 0), bySource };
    known.byDomain.set(domain, count);
    return count;
  });
}
