import type { ExtractedDocument } from "../contracts/document.ts";
import { BadInputError, NotFoundError } from "../contracts/errors.ts";
import type { DomainId, ItemId, SourceId } from "../contracts/ids.ts";
import type { FileVersion } from "../contracts/manifest.ts";
import { type Hunk, lineDifference } from "../lib/line-difference.ts";
import type { KeptDocument } from "../mirror/knowledge/kept-document.ts";
import { KnowledgeBase } from "../mirror/knowledge/knowledge-base.ts";
import {
  type DocumentParts,
  type DocumentsPage,
  type DocumentsQuery,
  listDocuments,
  type TreeDocument,
  treesOf,
} from "./list-documents.ts";
import { folderOfRun } from "./with-ledger.ts";

/** Which document: its id, or the path that it has. */
export interface DocumentName {
  readonly domainId: DomainId;
  readonly sourceId?: SourceId | undefined;
  readonly called: string;
}

export interface DocumentView extends TreeDocument {
  /** What is current in the knowledge base; undefined when nothing is. */
  readonly kept: KeptDocument | undefined;
  /** What can be read, oldest first. */
  readonly versions: readonly FileVersion[];
}

export interface VersionView extends TreeDocument {
  readonly version: KeptDocument & ExtractedDocument;
}

/** What is known of files without ids, and what they said. Reads only, beside whoever writes. */
export interface Documents {
  list(query: DocumentsQuery): Promise<DocumentsPage>;
  get(name: DocumentName): Promise<DocumentView>;
  /** By default the current one. */
  version(name: DocumentName, versionId?: string): Promise<VersionView>;
  /** What changed from one version to another. */
  difference(name: DocumentName, between: Between): Promise<TreeDocument & { readonly hunks: readonly Hunk[] }>;
}

/** Two versions, by their ids. */
export interface Between {
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
    const kept = await base.current(entry.docId);
    const all = await base.history(entry.docId, entry.versions);
    const versions = kept?.error ? all.filter(({ versionId }) => versionId !== kept.versionId) : all;
    found.push({ view: { sourceId: source.sourceId, entry, kept, versions }, base });
  }
  const [only, ...others] = found;
  if (!only) throw new NotFoundError(`Domain '${domainId}' has no document '${called}'.`);
  if (others.length === 0) return only;
  const ids = found.map(({ view }) => view.sourceId).join("', '");
  throw new BadInputError(`Missing 'source_id': '${called}' is in the sources '${ids}'.`);
}

function whyNoVersion({ entry, kept, versions }: DocumentView, versionId: string | undefined): string {
  if (versionId === undefined && kept?.error) return `'${entry.path}' has no text: ${kept.error}`;
  const ids = versions.map((version) => version.versionId);
  if (ids.length === 0) return `Nothing is kept of '${entry.path}'.`;
  return versionId === undefined
    ? `The current text of '${entry.path}' cannot be read; a full crawl makes it again.`
    : `Version '${versionId}' of '${entry.path}' is not kept. These are: ${ids.join(", ")}.`;
}
