import { isEmptyReason } from "../contracts/document.ts";
import { type Domain, isSameSource, type SourceConfig } from "../contracts/domain.ts";
import { BadInputError, DamagedError, explain, RemoteError } from "../contracts/errors.ts";
import type { DomainId, ItemId } from "../contracts/ids.ts";
import type { Ledger, LedgerEntry } from "../contracts/ledger.ts";
import type { LineageEvent, Manifest, ManifestEntry } from "../contracts/manifest.ts";
import type { IngestItem, RegisteredItem } from "../contracts/registry.ts";
import type { AttributeFilter, DocumentVersion, Index, SearchHit } from "../contracts/search-index.ts";
import { isErrno } from "../lib/atomic-file.ts";
import { fileTypeOf } from "../lib/file-type.ts";
import { nearestNames } from "../lib/nearest-names.ts";
import { asSentence, plural } from "../lib/text.ts";
import { TimeSlice } from "../lib/time-slice.ts";
import { sourceFolder } from "../mirror/layout.ts";
import { Mirror } from "../mirror/mirror.ts";
import { USUAL_RULES } from "../plan/web/item-identity.ts";
import type { EngineParts } from "./engine-parts.ts";
import { describeMissingStore } from "./index-target.ts";
import { findIdentity } from "./ingest/item-records.ts";
import { type QuerySource, query } from "./query.ts";
import { findRetired } from "./retired-sources.ts";

export interface ExplainRequest {
  readonly domainId: DomainId;
  readonly query: string;
  /** The document in question: a file id, an item id, a name, a path, or a URL. */
  readonly document: string;
  /** As of the search that is explained; 10 if left out. */
  readonly limit?: number;
  readonly signal?: AbortSignal | undefined;
}

/** Why a document is, or is not, among the results of a query. */
export interface DocumentExplanation {
  readonly domainId: DomainId;
  readonly query: string;
  /**
   * Every document that matches, since several share a name; at most ten. Never empty: an unknown one is explained,
   * too.
   */
  readonly documents: readonly ExplainedDocument[];
  /** How many more match. */
  readonly more?: number;
}

export interface ExplainedDocument {
  /** "" if no source has it. */
  readonly sourceId: string;
  readonly itemId: string;
  readonly name: string;
  readonly path: string;
  readonly url: string;
  /** Where the search with this limit has it, and with which score; null: not among its results. */
  readonly place: number | null;
  readonly score: number | null;
  /** The stages that the document passed, up to where it ended. */
  readonly stages: readonly Stage[];
  /** One sentence: found at position 3, or why not. */
  readonly verdict: string;
}

export interface Stage {
  readonly name: "source" | "mirror" | "index" | "search";
  readonly outcome: "ok" | "problem" | "not reached";
  readonly detail: string;
}

type ExplainParts = TreeParts &
  Pick<
    EngineParts,
    | "domains"
    | "defaultVectorStoreId"
    | "erasures"
    | "backend"
    | "crawlerFolder"
    | "ledgers"
    | "acceptedTypes"
    | "maxFileBytes"
    | "retention"
    | "itemRepository"
    | "openSource"
  >;

/** The context of an explanation. */
interface ExplainContext {
  readonly domain: Domain;
  readonly sources: readonly OpenSource[];
  readonly opened: OpenIndex;
  readonly query: string;
  readonly limit: number;
  readonly signal: AbortSignal | undefined;
  readonly parts: ExplainParts;
}

/** Follows a document from its source into the search results, by map files and index. Changes nothing. */
export async function explainDocument(request: ExplainRequest, parts: ExplainParts): Promise<DocumentExplanation> {
  const { domainId, query, signal, limit = SHOWN } = request;
  const called = request.document.trim();
  const domain = await parts.domains.get(domainId);
  const sources = await openSources(domain, parts);
  const context: ExplainContext = {
    domain,
    sources,
    opened: await openForReaders(domain, parts),
    query,
    limit,
    signal,
    parts,
  };
  const record = await findRecord(called, domainId, parts);
  const { found, more } = await findEntries(record ? record.aliasOf || record.id : called, sources);
  if (found.length > 0 || record) {
    const isItself = found.length > 0 && record?.aliasOf === "";
    const documents: ExplainedDocument[] = record && !isItself ? [await explainRecord(record, parts)] : [];
    for (const entry of found) documents.push(await explainEntry(entry, context));
    return more > 0 ? { domainId, query, documents, more } : { domainId, query, documents };
  }
  const absent = await findAbsent(called, sources, parts);
  const known = absent.length > 0 ? absent.map(explainAbsent) : await explainEarlier(called, context);
  return { domainId, query, documents: known.length > 0 ? known : [await explainUnknown(called, context)] };
}

