/** A stretch of text that becomes words: `end` is exclusive. `unspaced`: of a script that is written without blanks. */
export type TakeRun = (start: number, end: number, unspaced: boolean) => void;

const UNKNOWN = 0;
const GAP = 1;
const WORD = 2;
const UNSPACED = 3;
/** Accents, vowel signs and invisible characters: part of whatever run they stand in. */
const ATTACHED = 4;

/** Inside a character class of a regular expression: the scripts that are written without blanks. */
export const UNSPACED_SCRIPTS = `${["Han", "Hiragana", "Katakana", "Hangul", "Thai", "Lao", "Khmer", "Myanmar"]
  .map((script) => `\\p{Script=${script}}`)
  .join("")}ー々〆ﾞﾟ`;
const IS_UNSPACED = new RegExp(`[${UNSPACED_SCRIPTS}]`, "u");
const IS_ATTACHED = /[\p{M}\u00ad\u200b-\u200d\u2060\ufeff]/u;
const IS_WORD = /[\p{L}\p{N}\p{Co}_]/u;

/** `a-b-c-…` without an end must not become one word. */
const MAX_CONNECTED = 12;

/** By UTF-16 code unit, filled as characters are met: asking a regular expression each time is what would take the time. */
const KINDS = new Uint8Array(0x10000);

/**
 * Runs of letters and digits, in order. Parts of identifiers stay together (`AB-1234/5`, `it's`, `3.14`): only a
 * connector between two word characters joins, so a full stop ends the run before it.
 */
export function scanRuns(text: string, take: TakeRun): void {
  let at = 0;
  while (at < text.length) {
    const kind = kindAt(text, at);
    if (kind === GAP || kind === ATTACHED) {
      at += widthAt(text, at);
      continue;
    }
    const end = kind === UNSPACED ? endOfUnspaced(text, at) : endOfWord(text, at);
    take(at, end, kind === UNSPACED);
    at = end;
  }
}

function endOfUnspaced(text: string, start: number): number {
  let at = start;
  while (at < text.length) {
    const kind = kindAt(text, at);
    if (kind !== UNSPACED && kind !== ATTACHED) break;
    at += widthAt(text, at);
  }
  return at;
}

function endOfWord(text: string, start: number): number {
  let at = start;
  let connected = 0;
  while (at < text.length) {
    const kind = kindAt(text, at);
    if (kind === WORD || kind === ATTACHED) at += widthAt(text, at);
    else if (kind === GAP && connected < MAX_CONNECTED && connects(text, at)) {
      connected++;
      at++;
    } else break;
  }
  return at;
}

function connects(text: string, at: number): boolean {
  if (at + 1 >= text.length || kindAt(text, at + 1) !== WORD) return false;
  switch (text.charCodeAt(at)) {
    case 0x2d: // -
    case 0x2e: // .
    case 0x2f: // /
    case 0x27: // '
    case 0x2019: // ’
    case 0x2011: // non-breaking hyphen
      return true;
    case 0x2c: // ,
    case 0x3a: // :
      return isDigit(text.charCodeAt(at - 1)) && isDigit(text.charCodeAt(at + 1));
    default:
      return false;
  }
}

function kindAt(text: string, at: number): number {
  const unit = text.charCodeAt(at);
  const known = KINDS[unit] as number;
  if (known !== UNKNOWN) return known;
  const isHalf = unit >= 0xd800 && unit <= 0xdfff;
  const kind = kindOf(isHalf ? String.fromCodePoint(text.codePointAt(at) as number) : String.fromCharCode(unit));
  if (!isHalf) KINDS[unit] = kind;
  return kind;
}

function kindOf(character: string): number {
  if (IS_ATTACHED.test(character)) return ATTACHED;
  if (!IS_WORD.test(character)) return GAP;
  return IS_UNSPACED.test(character) ? UNSPACED : WORD;
}

function widthAt(text: string, at: number): number {
  const unit = text.charCodeAt(at);
  return unit >= 0xd800 && unit <= 0xdbff && (text.codePointAt(at) as number) > 0xffff ? 2 : 1;
}

function isDigit(unit: number): boolean {
  return unit >= 0x30 && unit <= 0x39;
}
