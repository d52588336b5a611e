/** Browsers look at the first kilobyte, and then at every `<meta>` they come to; some heads are filled with styles first. */
const DECLARATION_BYTES = 1024 * 1024;
const TAG = /<(?:(!--)|(script|style)(?=[\s/>])|meta(?=[\s/])([^>]{0,1000}))/gi;

/** What a page or an XML file says of itself, "" for nothing. Comments and scripts say nothing. */
export function declaredEncoding(bytes: Uint8Array): string {
  const head = Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(bytes.length, DECLARATION_BYTES)).toString(
    "latin1",
  );
  const xml = /^(?:\xef\xbb\xbf)?<\?xml[^>]{0,200}?encoding\s{0,9}=\s{0,9}["']([\w.-]{1,40})/i.exec(head)?.[1] ?? "";
  TAG.lastIndex = 0;
  for (let tag = TAG.exec(head); tag; tag = TAG.exec(head)) {
    const [, comment, raw, attributes = ""] = tag;
    const declared = /charset\s{0,9}=\s{0,9}["']?\s{0,9}([\w:.-]{1,40})/i.exec(attributes)?.[1];
    if (declared) return declared;
    const closing = comment ? "-->" : raw ? `</${raw}` : "";
    const end = closing ? indexOfClosing(head, closing, TAG.lastIndex) : TAG.lastIndex;
    if (end === -1) break;
    TAG.lastIndex = end;
  }
  return xml;
}

function indexOfClosing(head: string, closing: string, from: number): number {
  if (closing === "-->") return head.indexOf(closing, from);
  const pattern = new RegExp(closing, "gi");
  pattern.lastIndex = from;
  return pattern.exec(head)?.index ?? -1;
}