async function explainEntry(found: FoundEntry, context: ExplainContext, calledNow = ""): Promise<ExplainedDocument> {
  const { domain, opened, parts } = context;
  const { entry, source } = found;
  const isRetired = !domain.sources.some((one) => isSameSource(one, source.config));
  const listed = sourceStage(found, isRetired);
  const isRegistered = source.config.kind.abilities.registersAddresses && !isRetired;
  const atSource = isRegistered ? await withRecord(listed, entry.itemId, parts) : await withLineage(listed, found);
  const inMirror = mirrorStage(found, parts);
  const inIndex = await indexStage(found, domain, opened);
  const { sourceId } = source.config;
  const subject = { sourceId, itemId: entry.itemId, fileId: inIndex.fileId };
  const isIndexed = inIndex.stage.outcome === "ok" && opened.index !== undefined;
  const { stage: inSearch, place, score } = isIndexed ? await askSearch(opened.index, subject, context) : NOT_SEARCHED;
  const isMissing = inMirror.outcome === "problem" && inIndex.stage.outcome === "problem";
  const stages = [
    { ...atSource, detail: calledNow + atSource.detail },
    inMirror,
    isMissing ? notReached("index") : inIndex.stage,
    inSearch,
  ];
  const facet = entry.seen ?? entry.mirrored ?? entry.indexed;
  const file = entry.mirrored?.file || entry.indexed?.file;
  return {
    sourceId,
    itemId: entry.itemId,
    name: facet?.name ?? "",
    path: file ? source.mirror.relativePath(file) : (facet?.name ?? ""),
    url: entry.seen?.url ?? "",
    place,
    score,
    stages,
    verdict: verdictOf(stages),
  };
}

interface SearchedStage {
  readonly stage: Stage;
  readonly place: number | null;
  readonly score: number | null;
}

async function askSearch(
  opened: Pick<Index, "search" | "generations">,
  subject: Subject,
  context: ExplainContext,
): Promise<SearchedStage> {
  const { query: text, limit, signal, domain, parts } = context;
  if (!text.trim()) {
    const detail = "There is no query to find it by.";
    return { ...NOT_SEARCHED, stage: { name: "search", outcome: "not reached", detail } };
  }
  const { generations } = opened;
  const index: Searched = {
    search: (wanted) => opened.search({ ...wanted, signal }),
    // As readers ask it: with the same folding of what is the same.
    ask: async (most) => {
      const request = { text, limit: most, domainId: domain.domainId, vectorStoreId: undefined, signal };
      return (await query(request, parts)).sources;
    },
    ...(generations && { generations }),
  };
  try {
    return await searchStage(index, { query: text, limit }, subject);
  } catch (error) {
    return { ...NOT_SEARCHED, stage: problem("search", `The search failed: ${explain(error)}`) };
  }
}

/** Explains a name that no item has now, but one had in an earlier generation: renamed since, or gone. */
async function explainEarlier(called: string, context: ExplainContext): Promise<ExplainedDocument[]> {
  const versions = (await context.opened.index?.generations?.versions({ called })) ?? [];
  const newestOfEach = new Map<ItemId, DocumentVersion>();
  for (const version of versions) {
    if (!newestOfEach.has(version.itemId)) newestOfEach.set(version.itemId, version);
  }
  const explained: ExplainedDocument[] = [];
  for (const version of newestOfEach.values()) {
    const now = await findItem(version, context.sources);
    const name = (now?.entry.seen ?? now?.entry.mirrored)?.name;
    const renamed = `It is called '${name}' now. `;
    explained.push(now ? await explainEntry(now, context, renamed) : explainGone(version));
  }
  return explained;
}

async function findItem(
  { sourceId, itemId }: DocumentVersion,
  sources: readonly OpenSource[],
): Promise<FoundEntry | undefined> {
  for (const source of sources) {
    if (source.config.sourceId !== sourceId) continue;
    const entry = await source.ledger.get(itemId);
    if (entry) return { source, entry };
  }
  return undefined;
}

function explainGone({ sourceId, itemId, name, path, url, since, until, visible }: DocumentVersion): ExplainedDocument {
  const ended = visible
    ? "a rollback still shows it to readers"
    : `generation ${until ?? since} took it out of the index`;
  const detail = `A crawl did not find it at the source any more, because it was deleted there or is left out since: ${ended}.`;
  const stages: Stage[] = [problem("source", detail), notReached("mirror"), notReached("index"), notReached("search")];
  return { sourceId, itemId, name, path, url, ...NO_PLACE, stages, verdict: verdictOf(stages) };
}

/** Explains an address that is in the registry and in no source of the domain. */
async function explainRecord(item: IngestItem, parts: ExplainParts): Promise<ExplainedDocument> {
  const { id: itemId, displaySource: name, normalizedSource: url } = item;
  const detail = await sayRecord(item, parts);
  const stages: Stage[] = [problem("source", detail), notReached("mirror"), notReached("index"), notReached("search")];
  return { sourceId: "", itemId, name, path: "", url, ...NO_PLACE, stages, verdict: detail };
}

