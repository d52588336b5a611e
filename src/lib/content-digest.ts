import { createHash } from "node:crypto";

/** `sha256:…` of bytes, in hexadecimal. */
export function contentDigest(content: Uint8Array | string): string {
  return `sha256:${createHash("sha256").update(content).digest("hex")}`;
}

/** The same of a text, however its lines are broken. */
export function textDigest(text: string): string {
  return contentDigest(text.replaceAll(/\s+/g, " ").trim());
}
