import type { Domain } from "../contracts/domain.ts";
import { explain } from "../contracts/errors.ts";
import type { DomainId, ItemId } from "../contracts/ids.ts";
import type { IngestItem } from "../contracts/registry.ts";
import type { DocumentVersion, Index } from "../contracts/search-index.ts";
import { plural } from "../lib/plural.ts";
import type { EngineParts } from "./engine-parts.ts";
import { findRecord, sayRecord, withRecord } from "./explain-record.ts";
import { type Searched, searchStage } from "./explain-search.ts";
import { indexStage, mirrorStage, type OpenIndex, openForReaders, problem, sourceStage } from "./explain-stages.ts";
import { type AbsentFile, findAbsent, sayLeftOut, type TreeParts, withLineage } from "./explain-tree.ts";
import { closeNames, type FoundEntry, findEntries, type OpenSource, openSources } from "./find-entries.ts";

export interface ExplainRequest {
  readonly domainId: DomainId;
  /** What the person searched for. */
  readonly query: string;
  /** The document they expected or wonder about: a file id, an item id, a name, a path, or an address. */
  readonly document: string;
  readonly signal?: AbortSignal | undefined;
}

/** Why a document is, or is not, among the results of a query. */
export interface DocumentExplanation {
  readonly domainId: DomainId;
  readonly query: string;
  /** Every document that is meant by the words, since several share a name; at most ten. Never empty: one that nobody knows is explained, too. */
  readonly documents: readonly ExplainedDocument[];
  /** How many more are meant. */
  readonly more?: number;
}

export interface ExplainedDocument {
  /** "" when no source knows it. */
  readonly sourceId: string;
  readonly itemId: string;
  readonly name: string;
  readonly path: string;
  readonly url: string;
  /** The way of the document, stage by stage, up to where it ends. */
  readonly stages: readonly Stage[];
  /** One sentence: found at place 3, or why not. */
  readonly verdict: string;
}

export interface Stage {
  readonly name: "source" | "mirror" | "index" | "search";
  readonly outcome: "ok" | "problem" | "not reached";
  readonly detail: string;
}

export type ExplainParts = TreeParts &
  Pick<
    EngineParts,
    "domains" | "backend" | "crawlerFolder" | "ledgers" | "acceptedTypes" | "maxFileBytes" | "keeping" | "shelf"
  >;

/** What an explanation of one domain is made from. */
interface Setting {
  readonly domain: Domain;
  readonly sources: readonly OpenSource[];
  readonly opened: OpenIndex;
  readonly query: string;
  readonly signal: AbortSignal | undefined;
  readonly parts: ExplainParts;
}

/** Follows a document from its source into the answer of a search, by what the map files and the index say. Changes nothing. */
export async function explainDocument(request: ExplainRequest, parts: ExplainParts): Promise<DocumentExplanation> {
  const { domainId, query, signal } = request;
  const called = request.document.trim();
  const domain = await parts.domains.get(domainId);
  const sources = await openSources(domain, parts);
  const setting: Setting = { domain, sources, opened: await openForReaders(domain, parts), query, signal, parts };
  const record = await findRecord(called, domainId, parts);
  const { found, more } = await findEntries(record ? record.aliasOf || record.id : called, sources);
  if (found.length > 0 || record) {
    const isItself = found.length > 0 && record?.aliasOf === "";
    const documents: ExplainedDocument[] = record && !isItself ? [await explainRecord(record, parts)] : [];
    for (const one of found) documents.push(await explainEntry(one, setting));
    return more > 0 ? { domainId, query, documents, more } : { domainId, query, documents };
  }
  const absent = await findAbsent(called, sources, parts);
  const known = absent.length > 0 ? absent.map(explainAbsent) : await explainEarlier(called, setting);
  return { domainId, query, documents: known.length > 0 ? known : [await explainUnknown(called, setting)] };
}

async function explainEntry(found: FoundEntry, setting: Setting, calledNow = ""): Promise<ExplainedDocument> {
  const { domain, opened, query, parts } = setting;
  const { entry, source } = found;
  const isRetired = !domain.sources.some(
    ({ sourceId, sourceType }) => sourceId === source.config.sourceId && sourceType === source.config.sourceType,
  );
  const listed = sourceStage(found, isRetired);
  const isRegistered = source.config.kind.abilities.registersAddresses && !isRetired;
  const atSource = isRegistered ? await withRecord(listed, entry.itemId, parts) : await withLineage(listed, found);
  const inMirror = mirrorStage(found, parts);
  const inIndex = await indexStage(found, domain, opened);
  const { sourceId } = source.config;
  const subject = { sourceId, itemId: entry.itemId, fileId: inIndex.fileId };
  const isIndexed = inIndex.stage.outcome === "ok" && opened.index !== undefined;
  const inSearch = isIndexed
    ? await askSearch(until(opened.index, setting.signal), query, subject)
    : notReached("search");
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
    stages,
    verdict: verdictOf(stages),
  };
}