/** Explains a file of a tree that is missing or unreadable. */
function explainAbsent({ config, entry, detail }: AbsentFile): ExplainedDocument {
  const { docId: itemId, path } = entry;
  const stages: Stage[] = [problem("source", detail), notReached("mirror"), notReached("index"), notReached("search")];
  const name = path.slice(path.lastIndexOf("/") + 1);
  return { sourceId: config.sourceId, itemId, name, path, url: "", ...NO_PLACE, stages, verdict: verdictOf(stages) };
}

async function explainUnknown(called: string, context: ExplainContext): Promise<ExplainedDocument> {
  const { domain, sources, parts } = context;
  const { names, items } = await closeNames(called, sources);
  const where = sources.map(({ config }) => `'${config.sourceId}'`).join(", ");
  const looked = where
    ? `Nothing of that name, path, address or id is among the ${plural(items, "item")} that the sources ${where} listed.`
    : `Domain '${domain.domainId}' has no sources.`;
  const leftOut = sayLeftOut(called, sources, parts) ?? (await askSources(called, context));
  const near = names.length > 0 ? ` Close to it: ${names.map((name) => `'${name}'`).join(", ")}.` : "";
  const needsSignIn = sources.some(({ config }) => config.kind.abilities.needsSignIn);
  const allowed = needsSignIn ? ", is the app allowed to see it," : "";
  const trees = sources.map(({ config }) => config).filter(({ kind }) => !kind.abilities.hasIds);
  const reachesIt = trees.some((config) => config.kind.locate?.(config, called) !== undefined);
  const silently = reachesIt
    ? " What is too large, ignored by git or a link that leads away is left out, too; the log of a crawl says so."
    : trees.length > 0
      ? " It lies in none of this domain's folders and containers."
      : "";
  const way = `${silently} Is it in one of these sources${allowed} and was there a crawl since it is there?`;
  const stages: Stage[] = [
    problem("source", leftOut === undefined ? looked + near + way : `${leftOut} ${looked}${near}`),
    notReached("mirror"),
    notReached("index"),
    notReached("search"),
  ];
  return { sourceId: "", itemId: "", name: called, path: "", url: "", ...NO_PLACE, stages, verdict: verdictOf(stages) };
}

/** For a document that is not in the index. */
const NO_PLACE = { place: null, score: null } as const;

function notReached(name: Stage["name"]): Stage {
  return { name, outcome: "not reached", detail: "It did not get this far." };
}

/** A document that is found counts as found, whatever else is wrong. */
function verdictOf(stages: readonly Stage[]): string {
  const search = stages.find(({ name }) => name === "search");
  const broken = stages.find(({ outcome }) => outcome === "problem");
  if (search?.outcome === "ok") return search.detail;
  return broken ? firstSentence(broken.detail) : "It is in the index.";
}

function firstSentence(text: string): string {
  return /^.+?\.(?=\s[A-Z])/.exec(text)?.[0] ?? text;
}

type Parts = Pick<EngineParts, "itemRepository">;

