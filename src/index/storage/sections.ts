import type { Sql } from "../../lib/sql/sql.ts";

/** A section of the flattened tree; `parent` is the position of the one above it. */
export interface SectionRow {
  readonly position: number;
  readonly parent: number | null;
  readonly heading: string;
  readonly level: number;
  readonly content: string;
}

const COLUMNS = "s.position, s.parent, s.heading, s.level, s.content";

export async function insertSections(
  sql: Sql,
  sections: readonly (SectionRow & { readonly bodyId: number })[],
): Promise<void> {
  await sql.insert(
    "sections (body_id, position, parent, heading, level, content)",
    sections.map(({ bodyId, position, parent, heading, level, content }) => [
      bodyId,
      position,
      parent,
      heading,
      level,
      content,
    ]),
  );
}

export async function sectionsOfBody(sql: Sql, bodyId: number): Promise<SectionRow[]> {
  return sql.all<SectionRow>(`SELECT ${COLUMNS} FROM sections s WHERE s.body_id = $1 ORDER BY s.position`, [bodyId]);
}

/** In reading order, of what readers see now; [] when no document is at this path. */
export async function sectionsOfDocument(
  sql: Sql,
  document: { readonly domainId: string; readonly sourceId: string; readonly path: string },
): Promise<SectionRow[]> {
  return sql.all<SectionRow>(
    `SELECT ${COLUMNS} FROM documents_active d JOIN sections s ON s.body_id = d.body_id
     WHERE d.domain_id = $1 AND d.source_id = $2 AND d.path = $3 ORDER BY d.id, s.position`,
    [document.domainId, document.sourceId, document.path],
  );
}
