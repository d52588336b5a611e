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