/** Returns the registry record of a web address in any spelling, a file, or an item id. */
async function findRecord(called: string, domainId: DomainId, parts: Parts): Promise<IngestItem | undefined> {
  if (/^(url|file)_[a-z2-7]{26}$/.test(called)) return await readRecord(called as ItemId, parts);
  const isPath = /^(file:|\/|[A-Za-z]:[\\/]|\\\\)/i.test(called);
  if (!isPath && !(/^https?:\/\//i.test(called) && URL.canParse(called))) return undefined;
  const registry = { get: async (id: ItemId) => await readRegistered(id, parts) };
  const { members } = parts.itemRepository();
  try {
    const { id } = await findIdentity(called, { registry, members, rules: USUAL_RULES, domainId });
    return (await registry.get(id))?.item;
  } catch (error) {
    // It only looks like an address: then it is the name of a document, or nothing.
    if (error instanceof BadInputError) return undefined;
    throw error;
  }
}

async function readRecord(id: ItemId, parts: Parts): Promise<IngestItem | undefined> {
  return (await readRegistered(id, parts))?.item;
}

/** Returns undefined if the registry is damaged: the other stages are still explained. */
async function readRegistered(id: ItemId, { itemRepository }: Parts): Promise<RegisteredItem | undefined> {
  try {
    return await itemRepository().registry.get(id);
  } catch (error) {
    if (error instanceof DamagedError) return undefined;
    throw error;
  }
}

/** Adds what the registry learned since the last crawl. */
async function withRecord(stage: Stage, id: ItemId, parts: Parts): Promise<Stage> {
  const item = await readRecord(id, parts);
  if (!item || item.status === "Indexed" || item.status === "Crawled") return stage;
  const detail = await sayRecord(item, parts);
  return stage.outcome === "ok" ? { ...stage, detail: `${stage.detail} ${detail}` } : problem("source", detail);
}

async function sayRecord(item: IngestItem, parts: Parts): Promise<string> {
  const { lastChecked, errorMessage, nextCrawlAt } = item.scheduling;
  const found = `as the look at it ${shown(lastChecked)} found`;
  const why = errorMessage === "" ? "The registry does not say why." : asSentence(errorMessage);
  if (item.aliasOf !== "") {
    const target = await readRecord(item.aliasOf, parts);
    return `It is another address of '${target?.displaySource ?? item.aliasOf}', and is found under that one.`;
  }
  switch (item.status) {
    case "Pending":
      return "It is registered and waits to be looked at for the first time.";
    case "Crawled":
      return `It was fetched ${shown(lastChecked)} and waits to be indexed. Crawl the domain.`;
    case "Indexed":
      return "The registry knows it, but it is not in this domain: another one has it.";
    case "Gone":
      return `It does not exist any more, ${found}. ${why}`;
    case "OutOfScope":
      return `It must not be indexed, ${found}. ${why}`;
    case "Error": {
      const again = nextCrawlAt && item.watched ? ` It is asked again ${shown(nextCrawlAt)}.` : "";
      return lastChecked ? `The look at it ${shown(lastChecked)} failed. ${why}${again}` : why + again;
    }
  }
}

const NOT_SEARCHED: SearchedStage = { stage: notReached("search"), ...NO_PLACE };

/** What the search pages show at first, and the maximum of a search. */
const SHOWN = 10;
const DEEPEST = 50;
const MAX_WORDS = 8;

/** A document, by the attributes that crawled documents have in any backend. */
interface Subject {
  readonly sourceId: string;
  readonly itemId: string;
  /** Its id in the index, or "". */
  readonly fileId: string;
}

interface Searched extends Pick<Index, "search" | "generations"> {
  /** As readers search. */
  readonly ask: (limit: number) => Promise<readonly QuerySource[]>;
}

interface Explained {
  readonly query: string;
  readonly limit: number;
}

/** Says whether the query finds the document, at which position, and if not, why. */
async function searchStage(index: Searched, { query, limit }: Explained, subject: Subject): Promise<SearchedStage> {
  const shown = await index.ask(limit);
  const place = shown.findIndex((hit) => isOf(hit, subject));
  const hit = shown[place];
  if (hit) {
    return { stage: fine("search", `Found at place ${place + 1}${scoreOf(hit)}.`), place: place + 1, score: hit.score };
  }
  const twin = twinAmong(shown, subject);
  if (shown[twin]) {
    const detail = `Found at place ${twin + 1}, where '${shown[twin].name}' stands for the same passage.`;
    return { stage: fine("search", detail), place: twin + 1, score: shown[twin].score };
  }
  const words = await wordsIn(index, query, subject);
  const beyond = await whyBeyond(index, { query, limit }, subject, shown);
  return { stage: problem("search", [beyond, words].filter(Boolean).join(" ")), ...NO_PLACE };
}

/** A passage that several documents share is one hit, under the name of one of them. */
function twinAmong(hits: readonly QuerySource[], { fileId }: Subject): number {
  return hits.findIndex(({ details }) => details?.alsoIn.some((other) => other.fileId === fileId));
}

/**
 * Scores are relative to the best of one search, so the document and the last result shown are compared within one
 * search.
 */
async function whyBeyond(
  index: Searched,
  { query, limit }: Explained,
  subject: Subject,
  shown: readonly QuerySource[],
): Promise<string> {
  const hits = limit < DEEPEST ? await index.ask(DEEPEST) : shown;
  const place = hits.findIndex((hit) => isOf(hit, subject));
  const last = shown.at(-1);
  if (hits[place]) {
    const gap = `it scores ${mark(hits[place].score)}, the last of the ${limit} shown ${mark(last?.score ?? 0)}`;
    return `Found only at place ${place + 1}: ${gap}. Ask for more results, or more precisely.`;
  }
  const twin = twinAmong(hits, subject);
  if (hits[twin]) {
    return `Its passage is nearly that of '${hits[twin].name}', which stands for both at place ${twin + 1}.`;
  }
  const rival = last && subjectOf(last);
  const filter: AttributeFilter = rival
    ? { type: "or", filters: [onlyThis(subject), onlyThis(rival)] }
    : onlyThis(subject);
  // Unfolded: it may say nearly the same as the other.
  const both = await index.search({ text: query, limit: DEEPEST, filter, unfolded: true });
  const own = both.find((hit) => isOf(hit, subject));
  if (!own) return "Nothing in it answers this query.";
  const other = both.find((hit) => !isOf(hit, subject));
  const where = own.sectionPath ? ` ('${own.sectionPath}')` : "";
  const against = other
    ? `its best passage${where} scores ${mark(own.score)} where the last result shown scores ${mark(other.score)}`
    : `its best passage${where} scores ${mark(own.score)}`;
  return `Not among the first ${Math.max(hits.length, limit)} results: ${against}.`;
}

/** The embedded index knows every form of a word; for other backends only the returned passages can be searched. */
async function wordsIn(index: Searched, query: string, subject: Subject): Promise<string> {
  const words = wordsOf(query);
  if (words.length === 0) return "";
  const filter = onlyThis(subject);
  const passages = index.generations ? [] : await index.search({ text: query, limit: DEEPEST, filter });
  const present: string[] = [];
  for (const word of words) {
    const isThere = index.generations
      ? hasWord(await index.search({ text: word, limit: 1, using: "text", filter }))
      : passages.some(({ text, name }) => `${name} ${text}`.toLowerCase().includes(word.toLowerCase()));
    if (isThere) present.push(word);
  }
  const missing = words.filter((word) => !present.includes(word));
  const list = (some: readonly string[]): string => some.map((word) => `'${word}'`).join(", ");
  if (missing.length === 0) return "Every word of the query is in it.";
  return present.length === 0
    ? `None of the words ${list(missing)} is in it.`
    : `In it: ${list(present)}; not in it: ${list(missing)}.`;
}

function hasWord([hit]: readonly SearchHit[]): boolean {
  return hit?.details !== undefined && (hit.details.highlights.length > 0 || hit.details.parts.label > 0);
}

/** Leaves out short words, which mostly connect others. */
function wordsOf(query: string): string[] {
  const all = [...new Set(query.match(/[\p{L}\p{N}][\p{L}\p{N}_-]*/gu) ?? [])];
  const long = all.filter((word) => word.length > 3);
  return (long.length > 0 ? long : all).slice(0, MAX_WORDS);
}

function scoreOf({ score, details }: Pick<QuerySource, "score" | "details">): string {
  if (!details) return ` with a score of ${mark(score)}`;
  const { text, vector, label } = details.parts;
  return ` with a score of ${mark(score)} (words ${mark(text)}, meaning ${mark(vector)}, name and path ${mark(label)})`;
}

function mark(score: number): string {
  return score.toFixed(2);
}

function onlyThis({ sourceId, itemId }: Subject): AttributeFilter {
  return {
    type: "and",
    filters: [
      { type: "eq", key: "source_id", value: sourceId },
      { type: "eq", key: "item_id", value: itemId.slice(0, 512) },
    ],
  };
}

function subjectOf({ attributes }: Pick<SearchHit, "attributes">): Subject | undefined {
  const { source_id: sourceId, item_id: itemId } = attributes;
  return typeof sourceId === "string" && typeof itemId === "string" ? { sourceId, itemId, fileId: "" } : undefined;
}

function isOf(hit: Pick<SearchHit, "attributes">, { sourceId, itemId }: Subject): boolean {
  const subject = subjectOf(hit);
  return subject?.sourceId === sourceId && subject.itemId === itemId.slice(0, 512);
}

type TreeParts = Pick<EngineParts, "retention">;

/** A file that is in the manifest and in no map file. */
interface AbsentFile {
  readonly config: SourceConfig;
  readonly entry: ManifestEntry;
  readonly detail: string;
}

const MAX_FOUND = 10;

/** Adds the last event of the file's history. */
async function withLineage(stage: Stage, { source, entry: { itemId } }: FoundEntry): Promise<Stage> {
  if (source.config.kind.abilities.hasIds) return stage;
  const entry = (await source.ledger.manifest.find([itemId])).get(itemId);
  if (!entry) return stage;
  const said = entry.status === "error" ? sayUnreadable(entry) : sayEvent(entry.lineage.at(-1));
  return said === "" ? stage : { ...stage, detail: `${stage.detail} ${said}` };
}

/** Finds files of that name that are not listed: missing, purged, or never read. */
async function findAbsent(called: string, sources: readonly OpenSource[], parts: TreeParts): Promise<AbsentFile[]> {
  const found: AbsentFile[] = [];
  for (const { config, ledger } of sources) {
    if (config.kind.abilities.hasIds) continue;
    const entries = await findCalled(called, config, ledger.manifest);
    for (const entry of entries) found.push({ config, entry, detail: sayAbsent(entry, parts) });
  }
  return found.slice(0, MAX_FOUND);
}

/** Says which rules of folders and containers leave out such a file, whether it exists or not; undefined: none that is known. */
function sayLeftOut(
  called: string,
  sources: readonly OpenSource[],
  { acceptedTypes }: Pick<EngineParts, "acceptedTypes">,
): string | undefined {
  const trees = sources.map(({ config }) => config).filter(({ kind }) => !kind.abilities.hasIds);
  if (trees.length === 0) return undefined;
  const type = fileTypeOf(called.split("/").at(-1) ?? "");
  if (type && !acceptedTypes.has(type)) return `Files of type '${type}' are not taken in.`;
  const reached = trees.flatMap((config) => {
    const found = config.kind.locate?.(config, called);
    return found ? [{ config, ...found }] : [];
  });
  const leaving = reached.filter(({ isTaken }) => !isTaken);
  if (leaving.length === 0) return undefined;
  const names = leaving.map(({ config }) => `'${config.sourceId}'`).join(" and ");
  return `The rules of ${names} (include, exclude, hidden) leave out a file of that name.`;
}

/** Asks the sources that reach such a file whether they leave it out for something else: its size, a link. One that cannot be asked says nothing. */
async function askSources(
  called: string,
  { domain: { domainId }, sources, parts, signal = new AbortController().signal }: ExplainContext,
): Promise<string | undefined> {
  for (const { config, ledger } of sources) {
    const path = config.kind.locate?.(config, called)?.path;
    if (path === undefined) continue;
    try {
      const usage = { log: () => undefined, ledger: async () => ledger, dryRun: true, force: false, checksum: false };
      const source = parts.openSource({ domainId, config }, usage);
      const reason = await source.sayLeftOut?.(path, signal);
      await source.close?.();
      if (reason) return `'${config.sourceId}' leaves it out: ${reason}`;
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof BadInputError || error instanceof RemoteError || isErrno(error))) throw error;
    }
  }
  return undefined;
}

