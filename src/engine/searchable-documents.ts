import { stat } from "node:fs/promises";
import type { Domain } from "../contracts/domain.ts";
import { DamagedError, explain, NotFoundError } from "../contracts/errors.ts";
import type { DomainId, FileId, ItemId, SourceId, VectorStoreId } from "../contracts/ids.ts";
import type { Index, IndexedDocument, ReadableDocuments, TextPart, TextRange } from "../contracts/search-index.ts";
import type { Freshness } from "../lib/freshness.ts";
import { compareText } from "../lib/text.ts";
import { sourceFolder } from "../mirror/layout.ts";
import { Mirror } from "../mirror/mirror.ts";
import type { EngineParts } from "./engine-parts.ts";
import { findTitles, titleOf, webUrlOf } from "./query.ts";

/** The identity of a document, which outlives its versions. */
export interface DocumentKey {
  readonly domainId: DomainId;
  /** "" for a file that was attached to the domain's store over the wire; its item id is the file id. */
  readonly sourceId: string;
  readonly itemId: ItemId;
}

/** A document that searches of its domain may find. Its title is for people, and never "". */
export interface SearchableDocument extends DocumentKey, IndexedDocument {
  readonly sourceId: string;
  readonly itemId: ItemId;
  /** `url`, where a browser opens it; else "". */
  readonly webUrl: string;
}

/** Where a list of all domains goes on. */
export interface SearchablePlace {
  readonly domainId: DomainId;
  /** undefined: at the domain's first document. */
  readonly after: string | undefined;
}

export interface SearchablePage {
  readonly documents: readonly SearchableDocument[];
  /** undefined: that was the end. */
  readonly next: SearchablePlace | undefined;
  /** Domains whose documents are missing, and why, one sentence each. */
  readonly notes: readonly string[];
}

export interface OriginalFile {
  /** Absolute. */
  readonly path: string;
  readonly bytes: number;
  /** As the source calls it. */
  readonly name: string;
}

/** The documents that readers see, of every kind of source, with the text that was indexed of them. Changes nothing. */
export interface SearchableDocuments {
  /** Lists the documents of all domains, page by page. */
  list(page: { readonly from?: SearchablePlace | undefined; readonly limit: number }): Promise<SearchablePage>;
  /** The documents of all domains that were modified last, newest first; of domains whose index does not tell, none. */
  recent(limit: number): Promise<readonly SearchableDocument[]>;
  /** NotFoundError if readers see no such document. */
  read(
    key: DocumentKey,
    range: TextRange,
  ): Promise<{ readonly document: SearchableDocument; readonly part: TextPart; readonly freshness: Freshness }>;
  /**
   * The file that the document was made of, as it is mirrored. undefined if readers see another version than the mirror has, or there
   * is none. NotFoundError if readers see no such document.
   */
  original(key: DocumentKey): Promise<OriginalFile | undefined>;
  /** The id of the version that readers see; undefined if they see none. */
  versionOf(key: DocumentKey): Promise<FileId | undefined>;
  /** Changes whenever readers of the domain may see something else; it may change without that. */
  revision(domain: Domain): Promise<string>;
}

export type SearchableParts = Pick<EngineParts, "domains" | "backend" | "ledgers" | "crawlerFolder">;

export function createSearchableDocuments(parts: SearchableParts): SearchableDocuments {
  return {
    list: (page) => listSearchable(page, parts),
    async read(key, range) {
      const found = await findSearchable(key, parts);
      const part = found && (await found.opened.readable.read(found.document.fileId, range));
      if (found && part) return { document: found.document, part, freshness: await freshnessOf(found, parts) };
      throw new NotFoundError(
        `Domain '${key.domainId}' has no such document, or has it no longer. Search again for its id.`,
      );
    },
    recent: createRecent(parts),
    original: (key) => findOriginal(key, parts),
    async versionOf(key) {
      const opened = await openToRead(await parts.domains.get(key.domainId), parts);
      return opened && (await currentVersion(key, opened, parts));
    },
    async revision(domain) {
      const opened = await openToRead(domain, parts);
      if (!opened) return "";
      const { store, readable } = opened;
      return `${store} ${(await readable.revision?.()) ?? (await revisionOfLedgers(domain, parts))}`;
    },
  };
}

