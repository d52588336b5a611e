import type { Attributes, HitDetails, SearchHit } from "../../contracts/search-index.ts";
import type { Sql } from "../../lib/sql/sql.ts";
import type { Phrase } from "../storage/store.ts";
import type { Scored } from "./fuse-scores.ts";
import { highlight } from "./highlight.ts";
import { isNearlySame, type Shingles, shinglesOf } from "./near-duplicate.ts";
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
