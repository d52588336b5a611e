/** Browsers look for the declaration in the first kilobyte; generators with long comments need more. */
const DECLARATION_BYTES = 8192;

/** What a page or an XML file says of itself, "" for nothing. */
export function declaredEncoding(bytes: Uint8Array): string {
  const head = Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(bytes.length, DECLARATION_BYTES)).toString(
    "latin1",
  );
  const meta = /<meta[^>]{0,500}?charset\s{0,9}=\s{0,9}["']?([\w:.-]{1,40})/i.exec(head);
  const xml = /^<\?xml[^>]{0,200}?encoding\s{0,9}=\s{0,9}["']([\w.-]{1,40})/i.exec(head);
  return meta?.[1] ?? xml?.[1] ?? "";
}
