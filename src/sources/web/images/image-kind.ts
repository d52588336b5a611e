const KINDS: readonly [kind: string, beginsWith: RegExp][] = [
  ["jpeg", /^\xff\xd8\xff/],
  ["png", /^\x89PNG\r\n/],
  ["gif", /^GIF8[79]a/],
  ["webp", /^RIFF[\s\S]{4}WEBP/],
  ["tiff", /^(?:II\*\0|MM\0\*)/],
  ["bmp", /^BM/],
  ["svg", /<svg[\s>]/i],
];
const SNIFFED_BYTES = 1024;

/** What the bytes are, whatever anybody calls them; "" for what is no picture we know. */
export function imageKind(bytes: Uint8Array): string {
  const head = Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(bytes.length, SNIFFED_BYTES)).toString("latin1");
  return KINDS.find(([, pattern]) => pattern.test(head))?.[0] ?? "";
}