async function findCalled(called: string, config: SourceConfig, manifest: Manifest): Promise<ManifestEntry[]> {
  const wanted = config.kind.locate?.(config, called)?.path.toLowerCase();
  const found: ManifestEntry[] = [];
  for await (const page of manifest.withStatus("error", "missing", "deleted")) {
    for (const entry of page) {
      const path = entry.path.toLowerCase();
      const isIt = wanted !== undefined && (path === wanted || path.endsWith(`/${wanted}`));
      if (isIt || entry.docId === called) found.push(entry);
    }
    if (found.length >= MAX_FOUND) break;
  }
  return found;
}

function sayAbsent(entry: ManifestEntry, { retention }: TreeParts): string {
  const { path, status, missingSinceAt, missingRuns, deletedAt } = entry;
  if (status === "error") return sayUnreadable(entry);
  if (status === "deleted") {
    return `It was at '${path}', was missing for longer than the grace period, and was purged ${shown(deletedAt)}. If its file is restored, the next crawl brings it back.`;
  }
  const hours = plural(Math.round(retention.graceMs / 3600_000), "hour");
  const grace = `It is purged once it was missing for ${hours} and in ${plural(retention.graceRuns, "complete crawl")}`;
  return `It is missing since ${shown(missingSinceAt)}: it was at '${path}', and was deleted there, moved away, or is left out by a rule. ${grace} (${missingRuns} so far); until then its text and vectors are kept, and it is found again as soon as it comes back.`;
}

