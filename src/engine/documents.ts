import type { ExtractedDocument } from "../contracts/document.ts";
import type { SourceConfig } from "../contracts/domain.ts";
import { BadInputError, NotFoundError } from "../contracts/errors.ts";
import type { DomainId, ItemId, SourceId } from "../contracts/ids.ts";
import {
  FILE_STATUSES,
  type FileStatus,
  type FileVersion,
  type Manifest,
  type ManifestEntry,
} from "../contracts/manifest.ts";
import type { DocumentSection, SectionsFound } from "../contracts/search-index.ts";
import { type Hunk, lineDifference } from "../lib/line-difference.ts";
import { compareText } from "../lib/text.ts";
import { KnowledgeBase } from "../mirror/knowledge-base.ts";
import type { StoredVersion } from "../mirror/stored-version.ts";
import type { EngineParts } from "./engine-parts.ts";
import { openIndexOf } from "./generations.ts";
import { folderOfRun } from "./with-ledger.ts";

/** A document by id or path. */
export interface DocumentName {
  readonly domainId: DomainId;
  readonly sourceId?: SourceId | undefined;
  readonly called: string;
}

export interface DocumentView extends TreeDocument {
  /** The current text in the knowledge base; undefined: there is none. */
  readonly stored: StoredVersion | undefined;
  /** The versions that can be read, oldest first. */
  readonly versions: readonly FileVersion[];
}

export interface VersionView extends TreeDocument {
  readonly version: StoredVersion & ExtractedDocument;
}

/** One page of the sections of a document. */
export interface SectionsRequest {
  /** By file id, item id, path, URL or name. */
  readonly name: DocumentName;
  /** As of this generation; undefined: as readers are shown them. */
  readonly generation?: number | undefined;
  readonly offset: number;
  readonly limit: number;
}

export interface SectionsView {
  readonly document: SectionsFound["documents"][number];
  readonly sections: readonly DocumentSection[];
  readonly total: number;
}

/** The files of sources without ids, and their texts; of all sources, the sections. Read-only; works while a crawl writes. */
export interface Documents {
  list(query: DocumentsQuery): Promise<DocumentsPage>;
  get(name: DocumentName): Promise<DocumentView>;
  /** By default the current one. */
  version(name: DocumentName, versionId?: string): Promise<VersionView>;
  /** What changed from one version to another. */
  difference(name: DocumentName, between: Between): Promise<TreeDocument & { readonly hunks: readonly Hunk[] }>;
  /** The sections of a document of any source, as the index has them. */
  sections(request: SectionsRequest): Promise<SectionsView>;
}

/** Two versions, by their ids. */
interface Between {
  readonly from: string;
  readonly to: string;
}

export function createDocuments(parts: DocumentParts): Documents {
  return {
    list: (query) => listDocuments(query, parts),
    get: async (name) => (await findDocument(name, parts)).view,
    async version(name, versionId) {
      const found = await findDocument(name, parts);
      const { sourceId, entry } = found.view;
      return { sourceId, entry, version: await readVersion(found, versionId) };
    },
    async difference(name, { from, to }) {
      const found = await findDocument(name, parts);
      const { sourceId, entry } = found.view;
      const [before, after] = [await readVersion(found, from), await readVersion(found, to)];
      return { sourceId, entry, hunks: lineDifference(before.markdown, after.markdown) };
    },
    sections: (request) => readSections(request, parts),
  };
}

async function readVersion({ view, base }: Found, versionId?: string): Promise<VersionView["version"]> {
  const version = await base.read(view.entry.docId, versionId);
  if (version) return version;
  throw new NotFoundError(whyNoVersion(view, versionId));
}

interface Found {
  readonly view: DocumentView;
  readonly base: KnowledgeBase;
}

async function findDocument(name: DocumentName, parts: DocumentParts): Promise<Found> {
  const { domainId, called } = name;
  const found: Found[] = [];
  for (const source of await treesOf(name, parts)) {
    const { manifest } = await parts.ledgers.open({ domainId, config: source }, { readOnly: true });
    const entry =
      (await manifest.find([called as ItemId])).get(called as ItemId) ?? (await manifest.at([called])).get(called);
    if (!entry) continue;
    const base = new KnowledgeBase(folderOfRun({ domainId, config: source }, parts));
    const stored = await base.current(entry.docId);
    const all = await base.history(entry.docId, entry.versions);
    const versions = stored?.error ? all.filter(({ versionId }) => versionId !== stored.versionId) : all;
    found.push({ view: { sourceId: source.sourceId, entry, stored, versions }, base });
  }
  const [only, ...others] = found;
  if (!only) throw new NotFoundError(`Domain '${domainId}' has no document '${called}'.`);
  if (others.length === 0) return only;
  const ids = found.map(({ view }) => view.sourceId).join("', '");
  throw new BadInputError(`Missing 'source_id': '${called}' is in the sources '${ids}'.`);
}

function whyNoVersion({ entry, stored, versions }: DocumentView, versionId: string | undefined): string {
  if (versionId === undefined && stored?.error) return `'${entry.path}' has no text: ${stored.error}`;
  const ids = versions.map((version) => version.versionId);
  if (ids.length === 0) return `Nothing is kept of '${entry.path}'.`;
  return versionId === undefined
    ? `The current text of '${entry.path}' cannot be read; a full crawl makes it again.`
    : `Version '${versionId}' of '${entry.path}' is not kept. These are: ${ids.join(", ")}.`;
}

