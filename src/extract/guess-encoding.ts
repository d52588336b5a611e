import { COMMON_CHARACTERS, KANA_SAMPLE, sampleOf } from "./language-samples.ts";

/** Enough to tell; more takes time and changes nothing. */
const SAMPLE_BYTES = 2048;
/** Behind so much of a file nothing is looked for. */
const SCANNED_BYTES = 4 * 1024 * 1024;

interface Candidate {
  readonly encoding: string;
  /** How much likelier than this it must look, in nats: some are hardly met any more. */
  readonly handicap: number;
  readonly languages: readonly string[];
}

const WESTERN = "en de fr es it pt nl sv da no fi is ca".split(" ");
const CENTRAL = "pl cs sk hu ro hr sl".split(" ");
const CYRILLIC = "ru uk bg sr".split(" ");
const BALTIC = "lt lv et".split(" ");

const CANDIDATES: readonly Candidate[] = [
  { encoding: "windows-1252", handicap: 0, languages: WESTERN },
  {
    encoding: "utf-8",
    handicap: 3,
    languages: [...WESTERN, ...CENTRAL, ...CYRILLIC, "tr", "el", "ja", "zh", "tw", "ko"],
  },
  { encoding: "windows-1251", handicap: 1, languages: CYRILLIC },
  { encoding: "shift_jis", handicap: 1, languages: ["ja"] },
  { encoding: "gb18030", handicap: 1, languages: ["zh"] },
  { encoding: "big5", handicap: 1, languages: ["tw"] },
  { encoding: "euc-kr", handicap: 1, languages: ["ko"] },
  { encoding: "euc-jp", handicap: 1, languages: ["ja"] },
  { encoding: "windows-1250", handicap: 2.5, languages: CENTRAL },
  { encoding: "iso-8859-2", handicap: 3.5, languages: CENTRAL },
  { encoding: "windows-1253", handicap: 2, languages: ["el"] },
  { encoding: "iso-8859-7", handicap: 3, languages: ["el"] },
  { encoding: "windows-1254", handicap: 2, languages: ["tr"] },
  { encoding: "windows-1255", handicap: 2, languages: ["he"] },
  { encoding: "windows-1256", handicap: 2, languages: ["ar", "fa"] },
  { encoding: "iso-8859-6", handicap: 4, languages: ["ar"] },
  { encoding: "windows-1257", handicap: 5, languages: BALTIC },
  { encoding: "iso-8859-13", handicap: 5, languages: ["lt", "lv"] },
  { encoding: "iso-8859-4", handicap: 6, languages: BALTIC },
  { encoding: "windows-1258", handicap: 3, languages: ["vi"] },
  { encoding: "windows-874", handicap: 2, languages: ["th"] },
  { encoding: "koi8-u", handicap: 2, languages: ["ru", "uk"] },
  { encoding: "ibm866", handicap: 3, languages: ["ru"] },
  { encoding: "iso-8859-5", handicap: 4, languages: CYRILLIC },
  { encoding: "x-mac-cyrillic", handicap: 5, languages: ["ru"] },
  { encoding: "iso-8859-15", handicap: 5, languages: WESTERN },
  { encoding: "iso-8859-16", handicap: 6, languages: ["ro"] },
  { encoding: "macintosh", handicap: 6, languages: WESTERN },
];

/** What the bytes are that are no UTF-8: the encoding in which some language would most likely have given them. */
export function guessEncoding(bytes: Uint8Array): string {
  const sample = nonAsciiSample(bytes);
  let best = { encoding: "windows-1252", cost: Number.POSITIVE_INFINITY };
  for (const { encoding, handicap, languages } of CANDIDATES) {
    const text = new TextDecoder(encoding).decode(sample);
    for (const language of languages) {
      const cost = handicap + surpriseOf(language)(language === "vi" ? text.normalize("NFC") : text);
      if (cost < best.cost) best = { encoding, cost };
    }
  }
  return best.encoding;
}

const LINE_FEED = 0x0a;
const LESS_THAN = 0x3c;
const GREATER_THAN = 0x3e;

/**
 * Those lines, or pieces between tags, that have more than ASCII, from wherever they begin: a long head says nothing. None
 * of the encodings has one of the three dividers inside a character.
 */
function nonAsciiSample(bytes: Uint8Array): Uint8Array {
  const pieces: Uint8Array[] = [];
  let size = 0;
  let start = 0;
  let isTelling = false;
  const end = Math.min(bytes.length, SCANNED_BYTES);
  for (let at = 0; at <= end && size < SAMPLE_BYTES; at += 1) {
    const byte = at < end ? (bytes[at] ?? 0) : LINE_FEED;
    if (byte > 0x7f) isTelling = true;
    if (byte !== LINE_FEED && byte !== LESS_THAN && byte !== GREATER_THAN) continue;
    if (isTelling) {
      const piece = bytes.subarray(start, Math.min(at + 1, start + SAMPLE_BYTES));
      pieces.push(piece);
      size += piece.length;
    }
    start = at + 1;
    isTelling = false;
  }
  return Buffer.concat(pieces);
}

