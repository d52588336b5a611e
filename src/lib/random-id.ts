import { randomFillSync } from "node:crypto";

const BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const LENGTH = 24;
/** Bytes from here on would make the first letters likelier than the others. */
const FAIR = 62 * 4;

const bytes = new Uint8Array(4096);
let used = bytes.length;

/** The prefix and 24 random characters, as the wire protocol has its ids: 142 bits, never given twice. */
export function randomId(prefix: string): string {
  let id = prefix;
  while (id.length < prefix.length + LENGTH) {
    if (used === bytes.length) {
      randomFillSync(bytes);
      used = 0;
    }
    const byte = bytes[used++] ?? 0;
    if (byte < FAIR) id += BASE62[byte % 62];
  }
  return id;
}