function until(index: Index, signal: AbortSignal | undefined): Searched {
  const { generations } = index;
  return { search: (wanted) => index.search({ ...wanted, signal }), ...(generations && { generations }) };
}

async function askSearch(index: Searched, query: string, subject: Parameters<typeof searchStage>[2]): Promise<Stage> {
  if (!query.trim()) return { name: "search", outcome: "not reached", detail: "There is no query to find it by." };
  try {
    return await searchStage(index, query, subject);
  } catch (error) {
    return problem("search", `The search failed: ${explain(error)}`);
  }
}

/** No item is called so now, but the index remembers one that was: renamed since, or gone. */
async function explainEarlier(called: string, setting: Setting): Promise<ExplainedDocument[]> {
  const versions = (await setting.opened.index?.generations?.versions({ called })) ?? [];
  const newestOfEach = new Map<ItemId, DocumentVersion>();
  for (const version of versions) {
    if (!newestOfEach.has(version.itemId)) newestOfEach.set(version.itemId, version);
  }
  const explained: ExplainedDocument[] = [];
  for (const version of newestOfEach.values()) {
    const now = await findItem(version, setting.sources);
    const name = (now?.entry.seen ?? now?.entry.mirrored)?.name;
    const renamed = `It is called '${name}' now. `;
    explained.push(now ? await explainEntry(now, setting, renamed) : explainGone(version));
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
  return { sourceId, itemId, name, path, url, stages, verdict: verdictOf(stages) };
}

/** An address that the registry has, and no source of the domain. */
async function explainRecord(item: IngestItem, parts: ExplainParts): Promise<ExplainedDocument> {
  const { id: itemId, displaySource: name, normalizedSource: url } = item;
  const detail = await sayRecord(item, parts);
  const stages: Stage[] = [problem("source", detail), notReached("mirror"), notReached("index"), notReached("search")];
  return { sourceId: "", itemId, name, path: "", url, stages, verdict: detail };
}

/** A file of a tree that is not there, or cannot be read. */
function explainAbsent({ config, entry, detail }: AbsentFile): ExplainedDocument {
  const { docId: itemId, path } = entry;
  const stages: Stage[] = [problem("source", detail), notReached("mirror"), notReached("index"), notReached("search")];
  const name = path.slice(path.lastIndexOf("/") + 1);
  return { sourceId: config.sourceId, itemId, name, path, url: "", stages, verdict: verdictOf(stages) };
}

async function explainUnknown(called: string, { domain, sources, parts }: Setting): Promise<ExplainedDocument> {
  const { names, items } = await closeNames(called, sources);
  const where = sources.map(({ config }) => `'${config.sourceId}'`).join(", ");
  const looked = where
    ? `Nothing of that name, path, address or id is among the ${plural(items, "item")} that the sources ${where} listed.`
    : `Domain '${domain.domainId}' has no sources.`;
  const near = names.length > 0 ? ` Close to it: ${names.map((name) => `'${name}'`).join(", ")}.` : "";
  const way = " Is it in one of these sources, is the app allowed to see it, and was there a crawl since it is there?";
  const stages: Stage[] = [
    problem("source", looked + near + sayLeftOut(called, sources, parts) + way),
    notReached("mirror"),
    notReached("index"),
    notReached("search"),
  ];
  return { sourceId: "", itemId: "", name: called, path: "", url: "", stages, verdict: verdictOf(stages) };
}

function notReached(name: Stage["name"]): Stage {
  return { name, outcome: "not reached", detail: "It did not get this far." };
}

/** Whoever is found is found, whatever else is amiss. */
function verdictOf(stages: readonly Stage[]): string {
  const search = stages.find(({ name }) => name === "search");
  const broken = stages.find(({ outcome }) => outcome === "problem");
  if (search?.outcome === "ok") return search.detail;
  return broken ? firstSentence(broken.detail) : "It is in the index.";
}

function firstSentence(text: string): string {
  return /^.+?\.(?=\s[A-Z])/.exec(text)?.[0] ?? text;
}
