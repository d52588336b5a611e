import { type Domain, isSameSource } from "../../contracts/domain.ts";
import { explain } from "../../contracts/errors.ts";
import type { DomainId, ItemId } from "../../contracts/ids.ts";
import type { IngestItem } from "../../contracts/registry.ts";
import type { DocumentVersion, Index } from "../../contracts/search-index.ts";
import { plural } from "../../lib/text.ts";
import type { EngineParts } from "../engine-parts.ts";
import { query } from "../query.ts";
import { closeNames, type FoundEntry, findEntries, type OpenSource, openSources } from "./find-entries.ts";
import {
  NO_PLACE,
  NOT_SEARCHED,
  type Searched,
  type SearchedStage,
  type Subject,
  searchStage,
} from "./search-stage.ts";
import {
  type AbsentFile,
  askSources,
  findAbsent,
  findRecord,
  sayLeftOut,
  sayRecord,
  sourceStage,
  withLineage,
  withRecord,
} from "./source-stage.ts";
import { endsAtSource, notReached, problem, type Stage } from "./stages.ts";
import { indexStage, mirrorStage, type OpenIndex, openForReaders } from "./stored-stages.ts";

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

type ExplainParts = Pick<
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

/** What the search pages show at first. */
const SHOWN = 10;

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
  const stages = endsAtSource(detail);
  return { sourceId, itemId, name, path, url, ...NO_PLACE, stages, verdict: verdictOf(stages) };
}

/** Explains an address that is in the registry and in no source of the domain. */
async function explainRecord(item: IngestItem, parts: ExplainParts): Promise<ExplainedDocument> {
  const { id: itemId, displaySource: name, normalizedSource: url } = item;
  const detail = await sayRecord(item, parts);
  const stages = endsAtSource(detail);
  return { sourceId: "", itemId, name, path: "", url, ...NO_PLACE, stages, verdict: detail };
}

/** Explains a file of a tree that is missing or unreadable. */
function explainAbsent({ config, entry, detail }: AbsentFile): ExplainedDocument {
  const { docId: itemId, path } = entry;
  const stages = endsAtSource(detail);
  const name = path.slice(path.lastIndexOf("/") + 1);
  return { sourceId: config.sourceId, itemId, name, path, url: "", ...NO_PLACE, stages, verdict: verdictOf(stages) };
}

async function explainUnknown(called: string, context: ExplainContext): Promise<ExplainedDocument> {
  const { domain, sources, signal, parts } = context;
  const { names, items } = await closeNames(called, sources);
  const where = sources.map(({ config }) => `'${config.sourceId}'`).join(", ");
  const looked = where
    ? `Nothing of that name, path, address or id is among the ${plural(items, "item")} that the sources ${where} listed.`
    : `Domain '${domain.domainId}' has no sources.`;
  const leftOut =
    sayLeftOut(called, sources, parts) ??
    (await askSources(called, sources, { domainId: domain.domainId, signal }, parts));
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
  const stages = endsAtSource(leftOut === undefined ? looked + near + way : `${leftOut} ${looked}${near}`);
  return { sourceId: "", itemId: "", name: called, path: "", url: "", ...NO_PLACE, stages, verdict: verdictOf(stages) };
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