function sayUnreadable({ path, error, retryCount }: ManifestEntry): string {
  const times = retryCount > 1 ? ` ${retryCount} times in a row` : "";
  return `The file at '${path}' could not be read${times}: ${error.replace(/\.$/, "")}. Every crawl tries it again; what was read of it before stays.`;
}

function sayEvent(event: LineageEvent | undefined): string {
  if (!event) return "";
  const { from, at, certainty } = event;
  const sure = certainty < 1 ? ` (its text is ${Math.round(certainty * 100)} % the same)` : "";
  switch (event.event) {
    case "moved":
    case "moved-and-edited":
      return `It came from '${from}' ${shown(at)}${sure}, as the same document.`;
    case "restored":
      return `It came back ${shown(at)}, as the same document.`;
    case "copied":
      return `It began as a copy of '${from}' ${shown(at)}.`;
    default:
      return "";
  }
}

type Wanted = Pick<EngineParts, "acceptedTypes" | "maxFileBytes">;

/** Whether the last listing had it. */
function sourceStage({ entry, source }: FoundEntry, isRetired: boolean): Stage {
  const { seen, mirrored } = entry;
  if (isRetired) {
    return problem("source", "Its source was taken out of the domain. The next crawl removes what is left of it.");
  }
  if (seen)
    return fine("source", `The last crawl saw it at '${seen.serverPath}', last modified ${shown(seen.modifiedAt)}.`);
  const { kind } = source.config;
  const isFiltered = kind.describeRules(source.config).patterns.length > 0;
  const filter = isFiltered ? " or the filter of the source leaves it out" : "";
  const place = mirrored ? `'${mirrored.serverPath}'` : "its place";
  return problem(
    "source",
    `The last crawl did not find it at ${place} any more: it was deleted there${filter}. Its removal is held; to let it go, crawl with confirm_deletes=true.`,
  );
}

/** Whether the mirror has a document that can be embedded. */
function mirrorStage({ entry, source }: FoundEntry, wanted: Wanted): Stage {
  const { seen, mirrored, indexed } = entry;
  if (!mirrored) return whyNotWanted(entry, source.config, wanted);
  const { file, sourceError, processingError, downloadedAt } = mirrored;
  if (file === "") {
    return problem("mirror", `It could not be downloaded${because(sourceError)}. Every crawl tries it again.`);
  }
  if (source.mirror.isFailed(file)) {
    const reason = processingError || indexed?.embeddingError || "";
    if (isEmptyReason(reason)) {
      return problem("mirror", `The file was downloaded, and there is nothing in it to index${because(reason)}.`);
    }
    const why = because(reason);
    const way = "It waits in 03_failed until it changes at the source; retry_failed=true tries the same file again.";
    return problem("mirror", `The file was downloaded, but cannot be read${why}. ${way}`);
  }
  if (processingError) return problem("mirror", `It could not be turned into a document${because(processingError)}.`);
  if (source.mirror.isOriginal(file)) {
    return problem("mirror", "It was downloaded and waits to be processed. Crawl again, with the process step.");
  }
  const isBehind = seen !== null && seen.modifiedAt !== mirrored.fingerprint.modifiedAt;
  const behind = isBehind ? ` The source has another version since, of ${shown(seen.modifiedAt)}.` : "";
  const kept = sourceError ? ` The last try to bring it up to date failed${because(sourceError)}.` : "";
  const path = source.mirror.relativePath(file);
  return fine("mirror", `Downloaded ${shown(downloadedAt)} to '${path}'.${behind}${kept}`);
}

