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
