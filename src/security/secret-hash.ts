import { createHash, timingSafeEqual } from "node:crypto";

/** Enough for 256 random bits, which nobody guesses: a slow hash is for passwords that people choose. */
export function hashSecret(secret: string): string {
  return createHash("sha256").update(secret).digest("hex");
}

/** Takes as long for a near miss as for a wild guess. */
export function hasHash(secret: string, hash: string): boolean {
  const wanted = Buffer.from(hash, "hex");
  const given = createHash("sha256").update(secret).digest();
  return wanted.length === given.length && timingSafeEqual(wanted, given);
}
