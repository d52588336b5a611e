import type { Embedder } from "../../contracts/embedder.ts";
import type { FileId } from "../../contracts/ids.ts";
import type { Attributes, SearchHit, SearchQuery } from "../../contracts/search-index.ts";
import type { Store } from "../sqlite/open-store.ts";
import { filterCondition } from "./attribute-filter.ts";
import { type Candidate, fuseScores, type Scored } from "./fuse-scores.ts";
import { type ParsedQuery, parseQuery } from "./parse-query.ts";
import type { VisibleDocuments } from "./visible-documents.ts";

const TEXT_CANDIDATES = 200;
const VECTOR_CANDIDATES = 50;
const LABEL_CANDIDATES = 50;
/** Below this, two texts have no more in common than any two texts of a language. */
const MIN_SIMILARITY = 0.25;
/** With fewer texts than this that have a word of the question, words that only begin like it are let in, at half the score. */
const FEW = 3;
const BEGINNING = 0.5;
/** A name that shares one word with the question says little. */
const PARTIAL_LABEL = 0.2;

/** One search sees one moment of the store, however many reads it takes and whoever commits meanwhile. */
export async function searchStore(store: Store, embedder: Embedder, query: SearchQuery): Promise<SearchHit[]> {
  const parsed = parseQuery(query.text);
  const condition = query.filter && filterCondition(query.filter);
  const [vector = new Float32Array(embedder.dimensions)] = await embedder.embed([query.text]);
  return store.db.read(() => {
    store.vectors.refresh();
    const visible = condition ? store.visible.where(condition.sql, condition.values) : store.visible.all();
    const candidates = findCandidates(store, visible, parsed, vector);
    return fuseScores(candidates, query.limit, query.scoreThreshold ?? 0).map((scored) => loadHit(store, scored));
  });
}

/** What is in quotes must occur, unless it occurs nowhere: an answer to the rest is better than none. */
function findCandidates(
  store: Store,
  visible: VisibleDocuments,
  parsed: ParsedQuery,
  vector: Float32Array,
): Candidate[] {
  if (parsed.quoted) {
    const texts = matchTexts(store, visible, parsed.quoted);
    const labels = matchLabels(store, visible, parsed.quoted, parsed.all);
    if (texts.size > 0 || labels.size > 0) return join(store, visible, texts, labels, vector);
  }
  const texts = matchTexts(store, visible, parsed.any);
  if (texts.size < FEW) {
    for (const [chunkId, text] of matchTexts(store, visible, parsed.beginnings)) {
      if (!texts.has(chunkId)) texts.set(chunkId, text * BEGINNING);
    }
  }
  for (const near of store.vectors.nearest(vector, visible.bodies, VECTOR_CANDIDATES)) {
    if (near.similarity >= MIN_SIMILARITY && !texts.has(near.chunkId)) texts.set(near.chunkId, 0);
  }
  return join(store, visible, texts, matchLabels(store, visible, parsed.any, parsed.all), vector);
}

/** Chunks of visible documents by their words, score relative to the best. Skipping what is not allowed before cutting. */
function matchTexts(store: Store, visible: VisibleDocuments, expression: string): Map<number, number> {
  const found = new Map<number, number>();
  if (expression === "") return found;
  let best = 0;
  const matches = store.db
    .statement("SELECT rowid AS id, rank FROM chunks_text WHERE chunks_text MATCH ? ORDER BY rank")
    .iterate(expression) as unknown as Iterable<Match>;
  for (const { id, rank } of matches) {
    if (!visible.bodies[store.vectors.bodyOf(id) ?? 0]) continue;
    best ||= -rank;
    found.set(id, best > 0 ? -rank / best : 1);
    if (found.size >= TEXT_CANDIDATES) break;
  }
  return found;
}

/** Visible documents by name, path and title: 1 with every word of the question, else up to PARTIAL_LABEL. */
function matchLabels(store: Store, visible: VisibleDocuments, some: string, all: string): Map<number, number> {
  const found = new Map<number, number>();
  if (some === "") return found;
  const statement = store.db.statement(
    "SELECT rowid AS id, rank FROM labels_text WHERE labels_text MATCH ? ORDER BY rank",
  );
  for (const { id } of statement.iterate(all) as unknown as Iterable<Match>) {
    if (visible.bodyOf.has(id)) found.set(id, 1);
    if (found.size >= LABEL_CANDIDATES) break;
  }
  let best = 0;
  const limit = found.size + LABEL_CANDIDATES;
  for (const { id, rank } of statement.iterate(some) as unknown as Iterable<Match>) {
    if (!visible.bodyOf.has(id) || found.has(id)) continue;
    best ||= -rank;
    found.set(id, PARTIAL_LABEL * (best > 0 ? -rank / best : 1));
    if (found.size >= limit) break;
  }
  return found;
}

function join(
  store: Store,
  visible: VisibleDocuments,
  texts: ReadonlyMap<number, number>,
  labels: ReadonlyMap<number, number>,
  vector: Float32Array,
): Candidate[] {
  const candidates: Candidate[] = [];
  const covered = new Set<number>();
  const add = (documentId: number, chunkId: number, text: number): void => {
    covered.add(documentId);
    const similarity = store.vectors.similarity(vector, chunkId);
    candidates.push({ documentId, chunkId, text, label: labels.get(documentId) ?? 0, similarity });
  };
  for (const [chunkId, text] of texts) {
    const bodyId = store.vectors.bodyOf(chunkId) ?? 0;
    for (const documentId of visible.documentsOf.get(bodyId) ?? []) add(documentId, chunkId, text);
  }
  const firstChunk = store.db.statement("SELECT id FROM chunks WHERE body_id = ? ORDER BY position LIMIT 1");
  for (const documentId of labels.keys()) {
    if (covered.has(documentId)) continue;
    const chunk = firstChunk.get(visible.bodyOf.get(documentId) ?? 0);
    if (chunk) add(documentId, Number(chunk["id"]), 0);
  }
  return candidates;
}

function loadHit(store: Store, { documentId, chunkId, score }: Scored): SearchHit {
  const row = store.db
    .statement(
      `SELECT d.file_id AS fileId, d.name, d.attributes, c.section_path AS sectionPath, c.text
       FROM documents d, chunks c WHERE d.id = ? AND c.id = ?`,
    )
    .get(documentId, chunkId) as unknown as HitRow;
  const attributes = JSON.parse(row.attributes) as Attributes;
  return { fileId: row.fileId, name: row.name, score, attributes, sectionPath: row.sectionPath, text: row.text };
}

interface Match {
  readonly id: number;
  /** BM25, negative: the smaller the better. */
  readonly rank: number;
}

interface HitRow {
  readonly fileId: FileId;
  readonly name: string;
  readonly attributes: string;
  readonly sectionPath: string;
  readonly text: string;
}