const MODELS = new Map<string, Surprise>();

function surpriseOf(language: string): Surprise {
  let model = MODELS.get(language);
  if (!model) {
    const taught = TAUGHT[language];
    model = taught ? charactersOf(taught()) : lettersOf(language);
    MODELS.set(language, model);
  }
  return model;
}

const TAUGHT: Readonly<Record<string, () => EastAsian>> = {
  zh: () => ({ language: "zh", taught: rows("gb18030", [0xb0, 0xd7], [[0xa1, 0xfe]]) }),
  ko: () => ({ language: "ko", taught: rows("euc-kr", [0xb0, 0xc8], [[0xa1, 0xfe]]) }),
  ja: () => ({ language: "ja", taught: rows("euc-jp", [0xb0, 0xcf], [[0xa1, 0xfe]]) }),
  tw: () => ({
    language: "tw",
    taught: rows(
      "big5",
      [0xa4, 0xc6],
      [
        [0x40, 0x7e],
        [0xa1, 0xfe],
      ],
    ),
  }),
};

/** The characters of a standard whose first byte is in `leads`. */
function rows(encoding: string, leads: readonly [number, number], trails: readonly [number, number][]): Set<string> {
  const bytes: number[] = [];
  for (let lead = leads[0]; lead <= leads[1]; lead += 1) {
    for (const [from, to] of trails) for (let trail = from; trail <= to; trail += 1) bytes.push(lead, trail);
  }
  const characters = new Set(new TextDecoder(encoding).decode(Uint8Array.from(bytes)));
  characters.delete("\ufffd");
  return characters;
}

/** How surprising a text is in a language, in nats per character: the less, the likelier it is what was written. */
type Surprise = (text: string) => number;

const DIGIT_OR_PUNCTUATION = 2.6;
const RARE_ASCII = 6;
const FOREIGN_ASCII_LETTER = 3.6;
const PUNCTUATION = 6;
const FOREIGN_LETTER = 10;
const SYMBOL = 11;
/** Control characters, and what no character has. */
const NO_TEXT = 16;
const INSIDE_WORD = 5;
const CAPITAL = 1;
const CAPITAL_INSIDE = 5;
const OTHER_SCRIPT = 6;
/** A pair that the sample does not have is still possible. */
const SHARE_OF_PAIRS = 0.6;

const USUAL_PUNCTUATION = new Set("«»„“”‚‘’–—…•·€§°№£×½´¡¿ªº\u00a0");
const EAST_PUNCTUATION = new Set("、。，．！？：；・ー「」『』（）【】〜～…　“”‘’—《》〈〉％＋－／￥");

/** For a language that is written with letters. */
function lettersOf(language: string): Surprise {
  const pairs = pairsIn(sampleOf(language).toLowerCase());
  const isLatin = pairs.letters.has("e");
  return (text) => {
    let sum = 0;
    let before = " ";
    let wasUpper = false;
    for (const character of text) {
      const lower = character.toLowerCase();
      const isUpper = lower !== character;
      sum += letterCost(before, lower, { pairs, isLatin });
      if (isUpper) sum += isLetter(before) && !wasUpper ? CAPITAL_INSIDE : CAPITAL;
      before = lower;
      wasUpper = isUpper;
    }
    return sum;
  };
}

interface Pairs {
  readonly letters: ReadonlyMap<string, number>;
  readonly pairs: ReadonlyMap<string, number>;
  readonly total: number;
}

function pairsIn(sample: string): Pairs {
  const letters = new Map<string, number>();
  const pairs = new Map<string, number>();
  let before = " ";
  let total = 0;
  for (const character of sample) {
    const one = isLetter(character) ? character : " ";
    letters.set(one, (letters.get(one) ?? 0) + 1);
    pairs.set(before + one, (pairs.get(before + one) ?? 0) + 1);
    total += 1;
    before = one;
  }
  return { letters, pairs, total };
}

interface Alphabet {
  readonly pairs: Pairs;
  readonly isLatin: boolean;
}

function letterCost(before: string, character: string, { pairs, isLatin }: Alphabet): number {
  const code = character.codePointAt(0) ?? 0;
  const afterLetter = isLetter(before);
  if (!isLetter(character)) return markCost(character, before) + (afterLetter ? endCost(before, pairs) : 0);
  const single = pairs.letters.get(character);
  const wasInside = afterLetter || before === "'" ? 0 : before.charCodeAt(0) > 0x7f ? INSIDE_WORD / 2 : 0;
  if (single === undefined) {
    if (code < 0x80)
      return (
        (isLatin ? RARE_ASCII : FOREIGN_ASCII_LETTER) + (afterLetter && !isLatin && before > "\x7f" ? OTHER_SCRIPT : 0)
      );
    return FOREIGN_LETTER + (afterLetter ? OTHER_SCRIPT / 2 : 0);
  }
  const from = afterLetter ? before : " ";
  const pair = (pairs.pairs.get(from + character) ?? 0) / (pairs.letters.get(from) ?? 1);
  const share = SHARE_OF_PAIRS * pair + (1 - SHARE_OF_PAIRS) * (single / pairs.total);
  const strange = !isLatin && afterLetter && before < "\x80" ? OTHER_SCRIPT : 0;
  const cost = -Math.log(share);
  // Names and words of other languages stand in every text.
  return (code < 0x80 ? Math.min(cost, RARE_ASCII) : cost) + strange + wasInside;
}