/** Domains are asked again only when their readers may see something else. */
function createRecent(parts: SearchableParts): SearchableDocuments["recent"] {
  const known = new Map<string, { readonly revision: string; readonly documents: readonly SearchableDocument[] }>();
  const recentOf = async (domain: Domain, limit: number): Promise<readonly SearchableDocument[]> => {
    const opened = await openToRead(domain, parts);
    if (!opened?.readable.recent || !opened.readable.revision) return [];
    const revision = `${limit} ${opened.store} ${await opened.readable.revision()}`;
    const before = known.get(domain.domainId);
    if (before?.revision === revision) return before.documents;
    const documents = await labelled(opened, await opened.readable.recent(limit), parts);
    known.set(domain.domainId, { revision, documents });
    return documents;
  };
  return async (limit) => {
    const { domains } = await parts.domains.list();
    // A domain that does not answer must not hide the others.
    const all = await Promise.all(domains.map((domain) => recentOf(domain, limit).catch(() => [])));
    return all
      .flat()
      .sort((a, b) => (a.modifiedAt < b.modifiedAt ? 1 : -1))
      .slice(0, limit);
  };
}

async function findOriginal(key: DocumentKey, parts: SearchableParts): Promise<OriginalFile | undefined> {
  const { domainId, sourceId, itemId } = key;
  const domain = await parts.domains.get(domainId);
  const opened = await openToRead(domain, parts);
  const fileId = opened && (await currentVersion(key, opened, parts));
  if (!fileId) throw new NotFoundError(`Domain '${domainId}' has no such document, or has it no longer.`);
  const config = domain.sources.find((source) => source.sourceId === sourceId);
  const ledger = config && (await parts.ledgers.open({ domainId, config }, { readOnly: true }));
  const entry = await ledger?.get(itemId);
  if (!config || !entry?.mirrored?.file || entry.indexed?.fileId !== fileId) return undefined;
  const { file, name, observed } = entry.mirrored;
  // A crawl may have brought another version that readers do not see yet.
  if (observed === null || observed.sha256 !== entry.indexed.sha256) return undefined;
  const mirror = new Mirror(parts.crawlerFolder, sourceFolder(domainId, config));
  if (!mirror.owns(file)) return undefined;
  const path = mirror.absolute(file);
  const found = await stat(path).catch(() => undefined);
  if (found?.size !== observed.size) return undefined;
  return { path, bytes: found.size, name };
}

/** Says nothing while the domain is rolled back, as searches do: its sources were checked since. */
async function freshnessOf(
  { document, opened }: { readonly document: SearchableDocument; readonly opened: OpenedDomain },
  { ledgers }: SearchableParts,
): Promise<Freshness> {
  const { domainId, sourceId, itemId, modifiedAt: changedAt } = document;
  if ((await opened.index.generations?.state())?.pinned) return { checkedAt: "", isBehind: false, changedAt };
  try {
    const { checkedAt, behind } = await ledgers.freshness(domainId, [itemId]);
    return { checkedAt: checkedAt.get(sourceId as SourceId) ?? "", isBehind: behind.has(itemId), changedAt };
  } catch (error) {
    if (!(error instanceof DamagedError)) throw error;
    return { checkedAt: "", isBehind: false, changedAt };
  }
}

interface OpenedDomain {
  readonly domain: Domain;
  readonly store: VectorStoreId;
  readonly index: Index;
  readonly readable: ReadableDocuments;
}

/** undefined: the domain has no vector store that could show anything. */
async function openToRead(domain: Domain, { backend }: SearchableParts): Promise<OpenedDomain | undefined> {
  const store = domain.vectorStoreId;
  const index = store ? await backend.openIndex(store, domain.domainId) : undefined;
  return store && index?.documents ? { domain, store, index, readable: index.documents } : undefined;
}

