/** RFC 4180 records: minimal quoting, CRLF. Written and read by us, and by whatever else people open map files with. */

const NEEDS_QUOTES = /[",\r\n]/;

export function encodeCsvRow(fields: readonly string[]): string {
  let line = "";
  for (let i = 0; i < fields.length; i++) {
    const field = fields[i] ?? "";
    if (i > 0) line += ",";
    line += NEEDS_QUOTES.test(field) ? `"${field.replaceAll('"', '""')}"` : field;
  }
  return line;
}

/** One record without its line end. A stray quote is taken as it stands; the caller checks the number of fields. */
export function decodeCsvRow(record: string): string[] {
  if (!record.includes('"')) return record.split(",");
  const fields: string[] = [];
  let at = 0;
  while (at <= record.length) {
    if (record[at] === '"') {
      const [field, next] = readQuoted(record, at + 1);
      fields.push(field);
      at = next + 1;
    } else {
      const comma = record.indexOf(",", at);
      const end = comma < 0 ? record.length : comma;
      fields.push(record.slice(at, end));
      at = end + 1;
    }
  }
  return fields;
}

/** From behind the opening quote; returns the field and the position of the comma (or end) behind it. */
function readQuoted(record: string, start: number): [string, number] {
  let field = "";
  let at = start;
  for (;;) {
    const quote = record.indexOf('"', at);
    if (quote < 0) return [field + record.slice(at), record.length];
    field += record.slice(at, quote);
    if (record[quote + 1] !== '"') {
      const comma = record.indexOf(",", quote + 1);
      const end = comma < 0 ? record.length : comma;
      return [field + record.slice(quote + 1, end), end];
    }
    field += '"';
    at = quote + 2;
  }
}