function whyNotWanted(
  { seen, indexed }: FoundEntry["entry"],
  config: FoundEntry["source"]["config"],
  { acceptedTypes, maxFileBytes }: Wanted,
): Stage {
  const type = fileTypeOf(seen?.name ?? indexed?.name ?? "");
  const isTyped = config.kind.openConverter === undefined;
  if (isTyped && !acceptedTypes.has(type)) {
    const what = type ? `Files of type '${type}' are` : "Files without a type are";
    return problem("mirror", `${what} not taken in, so it was not downloaded. ACCEPTED_FILE_TYPES says which are.`);
  }
  if (isTyped && seen && seen.size > maxFileBytes) {
    const megabytes = (bytes: number): string => `${Math.round(bytes / 1024 / 1024)} MB`;
    return problem(
      "mirror",
      `It has ${megabytes(seen.size)}, more than the ${megabytes(maxFileBytes)} that are taken in.`,
    );
  }
  const mayBeDraft = seen !== null && config.kind.leavesOutDrafts?.(config) === true;
  const draft = mayBeDraft
    ? " If it was crawled since it is there, no version of it is published: publish it, or set 'drafts' of the source to true."
    : "";
  return problem("mirror", `It was not downloaded yet. Crawl the domain.${draft}`);
}

interface InIndex {
  readonly stage: Stage;
  /** File id of the visible version; "" if none is visible. */
  readonly fileId: string;
}

/** Whether the index has it, and searches see it. */
async function indexStage({ entry, source }: FoundEntry, domain: Domain, open: OpenIndex): Promise<InIndex> {
  const { index, problemText } = open;
  if (!index) return unseen(problem("index", problemText));
  const { sourceId } = source.config;
  const { itemId, indexed } = entry;
  const failure = indexed?.embeddingError ?? "";
  if (!index.generations) {
    const isThere = indexed?.fileId && indexed.vectorStoreId === domain.vectorStoreId;
    if (!isThere) return unseen(notIndexed(failure));
    const what = `By our records it is in the vector store since ${shown(indexed.embeddedAt)}, as file '${indexed.fileId}'`;
    return { stage: fine("index", `${what}; this backend does not tell more.`), fileId: indexed.fileId };
  }
  const versions = await index.generations.versions({ sourceId, itemId });
  const seen = versions.find(({ visible }) => visible);
  if (seen) {
    const since = `In the index since generation ${seen.since}, as file '${seen.fileId}'.`;
    return { stage: fine("index", since + later(seen, versions)), fileId: seen.fileId };
  }
  const [newest] = versions;
  const { shown: shownNow, pinned } = await index.generations.state();
  if (newest && pinned && newest.since > shownNow) {
    const way = `Release the rollback (lockstep generations ${domain.domainId} --release) to have it found.`;
    const state = `but the domain is rolled back to generation ${shownNow}`;
    return unseen(problem("index", `It came with generation ${newest.since}, ${state}. ${way}`));
  }
  return unseen(notIndexed(failure));
}

interface OpenIndex {
  readonly index: Index | undefined;
  /** Why it cannot be opened. */
  readonly problemText: string;
}

async function openForReaders(domain: Domain, { backend }: Pick<EngineParts, "backend">): Promise<OpenIndex> {
  const store = domain.vectorStoreId;
  if (!store) return { index: undefined, problemText: "The domain has no vector store yet. Crawl it first." };
  try {
    const index = await backend.openIndex(store, domain.domainId);
    return { index, problemText: index ? "" : describeMissingStore(domain, store, undefined) };
  } catch (error) {
    return { index: undefined, problemText: `The vector store does not answer: ${explain(error)}` };
  }
}

function unseen(stage: Stage): InIndex {
  return { stage, fileId: "" };
}

function notIndexed(failure: string): Stage {
  if (failure) return problem("index", `It could not be embedded${because(failure)}. Every crawl tries it again.`);
  return problem("index", "It is not in the index yet. Crawl the domain, with the embed step.");
}

function later(seen: DocumentVersion, [newest]: readonly DocumentVersion[]): string {
  return newest && newest.since > seen.since
    ? ` Generation ${newest.since} has a newer version, which a rollback hides.`
    : "";
}

