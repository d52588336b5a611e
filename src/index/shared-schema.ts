/** Source id and generation of files attached over the wire. The generation has number 0, so they are visible at once and in every generation. */
export const DIRECT_SOURCE = "_direct";
export const DIRECT_GENERATION = 1;

/**
 * SQL for the column that says which crawl committed a generation; "" if unknown. Added to existing tables; generations without
 * a value each count as a crawl. `text` is the type name of the database.
 */
export function crawlColumn(text: string): string {
  return `
ALTER TABLE generations ADD COLUMN crawl ${text} NOT NULL DEFAULT '';
CREATE INDEX generations_crawl ON generations (crawl, number);
`;
}

/**
 * SQL for the table of documents that were hidden and may return: their bodies are not cleaned up. Added to existing tables. `died`
 * is the generation that hid them, which may be deleted by now. `text` and `integer` are the type names of the database.
 */
export function keptTable({ text, integer }: { readonly text: string; readonly integer: string }): string {
  return `
CREATE TABLE kept_documents (
  domain_id ${text} NOT NULL,
  source_id ${text} NOT NULL,
  item_id ${text} NOT NULL,
  body_id ${integer} NOT NULL REFERENCES bodies (id),
  died ${integer} NOT NULL,
  PRIMARY KEY (domain_id, source_id, item_id)
);
CREATE INDEX kept_documents_body ON kept_documents (body_id);
`;
}

/** Of each vector, as checksumOf makes it; NULL for those of earlier releases. Added to tables that may be there already. */
export function checksumColumn(integer: string): string {
  return `
ALTER TABLE vectors ADD COLUMN checksum ${integer};
`;
}
