import type { Domain } from "../contracts/domain.ts";
import { DamagedError, explain, NotFoundError } from "../contracts/errors.ts";
import type { DomainId, FileId, ItemId, SourceId, VectorStoreId } from "../contracts/ids.ts";
import type { Index, IndexedDocument, ReadableDocuments, TextPart, TextRange } from "../contracts/search-index.ts";
import { compareText } from "../lib/text.ts";
import type { EngineParts } from "./engine-parts.ts";

/** The identity of a document, which outlives its versions. */
export interface DocumentKey {
  readonly domainId: DomainId;
  /** "" for a file that was attached to the domain's store over the wire; its item id is the file id. */
  readonly sourceId: string;
  readonly itemId: ItemId;
}

/** A document that searches of its domain may find. */
export type ShownDocument = DocumentKey & IndexedDocument;

/** Where a list of all domains goes on. */
export interface ShownPlace {
  readonly domainId: DomainId;
  /** undefined: at the domain's first document. */
  readonly after: string | undefined;
}

export interface ShownPage {
  readonly documents: readonly ShownDocument[];
  /** undefined: that was the end. */
  readonly next: ShownPlace | undefined;
  /** Domains whose documents are missing, and why, one sentence each. */
  readonly notes: readonly string[];
}

/** The documents that readers see, of every kind of source, with the text that was indexed of them. Changes nothing. */
export interface ShownDocuments {
  /** Lists the documents of all domains, page by page. */
  list(page: { readonly from?: ShownPlace | undefined; readonly limit: number }): Promise<ShownPage>;
  /** NotFoundError if readers see no such document. */
  read(key: DocumentKey, range: TextRange): Promise<{ readonly document: ShownDocument; readonly part: TextPart }>;
  /** The id of the version that readers see; undefined if they see none. */
  versionOf(key: DocumentKey): Promise<FileId | undefined>;
  /** Changes whenever readers of the domain may see something else; it may change without that. */
  revision(domain: Domain): Promise<string>;
}

export type ShownParts = Pick<EngineParts, "domains" | "backend" | "ledgers">;

export function createShownDocuments(parts: ShownParts): ShownDocuments {
  return {
    list: (page) => listShown(page, parts),
    async read(key, range) {
      const found = await findShown(key, parts);
      const part = found && (await found.readable.read(found.document.fileId, range));
      if (found && part) return { document: found.document, part };
      throw new NotFoundError(
        `Domain '${key.domainId}' has no such document, or has it no longer. Search again for its id.`,
      );
    },
    async versionOf(key) {
      const opened = await openShown(await parts.domains.get(key.domainId), parts);
      return opened && (await currentVersion(key, opened, parts));
    },
    async revision(domain) {
      const opened = await openShown(domain, parts);
      if (!opened) return "";
      const { store, readable } = opened;
      return `${store} ${(await readable.revision?.()) ?? (await revisionOfLedgers(domain, parts))}`;
    },
  };
}

interface OpenedDomain {
  readonly domain: Domain;
  readonly store: VectorStoreId;
  readonly index: Index;
  readonly readable: ReadableDocuments;
}

/** undefined: the domain has no vector store that could show anything. */
async function openShown(domain: Domain, { backend }: ShownParts): Promise<OpenedDomain | undefined> {
  const store = domain.vectorStoreId;
  const index = store ? await backend.openIndex(store, domain.domainId) : undefined;
  return store && index?.documents ? { domain, store, index, readable: index.documents } : undefined;
}

async function listShown(
  { from, limit }: Parameters<ShownDocuments["list"]>[0],
  parts: ShownParts,
): Promise<ShownPage> {
  const all = (await parts.domains.list()).domains.toSorted((a, b) => compareText(a.domainId, b.domainId));
  const documents: ShownDocument[] = [];
  const notes: string[] = [];
  for (const domain of all) {
    const { domainId } = domain;
    if (from && domainId < from.domainId) continue;
    if (documents.length >= limit) return { documents, next: { domainId, after: undefined }, notes };
    try {
      const page = await (await openShown(domain, parts))?.readable.list({
        after: from?.domainId === domainId ? from.after : undefined,
        limit: limit - documents.length,
      });
      documents.push(...(await labelled(domain, page?.documents ?? [], parts)));
      if (page?.next !== undefined) return { documents, next: { domainId, after: page.next }, notes };
    } catch (error) {
      // A place that is not valid any more is the caller's; what one domain cannot tell must not hide the others.
      if (from?.domainId === domainId && from.after !== undefined) throw error;
      notes.push(`The documents of domain '${domainId}' cannot be listed: ${explain(error)}`);
    }
  }
  return { documents, next: undefined, notes };
}

async function findShown(
  key: DocumentKey,
  parts: ShownParts,
): Promise<{ readonly document: ShownDocument; readonly readable: ReadableDocuments } | undefined> {
  const domain = await parts.domains.get(key.domainId);
  const opened = await openShown(domain, parts);
  const fileId = opened && (await currentVersion(key, opened, parts));
  const indexed = fileId && (await opened.readable.find(fileId));
  if (!opened || !indexed) return undefined;
  const [document] = await labelled(domain, [indexed], parts);
  return document && { document: { ...document, ...key }, readable: opened.readable };
}

async function currentVersion(
  { domainId, sourceId, itemId }: DocumentKey,
  { domain, store, index }: OpenedDomain,
  { ledgers }: ShownParts,
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
  { domainId }: Domain,
  documents: readonly IndexedDocument[],
  { ledgers }: ShownParts,
): Promise<ShownDocument[]> {
  const nameless = documents.filter(({ name }) => name === "").map(({ fileId }) => fileId);
  const metadata = nameless.length > 0 ? await findMetadata(domainId, nameless, ledgers) : undefined;
  return documents.map((document) => {
    const entry = metadata?.get(document.fileId);
    const text = (key: string): string => (typeof entry?.[key] === "string" ? entry[key] : "");
    return {
      ...document,
      domainId,
      name: document.name || text("filename") || document.fileId,
      url: document.url || text("url"),
      modifiedAt: document.modifiedAt || text("last_modified_utc"),
    };
  });
}

/** While the ledger is damaged, documents are listed by their ids. */
async function findMetadata(
  domainId: DomainId,
  fileIds: readonly FileId[],
  { metadata }: ShownParts["ledgers"],
): Promise<Awaited<ReturnType<typeof metadata.find>> | undefined> {
  try {
    return await metadata.find(domainId, fileIds);
  } catch (error) {
    if (error instanceof DamagedError) return undefined;
    throw error;
  }
}

/** A service does not tell whether its store has changed; what we put there is in the ledgers. */
async function revisionOfLedgers({ domainId, sources }: Domain, { ledgers }: ShownParts): Promise<string> {
  const versions = await Promise.all(sources.map((config) => ledgers.version({ domainId, config })));
  return versions.join(" ");
}
