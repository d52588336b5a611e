import type { SourceConfig } from "../contracts/domain.ts";
import { BadInputError, NotFoundError } from "../contracts/errors.ts";
import type { DomainId, SourceId } from "../contracts/ids.ts";
import { FILE_STATUSES, type FileStatus, type Manifest, type ManifestEntry } from "../contracts/manifest.ts";
import { compareText } from "../lib/compare-text.ts";
import type { EngineParts } from "./engine-parts.ts";

export interface DocumentsQuery {
  readonly domainId: DomainId;
  /** undefined: all places full of files of the domain. */
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

export type DocumentParts = Pick<EngineParts, "domains" | "ledgers" | "crawlerFolder">;

/** The places full of files of a domain, or the one that is asked for. */
export async function treesOf(
  { domainId, sourceId }: Pick<DocumentsQuery, "domainId" | "sourceId">,
  { domains }: DocumentParts,
): Promise<readonly SourceConfig[]> {
  const { sources } = await domains.get(domainId);
  if (sourceId === undefined) return sources.filter(isFollowed);
  const named = sources.filter((source) => source.sourceId === sourceId);
  if (named.length === 0) throw new NotFoundError(`Source '${sourceId}' does not exist in domain '${domainId}'.`);
  const trees = named.filter(isFollowed);
  if (trees.length > 0) return trees;
  throw new BadInputError(
    `Source '${sourceId}' is no place full of files: its items have ids of their own, and no versions are kept.`,
  );
}

/** By a manifest, since its files have no ids of their own. */
function isFollowed({ kind }: SourceConfig): boolean {
  return !kind.abilities.hasIds;
}

export async function listDocuments(query: DocumentsQuery, parts: DocumentParts): Promise<DocumentsPage> {
  const { domainId, text, offset, limit } = query;
  const documents: TreeDocument[] = [];
  let [skip, total] = [offset, 0];
  for (const config of await treesOf(query, parts)) {
    const { manifest } = await parts.ledgers.open({ domainId, config }, { readOnly: true });
    const count = await countIn(manifest, query);
    total += count;
    // Where nothing is sought, what lies before the page is not read.
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
  return status ? count[status] : FILE_STATUSES.reduce((sum, each) => sum + count[each], 0);
}

async function* sortedIn(manifest: Manifest, query: DocumentsQuery): AsyncGenerator<readonly ManifestEntry[]> {
  const found: ManifestEntry[] = [];
  for await (const page of matchingIn(manifest, query)) found.push(...page);
  yield found.sort((a, b) => compareText(a.path, b.path) || compareText(a.docId, b.docId));
}

/** Read as far as the page needs. */
async function* matchingIn(
  manifest: Manifest,
  { status, text }: Pick<DocumentsQuery, "status" | "text">,
): AsyncGenerator<readonly ManifestEntry[]> {
  const wanted = text.toLowerCase();
  for await (const page of status ? manifest.withStatus(status) : manifest.entries()) {
    yield page.filter(({ path, docId }) => wanted === "" || path.toLowerCase().includes(wanted) || docId === text);
  }
}
