/** What is shorter, or made up for a server that wants none, is no secret, and may be a word of the answer. */
function isSecret(key: string): boolean {
  return key.length >= 16 || (key.length >= 8 && key.startsWith("sk-"));
}

/** Takes a key out of bytes that come in pieces. */
export interface KeyHider {
  /** What is certain not to be a part of the key; its beginning is held back until more is known. */
  push(piece: Uint8Array): Uint8Array;
  end(): Uint8Array;
}

/** Asterisks take its place, as many, so that lengths stay what they say. undefined: there is nothing to hide. */
export function createKeyHider(key: string): KeyHider | undefined {
  if (!isSecret(key)) return undefined;
  // As it is, and as JSON may spell it.
  const spellings = [key, JSON.stringify(key).slice(1, -1), key.replaceAll("/", "\\/")];
  const needles = [...new Set(spellings)].map((text) => Buffer.from(text));
  let held = Buffer.alloc(0);
  return {
    push(piece) {
      const bytes = Buffer.concat([held, piece]);
      for (const needle of needles) mask(bytes, needle);
      const certain = bytes.length - Math.max(...needles.map((needle) => beginningOf(needle, bytes)));
      held = bytes.subarray(certain);
      return bytes.subarray(0, certain);
    },
    end() {
      return held;
    },
  };
}

export function hideKeyIn(text: string, key: string): string {
  return isSecret(key) ? text.replaceAll(key, "*".repeat(key.length)) : text;
}

function mask(bytes: Buffer, needle: Buffer): void {
  for (let at = bytes.indexOf(needle); at >= 0; at = bytes.indexOf(needle, at + needle.length)) {
    bytes.fill("*", at, at + needle.length);
  }
}

/** How many of the last bytes may be the beginning of the needle. */
function beginningOf(needle: Buffer, bytes: Buffer): number {
  for (let length = Math.min(needle.length - 1, bytes.length); length > 0; length--) {
    if (bytes.subarray(bytes.length - length).equals(needle.subarray(0, length))) return length;
  }
  return 0;
}
