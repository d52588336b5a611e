import type { TreeSourceConfig } from "../contracts/domain.ts";
import type { DomainId, SourceId } from "../contracts/ids.ts";
import { FILE_STATUSES, type FileStatus, type Manifest, type ManifestEntry } from "../contracts/manifest.ts";
import { compareText } from "../lib/compare-text.ts";
import { Turn } from "../lib/turn.ts";
import { type ManifestParts, readManifest, treesOf } from "./tree-manifests.ts";

export interface DocumentsQuery {
  readonly domainId: DomainId;
  /** undefined: all folders and containers of the domain. */
  readonly sourceId?: SourceId | undefined;
  readonly status?: FileStatus | undefined;
  /** Only those in whose path this occurs, or whose id it is; "" for all. */
  readonly text: string;
  readonly offset: number;
  readonly limit: number;
}

/** One file of a tree, under the identity that follows it. */
export interface TreeDocument {
  readonly sourceId: SourceId;
  readonly entry: ManifestEntry;
}

export interface DocumentsPage {
  /** Source by source, by path; of more than `MOST_SORTED` entries in the order of their manifest. */
  readonly documents: readonly TreeDocument[];
  readonly more: boolean;
  /** undefined: counting would mean reading everything. */
  readonly total: number | undefined;
}

/** Beyond this a page would cost reading everything. */
export const MOST_SORTED = 20_000;

export async function listDocuments(query: DocumentsQuery, parts: ManifestParts): Promise<DocumentsPage> {
  const { domainId, text, offset, limit } = query;
  const documents: TreeDocument[] = [];
  let [skip, total] = [offset, 0];
  for (const source of await treesOf(query, parts)) {
    await readManifest(domainId, source, parts, async (manifest) => {
      const count = countIn(manifest, query);
      total += count;
      // Where nothing is sought, what lies before the page is not read.
      if (text === "" && skip >= count) skip -= count;
      else await gather(manifest, source);
    });
  }
  return { documents: documents.slice(0, limit), more: documents.length > limit, total: text ? undefined : total };

  async function gather(manifest: Manifest, { sourceId }: TreeSourceConfig): Promise<void> {
    if (documents.length > limit) return;
    for await (const entry of sortedIn(manifest, query)) {
      if (skip > 0) skip -= 1;
      else documents.push({ sourceId, entry });
      if (documents.length > limit) return;
    }
  }
}

function countIn(manifest: Manifest, { status }: DocumentsQuery): number {
  const count = manifest.count();
  return status ? count[status] : FILE_STATUSES.reduce((sum, each) => sum + count[each], 0);
}

async function* sortedIn(manifest: Manifest, query: DocumentsQuery): AsyncGenerator<ManifestEntry> {
  if (countIn(manifest, query) > MOST_SORTED) return yield* matchingIn(manifest, query);
  const found: Pick<ManifestEntry, "docId" | "path">[] = [];
  for await (const { docId, path } of matchingIn(manifest, query)) found.push({ docId, path });
  found.sort((a, b) => compareText(a.path, b.path) || compareText(a.docId, b.docId));
  for (const { docId } of found) {
    const entry = manifest.find(docId);
    if (entry) yield entry;
  }
}

/** A manifest is read as far as the page needs, and the rest of the process works in between. */
async function* matchingIn(
  manifest: Manifest,
  { status, text }: Pick<DocumentsQuery, "status" | "text">,
): AsyncGenerator<ManifestEntry> {
  const turn = new Turn();
  const wanted = text.toLowerCase();
  for (const entry of status === "missing" || status === "deleted" ? manifest.absent() : all(manifest)) {
    if (turn.isOver()) await turn.next();
    if (status && entry.status !== status) continue;
    if (wanted === "" || entry.path.toLowerCase().includes(wanted) || entry.docId === text) yield entry;
  }
}

function* all(manifest: Manifest): Generator<ManifestEntry> {
  for (const page of manifest.entries()) yield* page;
}
