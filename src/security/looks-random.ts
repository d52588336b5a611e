const HEX = /^[0-9a-f]{32,}$/i;
const BASE64 = /^[A-Za-z0-9+/_-]{22,}={0,2}$/;
/** A repetition of this many characters, 32 bits or more, is no chance. */
const REPEATED = { hex: 8, base64: 6 };
const MAX_STRIDE = 4;
const CLASSES = [/[a-z]/, /[A-Z]/, /[0-9]/, /./];
/** How likely people continue a lower-case letter, a capital, a digit or another character with each of these. */
const GOES_ON = [
  [0.74, 0.13, 0.04, 0.09],
  [0.8, 0.12, 0.04, 0.04],
  [0.2, 0.15, 0.5, 0.15],
  [0.5, 0.35, 0.1, 0.05],
];
/** Percentages of the letters in English: a, b, c, … */
const LETTERS = [
  8.2, 1.5, 2.8, 4.3, 12.7, 2.2, 2, 6.1, 7, 0.2, 0.8, 4, 2.4, 6.7, 7.5, 1.9, 0.1, 6, 6.3, 9.1, 2.8, 1, 2.4, 0.2, 2, 0.1,
];
/** By chance less than once in a hundred thousand times. */
const WORDS_BITS = 17;

/** Tells whether a secret has 128 bits or more as hex or base64. Words, sequences and repetitions have fewer than it seems. */
export function looksRandom(secret: string): boolean {
  const text = secret.replace(/=+$/, "");
  const isHex = HEX.test(secret);
  if (!isHex && !BASE64.test(secret)) return false;
  if (new Set(text).size < (isHex ? 8 : 10)) return false;
  if (repeats(text.toLowerCase(), isHex ? REPEATED.hex : REPEATED.base64) || counts(text.toLowerCase())) return false;
  return isHex || bitsForWords(text) < WORDS_BITS;
}

function repeats(text: string, length: number): boolean {
  const pieces = Array.from({ length: text.length - length + 1 }, (_, at) => text.slice(at, at + length));
  return new Set(pieces).size < pieces.length;
}

/** Half of the characters follow from those before them: `abcd`, `9876`, `a1b2c3`. */
function counts(text: string): boolean {
  const places = [...text].map((sign) => (/[a-f]/.test(sign) ? parseInt(sign, 16) + 48 : sign.charCodeAt(0)));
  const letters = [...text].map((sign) => sign.charCodeAt(0));
  for (let stride = 1; stride <= MAX_STRIDE; stride++) {
    for (const step of [-1, 0, 1]) {
      const follows = letters.filter((code, at) => {
        const [before, place, placeBefore] = [letters[at - stride], places[at], places[at - stride]];
        if (before === undefined || place === undefined || placeBefore === undefined) return false;
        return code - before === step || place - placeBefore === step;
      });
      if (follows.length >= (text.length - stride) / 2) return true;
    }
  }
  return false;
}

/** Returns how many times likelier, as a power of two, a person wrote this than chance did. */
function bitsForWords(text: string): number {
  let bits = 0;
  let last: number | undefined;
  for (const sign of text) {
    const kind = CLASSES.findIndex((one) => one.test(sign));
    if (last !== undefined) {
      const letter = (LETTERS[sign.toLowerCase().charCodeAt(0) - 97] ?? 0) / 100;
      const within = kind < 2 ? letter : kind === 2 ? 1 / 10 : 1 / 2;
      bits += Math.log2((GOES_ON[last]?.[kind] ?? 0) * within * 64);
    }
    last = kind;
  }
  return bits;
}