function because(reason: string): string {
  return reason ? `: ${reason.replace(/\.$/, "")}` : "";
}

/** `2026-01-15 14:25` */
export function shown(at: string): string {
  return at ? `${at.slice(0, 16).replace("T", " ")} UTC` : "at an unknown time";
}

export function fine(name: Stage["name"], detail: string): Stage {
  return { name, outcome: "ok", detail };
}

export function problem(name: Stage["name"], detail: string): Stage {
  return { name, outcome: "problem", detail };
}

/** A source with its ledger open for reading. */
interface OpenSource {
  readonly config: SourceConfig;
  readonly mirror: Mirror;
  readonly ledger: Ledger;
}

interface FoundEntry {
  readonly source: OpenSource;
  readonly entry: LedgerEntry;
}

/** Opens all sources of a domain, including removed ones that still have a folder. */
async function openSources(
  domain: Domain,
  parts: Pick<EngineParts, "domains" | "crawlerFolder" | "ledgers">,
): Promise<OpenSource[]> {
  const opened: OpenSource[] = [];
  for (const config of [...domain.sources, ...(await findRetired(domain, parts))]) {
    const root = sourceFolder(domain.domainId, config);
    const ledger = await parts.ledgers.open({ domainId: domain.domainId, config }, { readOnly: true });
    opened.push({ config, mirror: new Mirror(parts.crawlerFolder, root), ledger });
  }
  return opened;
}

/**
 * Finds documents by id, path, URL, name, or part of a name. Only the best rank counts, so a complete name does not
 * match names that contain it. `more`: how many beyond the first ten.
 */
async function findEntries(
  called: string,
  sources: readonly OpenSource[],
): Promise<{ readonly found: readonly FoundEntry[]; readonly more: number }> {
  const matcher = new DocumentMatcher(called);
  let best = Number.POSITIVE_INFINITY;
  let found: FoundEntry[] = [];
  let count = 0;
  for await (const entry of allEntries(sources)) {
    const rank = matcher.rank(entry);
    if (rank > best || rank === Number.POSITIVE_INFINITY) continue;
    if (rank < best) [best, found, count] = [rank, [], 0];
    count += 1;
    if (found.length < MAX_FOUND) found.push(entry);
  }
  return { found, more: count - found.length };
}

/** Returns similar names, and the number of items compared. */
async function closeNames(
  called: string,
  sources: readonly OpenSource[],
): Promise<{ readonly names: readonly string[]; readonly items: number }> {
  let names: string[] = [];
  let items = 0;
  let page = new Set<string>();
  const wanted = called.split("/").at(-1) ?? called;
  for await (const { entry } of allEntries(sources)) {
    items += 1;
    page.add((entry.seen ?? entry.mirrored ?? entry.indexed)?.name ?? "");
    if (page.size < 500) continue;
    names = nearestNames(wanted, [...names, ...page]);
    page = new Set();
  }
  return { names: nearestNames(wanted, [...new Set([...names, ...page])]), items };
}

async function* allEntries(sources: readonly OpenSource[]): AsyncGenerator<FoundEntry> {
  const timeSlice = new TimeSlice();
  for (const source of sources) {
    for await (const entries of source.ledger.entries()) {
      for (const entry of entries) {
        yield { source, entry };
        if (timeSlice.isOver()) await timeSlice.next();
      }
    }
  }
}

class DocumentMatcher {
  readonly #exact: string;
  readonly #folded: string;
  readonly #address: string;

  constructor(called: string) {
    this.#exact = called.trim();
    this.#folded = this.#exact.toLowerCase();
    this.#address = plainAddress(this.#exact);
  }

  /** Lower is better; infinity: no match. */
  rank({ source, entry }: FoundEntry): number {
    const { itemId, seen, mirrored, indexed } = entry;
    if (this.#exact === "") return Number.POSITIVE_INFINITY;
    if (itemId === this.#exact || indexed?.fileId === this.#exact) return 0;
    const file = mirrored?.file || indexed?.file;
    const paths = [seen?.serverPath, mirrored?.serverPath, file && source.mirror.relativePath(file)];
    if (paths.some((path) => path && fold(path) === this.#folded)) return 1;
    if (seen && this.#address === plainAddress(seen.rawUrl)) return 2;
    const names = [seen?.name, mirrored?.name, indexed?.name].map((name) => fold(name ?? ""));
    if (names.includes(this.#folded)) return 3;
    return names.some((name) => name.includes(this.#folded)) ? 4 : Number.POSITIVE_INFINITY;
  }
}

function fold(text: string): string {
  return text.toLowerCase();
}

/** Normalises a URL as copied from a browser, which may be encoded and end in `?web=1`, a fragment or a slash. */
function plainAddress(url: string): string {
  try {
    return fold(
      decodeURI(
        url
          .replace(/#.*$/, "")
          .replace(/[?&]web=1$/, "")
          .replace(/\/$/, ""),
      ),
    );
  } catch {
    return fold(url);
  }
}
