import type { Attributes, HitDetails, SearchHit } from "../../contracts/search-index.ts";
import { fastHash } from "../../lib/fast-hash.ts";
import type { Sql } from "../../lib/sql/sql.ts";
import type { Phrase } from "../storage/store.ts";
import type { PlacedWord } from "../text/analyze.ts";
import type { Scored } from "./fuse-scores.ts";
import { type HitDocument, loadDocuments, type Passage, type Passages } from "./passages.ts";

const MAX_ALSO_IN = 20;

interface Gathered {
  readonly hit: SearchHit;
  readonly documentId: number;
  readonly chunkId: number;
  readonly text: string;
  readonly shingles: Shingles;
  readonly alsoIn: Map<number, HitDocument>;
}

/**
 * The first `limit` of the scored ones as hits. A passage that is (nearly) the same as a better one is not a hit of its own:
 * its document is named there, unless they are wanted unfolded.
 */
export async function gatherHits(
  sql: Sql,
  passages: Passages,
  scored: readonly Scored[],
  phrases: readonly Phrase[],
  { limit, generation, unfolded }: { readonly limit: number; readonly generation: number; readonly unfolded: boolean },
): Promise<SearchHit[]> {
  const gathered: Gathered[] = [];
  const window = limit * 2 + 10;
  for (let from = 0; from < scored.length && gathered.length < limit; from += window) {
    const page = scored.slice(from, from + window);
    const texts = await passages.load(page.map(({ chunkId }) => chunkId));
    const documents = await loadDocuments(
      sql,
      page.map(({ documentId }) => documentId),
    );
    for (const one of page) {
      const passage = texts.get(one.chunkId);
      const document = documents.get(one.documentId);
      if (!passage || !document || (!unfolded && isRepeated(gathered, one, passage, document))) continue;
      // From here on only the very same passages are gathered.
      if (gathered.length >= limit) continue;
      const shingles = shinglesOf(passage.words.text);
      if (!unfolded && isAlike(gathered, shingles, document)) continue;
      const hit = hitOf(one, passage, document, { highlights: highlight(passage.words.placed, phrases), generation });
      gathered.push({ ...one, hit, text: passage.text, shingles, alsoIn: new Map() });
    }
  }
  return gathered.map(withOthers);
}

/** The very same passage. */
function isRepeated(gathered: readonly Gathered[], one: Scored, passage: Passage, document: HitDocument): boolean {
  const same = gathered.find(({ chunkId, text }) => chunkId === one.chunkId || text === passage.text);
  if (same) addOther(same, document);
  return same !== undefined;
}

function isAlike(gathered: readonly Gathered[], shingles: Shingles, document: HitDocument): boolean {
  const alike = gathered.find((other) => isNearlySame(other.shingles, shingles));
  if (alike) addOther(alike, document);
  return alike !== undefined;
}

function addOther({ alsoIn, documentId }: Gathered, document: HitDocument): void {
  if (document.id !== documentId && alsoIn.size < MAX_ALSO_IN) alsoIn.set(document.id, document);
}

function withOthers({ hit, alsoIn }: Gathered): SearchHit {
  if (alsoIn.size === 0 || !hit.details) return hit;
  const others = [...alsoIn.values()].map(({ fileId, name, path }) => ({ fileId, name, path }));
  return { ...hit, details: { ...hit.details, alsoIn: others } };
}

function hitOf(
  { score, parts }: Scored,
  { sectionPath, text, page, language }: Passage,
  { fileId, name, path, url, modifiedAt, attributes }: HitDocument,
  { highlights, generation }: Pick<HitDetails, "highlights" | "generation">,
): SearchHit {
  const details: HitDetails = {
    highlights,
    parts,
    path,
    url,
    modifiedAt,
    page,
    language,
    generation,
    alsoIn: [],
  };
  return { fileId, name, score, attributes: JSON.parse(attributes) as Attributes, sectionPath, text, details };
}

interface Span {
  readonly start: number;
  readonly end: number;
}

/** Where a text, given as its words, has these phrases, in whatever form of the words, in order, not overlapping. */
export function highlight(placed: readonly PlacedWord[], phrases: readonly Phrase[]): Span[] {
  const byFirst = new Map<string, Phrase[]>();
  const beginnings: string[] = [];
  for (const phrase of phrases) {
    const [first] = phrase.words;
    if (first === undefined) continue;
    if (phrase.beginning && phrase.words.length === 1) beginnings.push(first);
    const known = byFirst.get(first);
    if (known) known.push(phrase);
    else byFirst.set(first, [phrase]);
  }
  const spans: Span[] = [];
  for (const [at, { word, start }] of placed.entries()) {
    for (const { words, beginning } of byFirst.get(word) ?? []) {
      const last = matchFrom(placed, at, words, beginning);
      if (last) spans.push({ start, end: last.end });
    }
    for (const begin of beginnings) if (word.startsWith(begin)) spans.push({ start, end: start + begin.length });
  }
  return merge(spans);
}

function matchFrom(
  placed: readonly PlacedWord[],
  at: number,
  words: readonly string[],
  beginning: boolean,
): PlacedWord | undefined {
  for (const [i, wanted] of words.entries()) {
    const word = placed[at + i]?.word;
    const goesOn = beginning && i === words.length - 1 && word?.startsWith(wanted);
    if (word !== wanted && !goesOn) return undefined;
  }
  return placed[at + words.length - 1];
}

function merge(spans: Span[]): Span[] {
  spans.sort((a, b) => a.start - b.start || b.end - a.end);
  const merged: Span[] = [];
  for (const span of spans) {
    const last = merged.at(-1);
    if (!last || span.start > last.end) merged.push(span);
    else if (span.end > last.end) merged[merged.length - 1] = { start: last.start, end: span.end };
  }
  return merged;
}

/** Runs of four words, as numbers: what a passage has in common with another one shows in them, in whatever order. */
type Shingles = ReadonlySet<number>;

const LENGTH = 4;
/** The share of shingles that two passages must have in common. */
const NEARLY_SAME = 0.8;

function shinglesOf(words: readonly string[]): Shingles {
  const shingles = new Set<number>();
  const hashes = words.map((word) => fastHash(word));
  for (let at = 0; at === 0 || at + LENGTH <= hashes.length; at++) {
    let value = 0;
    for (let i = at; i < at + LENGTH; i++) value = Math.imul(value, 31) + (hashes[i] ?? 0);
    shingles.add(value >>> 0);
  }
  return shingles;
}

function isNearlySame(a: Shingles, b: Shingles): boolean {
  const [small, large] = a.size <= b.size ? [a, b] : [b, a];
  if (small.size < large.size * NEARLY_SAME) return false;
  let shared = 0;
  for (const shingle of small) if (large.has(shingle)) shared++;
  return shared >= NEARLY_SAME * (small.size + large.size - shared);
}
