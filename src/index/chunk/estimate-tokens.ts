/**
 * About four characters to a token, one token to a CJK character. Additive and fractional, so that the
 * parts of a text weigh exactly as much as the whole, however it is cut.
 */
export function estimateTokens(text: string): number {
  let wide = 0;
  for (let at = 0; at < text.length; at += 1) {
    if (isWide(text.charCodeAt(at))) wide += 1;
  }
  return wide + (text.length - wide) / 4;
}

/** CJK ideographs, kana, hangul, full-width forms, and the high half of the supplementary ideographs. */
function isWide(code: number): boolean {
  if (code < 0x2e80) return false;
  return (
    code <= 0x9fff ||
    (code >= 0xac00 && code <= 0xd7a3) ||
    (code >= 0xd840 && code <= 0xd87f) ||
    (code >= 0xf900 && code <= 0xfaff) ||
    (code >= 0xff00 && code <= 0xffdc)
  );
}
