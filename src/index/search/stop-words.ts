const ENGLISH =
  "a about after all also am an and any are as at be been but by can could did do does for from had has have he her him his how i if in into is it its just me more most my no not of on or our out over she should so some such than that the their them then there these they this those to up us was we were what when where which while who whom why will with would you your";
const GERMAN =
  "aber als am an auch auf aus bei bin bis das dass dem den der des die dies diese dieser dieses doch du durch ein eine einem einen einer eines er es für hat hatte ich ihr ihre im in ist ja kann mehr mit nach nicht noch nur ob oder sein seine sich sie sind so über um und uns unser vom von vor war was wenn wer wie wir wird wo zu zum zur";
const FRENCH =
  "au aux avec ce ces cette dans de des du elle en est et il ils je la le les leur ne nous ou où par pas pour qu que qui sa se ses son sont sur un une vous";

/** Words that say little about what a text is about, lower-case and without diacritics. */
export const STOP_WORDS: ReadonlySet<string> = new Set(`${ENGLISH} ${GERMAN} ${FRENCH}`.split(" ").map(fold));

/** Lower-case, compatibility forms unified, diacritics taken off: the form in which words are compared. */
export function fold(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the range is plain ASCII, the common case that needs no folding.
  if (/^[\x00-\x7f]*$/.test(text)) return text.toLowerCase();
  return text
    .normalize("NFKD")
    .replaceAll(/\p{M}+/gu, "")
    .toLowerCase()
    .normalize("NFC");
}
