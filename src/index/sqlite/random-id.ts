import { randomInt } from "node:crypto";

const BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/** The prefix and 24 random characters, as the wire protocol has its ids: 142 bits, never given twice. */
export function randomId(prefix: "file-" | "vs_" | "req_"): string {
  let id: string = prefix;
  for (let i = 0; i < 24; i++) id += BASE62[randomInt(62)];
  return id;
}