const MAX_NAMED = 3;

async function readSections(
  { name: { domainId, sourceId, called }, generation, offset, limit }: SectionsRequest,
  parts: DocumentParts,
): Promise<SectionsView> {
  const { index } = await openIndexOf(domainId, parts);
  if (!index.shown) {
    throw new BadInputError(
      `The vector store of domain '${domainId}' keeps no sections; only the embedded index does.`,
    );
  }
  const { documents, sections, total } = await index.shown.sections({ called, sourceId, generation, offset, limit });
  const [document, ...others] = documents;
  if (!document) {
    const asOf = generation === undefined ? "" : ` as of generation ${generation}`;
    const from = sourceId === undefined ? "" : ` from source '${sourceId}'`;
    throw new NotFoundError(`The index of domain '${domainId}' has no document '${called}'${from}${asOf}.`);
  }
  if (others.length === 0) return { document, sections, total };
  const some = documents.slice(0, MAX_NAMED).map((one) => `'${one.path}' of '${one.sourceId}' (${one.fileId})`);
  const more = documents.length > MAX_NAMED ? ", and more" : "";
  throw new BadInputError(
    `Several documents of domain '${domainId}' are called '${called}': ${some.join(", ")}${more}. Name one by its path and source, or by its file id.`,
  );
}

export interface DocumentsQuery {
  readonly domainId: DomainId;
  /** undefined: all folder and container sources of the domain. */
  readonly sourceId?: SourceId | undefined;
  readonly status?: FileStatus | undefined;
  /** Matches part of the path, or the whole id; "" for all. */
  readonly text: string;
  readonly offset: number;
  readonly limit: number;
}

/** One file of a folder or container, with its stable id. */
export interface TreeDocument {
  readonly sourceId: SourceId;
  readonly entry: ManifestEntry;
}

export interface DocumentsPage {
  /** By source, then by path; in manifest order if there are more than `MOST_SORTED`. */
  readonly documents: readonly TreeDocument[];
  readonly more: boolean;
  /** undefined with a text filter: counting would read everything. */
  readonly total: number | undefined;
}

/** Sorting more would read everything for one page. */
export const MOST_SORTED = 20_000;

type DocumentParts = Pick<EngineParts, "domains" | "ledgers" | "crawlerFolder"> & Parameters<typeof openIndexOf>[1];

/** Returns the folder and container sources of a domain, or the one that is asked for. */
async function treesOf(
  { domainId, sourceId }: Pick<DocumentsQuery, "domainId" | "sourceId">,
  { domains }: DocumentParts,
): Promise<readonly SourceConfig[]> {
  const { sources } = await domains.get(domainId);
  if (sourceId === undefined) return sources.filter(hasManifest);
  const named = sources.filter((source) => source.sourceId === sourceId);
  if (named.length === 0) throw new NotFoundError(`Source '${sourceId}' does not exist in domain '${domainId}'.`);
  const trees = named.filter(hasManifest);
  if (trees.length > 0) return trees;
  throw new BadInputError(
    `Source '${sourceId}' is neither a folder nor a container: no versions of its items are kept.`,
  );
}

/** Files without ids at the source are tracked by a manifest. */
function hasManifest({ kind }: SourceConfig): boolean {
  return !kind.abilities.hasIds;
}

async function listDocuments(query: DocumentsQuery, parts: DocumentParts): Promise<DocumentsPage> {
  const { domainId, text, offset, limit } = query;
  const documents: TreeDocument[] = [];
  let [skip, total] = [offset, 0];
  for (const config of await treesOf(query, parts)) {
    const { manifest } = await parts.ledgers.open({ domainId, config }, { readOnly: true });
    const count = await countIn(manifest, query);
    total += count;
    // Without a text filter, sources before the page are not read.
    if (text === "" && skip >= count) skip -= count;
    else await gather(manifest, config, count);
  }
  return { documents: documents.slice(0, limit), more: documents.length > limit, total: text ? undefined : total };

  async function gather(manifest: Manifest, { sourceId }: SourceConfig, count: number): Promise<void> {
    if (documents.length > limit) return;
    const pages = count > MOST_SORTED ? matchingIn(manifest, query) : sortedIn(manifest, query);
    for await (const page of pages) {
      for (const entry of page) {
        if (skip > 0) skip -= 1;
        else documents.push({ sourceId, entry });
        if (documents.length > limit) return;
      }
    }
  }
}

async function countIn(manifest: Manifest, { status }: DocumentsQuery): Promise<number> {
  const count = await manifest.count();
  return status ? count[status] : FILE_STATUSES.reduce((sum, name) => sum + count[name], 0);
}

async function* sortedIn(manifest: Manifest, query: DocumentsQuery): AsyncGenerator<readonly ManifestEntry[]> {
  const found = (await Array.fromAsync(matchingIn(manifest, query))).flat();
  yield found.sort((a, b) => compareText(a.path, b.path) || compareText(a.docId, b.docId));
}

/** Lazy: the caller stops reading when its page is full. */
async function* matchingIn(
  manifest: Manifest,
  { status, text }: Pick<DocumentsQuery, "status" | "text">,
): AsyncGenerator<readonly ManifestEntry[]> {
  const wanted = text.toLowerCase();
  for await (const page of status ? manifest.withStatus(status) : manifest.entries()) {
    yield page.filter(({ path, docId }) => wanted === "" || path.toLowerCase().includes(wanted) || docId === text);
  }
}
