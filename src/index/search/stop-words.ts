import { fold } from "../analyzer.ts";

const ENGLISH =
  "a about after all also am an and any are as at be been but by can could did do does for from had has have he her him his how i if in into is it its just me more most my no not of on or our out over she should so some such than that the their them then there these they this those to up us was we were what when where which while who whom why will with would you your";
const GERMAN =
  "aber als am an auch auf aus bei bin bis das dass dem den der des die dies diese dieser dieses doch du durch ein eine einem einen einer eines er es für hat hatte ich ihr ihre im in ist ja kann man mehr mit nach nicht noch nur ob oder sein seine sich sie sind so über um und uns unser vom von vor war was wenn wer wie wir wird wo zu zum zur";
const FRENCH =
  "au aux avec ce ces cette dans de des du elle en est et il ils je la le les leur ne nous ou où par pas pour qu que qui sa se ses son sont sur un une vous";
const SPANISH =
  "al como con de del el ella en entre es esta este la las lo los mas no o para pero por que se si sin sobre son su sus un una y";

/** Folded words that say little about what a text is about, by language. */
const LANGUAGES: readonly ReadonlySet<string>[] = [ENGLISH, GERMAN, FRENCH, SPANISH].map(
  (words) => new Set(words.split(" ").map(fold)),
);

/** The stop words of all these languages. */
export const STOP_WORDS: ReadonlySet<string> = new Set(LANGUAGES.flatMap((words) => [...words]));

/**
 * The stop words of the language of which the question has most, given its folded words: `die` is one in German, but an
 * English question may well be about it.
 */
export function stopWordsOf(words: readonly string[]): ReadonlySet<string> {
  let most = -1;
  let chosen: ReadonlySet<string> = new Set();
  for (const language of LANGUAGES) {
    const count = words.filter((word) => language.has(word)).length;
    if (count > most) [most, chosen] = [count, language];
  }
  return chosen;
}
