import { charactersOf, type EastAsian, lettersOf, type Surprise } from "./language-model.ts";

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
  const sample = sampleOf(bytes);
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
function sampleOf(bytes: Uint8Array): Uint8Array {
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
