/** Letters that Unicode does not take apart into a plain letter and a mark. */
const PLAIN: Readonly<Record<string, string>> = {
  ß: "ss",
  æ: "ae",
  œ: "oe",
  ø: "o",
  đ: "d",
  ð: "d",
  ł: "l",
  ı: "i",
  þ: "th",
  ς: "σ",
};
const SPECIAL = /[ßæœøđðłıþς]/g;
/**
 * Accents of Latin and Greek, points of Hebrew and Arabic, and invisible characters. Not the vowel signs of Indian
 * scripts, without which words become others, nor the breve of й, without which Russian endings are not recognised.
 */
const MARKS =
  /[\u0300-\u0305\u0307-\u036f\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u0640\u064b-\u0655\u0670\u00ad\u200b-\u200d\u2060\ufeff]|(?<!и)\u0306/g;
/** What some letters and numbers consist of besides letters and digits: `½` is written 1⁄2. */
const INNER_SIGNS = /[^\p{L}\p{N}\p{M}\p{Co}_]+/gu;
// biome-ignore lint/suspicious/noControlCharactersInRegex: the range is plain ASCII, the common case that needs no folding.
const ASCII = /^[\x00-\x7f]*$/;

/** The form in which words are compared: lower-case, compatibility forms unified, accents taken off, ß written out. For words, not texts. */
export function fold(text: string): string {
  const lower = text.toLowerCase();
  if (ASCII.test(lower)) return lower;
  return lower
    .normalize("NFKD")
    .toLowerCase()
    .replaceAll(MARKS, "")
    .replaceAll(SPECIAL, (letter) => PLAIN[letter] ?? letter)
    .replaceAll(INNER_SIGNS, "_")
    .normalize("NFC");
}