/** Words do not end in any letter; how often they end at all does not matter. */
function endCost(last: string, { letters, pairs, total }: Pairs): number {
  const single = letters.get(last);
  if (single === undefined || last < "\x80") return 0;
  const usual = (letters.get(" ") ?? 1) / total;
  const share = SHARE_OF_PAIRS * ((pairs.get(`${last} `) ?? 0) / single) + (1 - SHARE_OF_PAIRS) * usual;
  return Math.log(usual) - Math.log(share);
}

function markCost(character: string, before: string): number {
  const code = character.codePointAt(0) ?? 0;
  if (code === 0xfffd || (code >= 0x7f && code < 0xa0)) return NO_TEXT;
  if (code < 0x20 && character !== "\n" && character !== "\t" && character !== "\r") return NO_TEXT;
  if (code < 0x80) return /[{}|~^`\\@[\]_]/.test(character) ? RARE_ASCII : DIGIT_OR_PUNCTUATION;
  const inside = isLetter(before) && !/[’‘”“»…\u00a0–]/.test(character) ? INSIDE_WORD : 0;
  return (USUAL_PUNCTUATION.has(character) ? PUNCTUATION : SYMBOL) + inside;
}

function isLetter(character: string): boolean {
  const code = character.charCodeAt(0);
  if (code < 0x80) return (code >= 0x61 && code <= 0x7a) || (code >= 0x41 && code <= 0x5a);
  // Vowel signs are parts of words, too.
  return code >= 0xaa && /[\p{L}\p{M}]/u.test(character) && character !== "ª" && character !== "º";
}

const RANKS: readonly [first: number, cost: number][] = [
  [60, 4.6],
  [200, 5.8],
  [Number.POSITIVE_INFINITY, 6.8],
];
/** One of the few thousand that are taught at school; any other. */
const LESS_COMMON = 9.2;
const RARE = 12.5;
const HALF_WIDTH = 9.5;
const KANA_UNKNOWN = 6.8;

interface EastAsian {
  readonly language: "ja" | "zh" | "tw" | "ko";
  /** Those of the standard's first part. */
  readonly taught: ReadonlySet<string>;
}

/** For a language with thousands of characters. */
function charactersOf({ language, taught }: EastAsian): Surprise {
  const common = new Map<string, number>();
  for (const character of COMMON_CHARACTERS[language === "ja" ? "han" : language]) {
    if (common.has(character)) continue;
    common.set(character, RANKS.find(([first]) => common.size < first)?.[1] ?? RARE);
  }
  const kana = language === "ja" ? kanaPairs() : undefined;
  return (text) => {
    let sum = 0;
    let before = "";
    for (const character of text) {
      sum += (kana && kanaCost(before, character, kana)) ?? common.get(character) ?? otherCost(character, taught);
      before = character;
    }
    return sum;
  };
}

function otherCost(character: string, taught: ReadonlySet<string>): number {
  const code = character.codePointAt(0) ?? 0;
  if (code < 0x80) return isLetter(character) ? FOREIGN_ASCII_LETTER : markCost(character, " ");
  if (taught.has(character)) return LESS_COMMON;
  if (EAST_PUNCTUATION.has(character)) return PUNCTUATION;
  // Full-width letters and digits.
  if (code >= 0xff01 && code <= 0xff5e) return LESS_COMMON;
  return code === 0xfffd || (code >= 0xe000 && code <= 0xf8ff) ? NO_TEXT * 2 : RARE;
}

function kanaPairs(): ReadonlyMap<string, number> {
  const pairs = new Map<string, number>();
  let before = "";
  for (const character of KANA_SAMPLE) {
    pairs.set(character, (pairs.get(character) ?? 0) + 1);
    pairs.set(before + character, (pairs.get(before + character) ?? 0) + 1);
    before = character;
  }
  return pairs;
}

/** undefined for what is no kana. */
function kanaCost(before: string, character: string, pairs: ReadonlyMap<string, number>): number | undefined {
  const code = character.charCodeAt(0);
  if (code >= 0xff61 && code <= 0xff9f) return HALF_WIDTH;
  if (code < 0x3040 || code > 0x30ff) return undefined;
  const single = (pairs.get(character) ?? 0) / KANA_SAMPLE.length;
  const pair = (pairs.get(before + character) ?? 0) / (pairs.get(before) ?? 1);
  return Math.min(KANA_UNKNOWN, -Math.log(0.5 * pair + 0.5 * single + 1e-4));
}
