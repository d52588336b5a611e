const UNRESERVED = /[A-Za-z0-9._~-]/;
const ESCAPE_OR_STRANGER = /%[0-9A-Fa-f]{2}|[^A-Za-z0-9._~!$&'()*+,;=:@/?-]/g;
/** Invisible, or able to turn the direction of the text around it. */
const UNREADABLE = /[\p{C}\p{Z}]/u;

/**
 * One spelling of a path or query (RFC 3986): escapes of unreserved characters are decoded, the others upper-case, and what
 * must not stand there is escaped. Reserved characters stay as they are, escaped or not: servers tell them apart. A `%` that
 * begins no escape is escaped itself; `%%37E` would otherwise turn into an escape the second time.
 */
export function canonicalEscapes(text: string): string {
  return text.replaceAll(ESCAPE_OR_STRANGER, (found) => {
    if (found.length === 1) return encodeURIComponent(found);
    const character = String.fromCharCode(Number.parseInt(found.slice(1), 16));
    return UNRESERVED.test(character) ? character : found.toUpperCase();
  });
}

/** For people: letters of all alphabets as they are. Reading it again gives the same address, so the rest stays escaped. */
export function readableEscapes(text: string): string {
  return text.replaceAll(/(?:%[89A-F][0-9A-F])+/g, (run) => {
    try {
      return [...decodeURIComponent(run)].map((c) => (UNREADABLE.test(c) ? encodeURIComponent(c) : c)).join("");
    } catch {
      return run;
    }
  });
}