async function listSearchable(
  { from, limit }: Parameters<SearchableDocuments["list"]>[0],
  parts: SearchableParts,
): Promise<SearchablePage> {
  const all = (await parts.domains.list()).domains.toSorted((a, b) => compareText(a.domainId, b.domainId));
  const documents: SearchableDocument[] = [];
  const notes: string[] = [];
  for (const domain of all) {
    const { domainId } = domain;
    if (from && domainId < from.domainId) continue;
    if (documents.length >= limit) return { documents, next: { domainId, after: undefined }, notes };
    try {
      const opened = await openToRead(domain, parts);
      if (!opened) continue;
      const page = await opened.readable.list({
        after: from?.domainId === domainId ? from.after : undefined,
        limit: limit - documents.length,
      });
      documents.push(...(await labelled(opened, page.documents, parts)));
      if (page.next !== undefined) return { documents, next: { domainId, after: page.next }, notes };
    } catch (error) {
      // A place that is not valid any more is the caller's; what one domain cannot tell must not hide the others.
      if (from?.domainId === domainId && from.after !== undefined) throw error;
      notes.push(`The documents of domain '${domainId}' cannot be listed: ${explain(error)}`);
    }
  }
  return { documents, next: undefined, notes };
}

async function findSearchable(
  key: DocumentKey,
  parts: SearchableParts,
): Promise<{ readonly document: SearchableDocument; readonly opened: OpenedDomain } | undefined> {
  const domain = await parts.domains.get(key.domainId);
  const opened = await openToRead(domain, parts);
  const fileId = opened && (await currentVersion(key, opened, parts));
  const indexed = fileId && (await opened.readable.find(fileId));
  if (!opened || !indexed) return undefined;
  const [document] = await labelled(opened, [indexed], parts);
  return document && { document: { ...document, ...key }, opened };
}

async function currentVersion(
  { domainId, sourceId, itemId }: DocumentKey,
  { domain, store, index }: OpenedDomain,
  { ledgers }: SearchableParts,
): Promise<FileId | undefined> {
  if (sourceId === "") return itemId as string as FileId;
  if (index.generations) {
    const versions = await index.generations.versions({ sourceId: sourceId as SourceId, itemId });
    return versions.find(({ visible }) => visible)?.fileId;
  }
  const config = domain.sources.find((source) => source.sourceId === sourceId);
  const ledger = config && (await ledgers.open({ domainId, config }, { readOnly: true }));
  const indexed = (await ledger?.get(itemId))?.indexed;
  return indexed?.vectorStoreId === store && indexed.fileId !== "" ? indexed.fileId : undefined;
}

/** Adds what only our records have: backends that are services know no addresses. */
async function labelled(
  { domain, index }: Pick<OpenedDomain, "domain" | "index">,
  documents: readonly IndexedDocument[],
  parts: SearchableParts,
): Promise<SearchableDocument[]> {
  const nameless = documents.filter(({ name }) => name === "");
  const metadata =
    nameless.length > 0
      ? await findMetadata(
          domain.domainId,
          nameless.map(({ fileId }) => fileId),
          parts.ledgers,
        )
      : undefined;
  const untitled = nameless.map(({ fileId, sourceId, itemId }) => ({
    fileId,
    attributes: { source_id: sourceId, item_id: itemId },
  }));
  const titles = await findTitles(untitled, index, domain, parts);
  return documents.map((document) => {
    const entry = metadata?.get(document.fileId);
    const text = (key: string): string => (typeof entry?.[key] === "string" ? entry[key] : "");
    const name = document.name || text("filename");
    const url = document.url || text("url");
    return {
      ...document,
      domainId: domain.domainId,
      name,
      title:
        titleOf({ ...document, title: document.title || (titles.get(document.fileId) ?? ""), name }) || document.fileId,
      url,
      webUrl: webUrlOf(domain, document.sourceId, url),
      modifiedAt: document.modifiedAt || text("last_modified_utc"),
    };
  });
}

/** While the ledger is damaged, documents are listed by their ids. */
async function findMetadata(
  domainId: DomainId,
  fileIds: readonly FileId[],
  { metadata }: SearchableParts["ledgers"],
): Promise<Awaited<ReturnType<typeof metadata.find>> | undefined> {
  try {
    return await metadata.find(domainId, fileIds);
  } catch (error) {
    if (error instanceof DamagedError) return undefined;
    throw error;
  }
}

/** A service does not tell whether its store has changed; what we put there is in the ledgers. */
async function revisionOfLedgers({ domainId, sources }: Domain, { ledgers }: SearchableParts): Promise<string> {
  const versions = await Promise.all(sources.map((config) => ledgers.version({ domainId, config })));
  return versions.join(" ");
}
