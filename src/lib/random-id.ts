import { randomFillSync } from "node:crypto";

const BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const LENGTH = 24;
/** Higher bytes would make the first letters likelier than the others. */
const FAIR = 62 * 4;

const bytes = new Uint8Array(4096);
let used = bytes.length;

/** Returns the prefix and 24 random characters, like ids of the wire protocol: 142 bits, unique. */
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
