/** Fields that mean nothing twice: some servers and their proxies both set them. */
const SINGLE: ReadonlySet<string> = new Set([
  "content-type",
  "content-length",
  "date",
  "etag",
  "expires",
  "last-modified",
  "location",
  "retry-after",
]);
/** Addresses are sent in UTF-8 where they are not escaped. Validators are given back byte by byte, and so stay as they came. */
const IN_UTF8: ReadonlySet<string> = new Set(["location", "link"]);

/** Several fields of a name are one, joined as HTTP says. Cookies are nobody's business here. */
export function readHeaders(fields: Record<string, string | string[] | undefined>): ReadonlyMap<string, string> {
  const headers = new Map<string, string>();
  for (const [field, value] of Object.entries(fields)) {
    const name = field.toLowerCase();
    if (value === undefined || name === "set-cookie") continue;
    const one = typeof value === "string" ? value : SINGLE.has(name) ? (value[0] ?? "") : value.join(", ");
    headers.set(name, IN_UTF8.has(name) ? fromUtf8(one) : one);
  }
  return headers;
}

function fromUtf8(bytes: string): string {
  if (!/[^\0-\x7f]/.test(bytes)) return bytes;
  const text = Buffer.from(bytes, "latin1").toString("utf8");
  return text.includes("\ufffd") ? bytes : text;
}
