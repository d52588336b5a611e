/** Without the characters at its end that are among these. In one pass: `/x+$/` takes quadratic time for runs of x that end in something else. */
export function trimEnd(text: string, characters: string): string {
  let end = text.length;
  while (end > 0 && characters.includes(text[end - 1] ?? "")) end -= 1;
  return text.slice(0, end);
}
