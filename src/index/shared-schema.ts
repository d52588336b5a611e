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

/** Adds the checksum of each vector, as checksumOf makes it; NULL for vectors of earlier releases. */
export function checksumColumn(integer: string): string {
  return `
ALTER TABLE vectors ADD COLUMN checksum ${integer};
`;
}

interface Types {
  readonly text: string;
  readonly integer: string;
  /** An expression that makes a random UUID, for generations of earlier releases. */
  readonly uuid: string;
  /** The join of the view `documents_active`: `CROSS` keeps SQLite from reordering it; "" elsewhere. */
  readonly join: string;
}

/**
 * SQL of the upgrade that stores the newest and the shown generation separately, gives each generation a UUID, and counts the documents
 * erased from it. Runs on existing stores: if one is rolled back, its newest generation is the last one, which ending the rollback shows.
 */
export function newestAndShown({ text, integer, uuid, join }: Types): string {
  return `
DROP VIEW documents_active;
ALTER TABLE state RENAME COLUMN active TO shown;
ALTER TABLE state ADD COLUMN newest ${integer} NOT NULL DEFAULT 0;
UPDATE state SET newest = (SELECT max(number) FROM generations);
UPDATE state SET newest = shown WHERE newest < shown;
ALTER TABLE generations ADD COLUMN generation_id ${text} NOT NULL DEFAULT '';
ALTER TABLE generations ADD COLUMN erased ${integer} NOT NULL DEFAULT 0;
UPDATE generations SET generation_id = ${uuid};
CREATE VIEW documents_active AS
SELECT d.* FROM documents d
${join} JOIN generations born ON born.id = d.born
LEFT JOIN generations died ON died.id = d.died
WHERE born.number <= (SELECT shown FROM state)
  AND (d.died IS NULL OR died.number IS NULL OR died.number > (SELECT shown FROM state));
`;
}
