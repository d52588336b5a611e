/** What no database can keep as text (NUL, half of a pair of surrogates) becomes the replacement character. */
export function storableText(text: string): string {
  return (text.includes("\0") ? text.replaceAll("\0", "\uFFFD") : text).toWellFormed();
}
