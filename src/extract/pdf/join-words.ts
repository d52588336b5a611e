const CONNECTS = /^(?:und|oder|bzw|and|or|et|ou|y|e|o)\b/;

/** Words that occur inside a line of the document: what a word divided at a line's end may be compared with. */
export function collectWords(lines: Iterable<string>): Set<string> {
  const words = new Set<string>();
  for (const line of lines) {
    for (const [word] of line.matchAll(/[\p{L}\p{N}]+(?:-[\p{L}\p{N}]+)*/gu)) words.add(word.toLowerCase());
  }
  return words;
}

/**
 * Puts two lines of a paragraph together. A hyphen at the end is dropped when it only divided a word: between
 * small letters, unless the document writes the word with a hyphen elsewhere (and not without). "Vor- und Nachteile" and
 * "SharePoint-Bibliothek" keep theirs.
 */
export function joinLines(before: string, after: string, words: ReadonlySet<string>): string {
  if (before.endsWith("\u00ad")) return before.slice(0, -1) + after;
  const head = /([\p{L}\p{N}-]*\p{L})[-\u2010]$/u.exec(before.slice(-100))?.[1];
  if (!head) return `${before} ${after}`;
  if (CONNECTS.test(after)) return `${before} ${after}`;
  const tail = /^[\p{L}\p{N}]+/u.exec(after.slice(0, 100))?.[0];
  if (!tail) return `${before} ${after}`;
  const divided = /\p{Ll}$/u.test(head) && /^\p{Ll}/u.test(tail) && !isWritten(head, tail, words);
  return divided ? before.slice(0, -1) + after : before + after;
}

function isWritten(head: string, tail: string, words: ReadonlySet<string>): boolean {
  const whole = `${head}${tail}`.toLowerCase();
  return words.has(`${head}-${tail}`.toLowerCase()) && !words.has(whole);
}
