import { createHash } from "node:crypto";

/** Two numbers from 0 up to, not including, 1: whether the request is struck, and which of several effects it meets. */
export function decide(seed: number, address: string, count: number): { chance: number; choice: number } {
  const digest = createHash("sha256").update(`${seed}\n${address}\n${count}`).digest();
  return { chance: digest.readUInt32BE(0) / 2 ** 32, choice: digest.readUInt32BE(4) / 2 ** 32 };
}
