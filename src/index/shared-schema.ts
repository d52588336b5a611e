/** Files attached over the wire. Their one generation has number 0, so they are visible at once and in every generation. */
export const DIRECT_SOURCE = "_direct";
export const DIRECT_GENERATION = 1;

/**
 * Which crawl committed a generation: the same text for all that one crawl committed, "" when nobody knows. Added to tables
 * that may be there already; generations of before then each count as a crawl. `text` is what the database calls it.
 */
export function crawlColumn(text: string): string {
  return `
ALTER TABLE generations ADD COLUMN crawl ${text} NOT NULL DEFAULT '';
CREATE INDEX generations_crawl ON generations (crawl, number);
`;
}

/**
 * Documents that were hidden and may return: their bodies are not cleaned up. Added to tables that may be there already.
 * `died` is the generation that hid them, which may be gone by now. `text` and `integer` are what the database calls these types.
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
