import { isTree, type SourceConfig, type TreeSourceConfig } from "../contracts/domain.ts";
import { BadInputError, NotFoundError } from "../contracts/errors.ts";
import type { DomainId, SourceId } from "../contracts/ids.ts";
import type { Manifest } from "../contracts/manifest.ts";
import type { EngineParts } from "./engine-parts.ts";
import type { ManifestReader } from "./manifest-reader.ts";
import { folderOfRun } from "./with-tree.ts";

/** What it takes to read manifests, beside whoever writes them. */
export type ManifestParts = Pick<EngineParts, "domains" | "crawlerFolder"> & { readonly manifests: ManifestReader };

/** The folders and containers of a domain, or the one that is asked for. */
export async function treesOf(
  { domainId, sourceId }: { readonly domainId: DomainId; readonly sourceId?: SourceId | undefined },
  { domains }: ManifestParts,
): Promise<readonly TreeSourceConfig[]> {
  const { sources } = await domains.get(domainId);
  if (sourceId === undefined) return sources.filter(isTree);
  const named = sources.filter((source) => source.sourceId === sourceId);
  if (named.length === 0) throw new NotFoundError(`Source '${sourceId}' does not exist in domain '${domainId}'.`);
  const trees = named.filter(isTree);
  if (trees.length > 0) return trees;
  throw new BadInputError(
    `Source '${sourceId}' is neither a folder nor a container: its items have ids of their own, and no versions are kept.`,
  );
}

/** For those who ask often: an open one is shared. */
export function readManifest<T>(
  domainId: DomainId,
  config: TreeSourceConfig,
  parts: ManifestParts,
  work: (manifest: Manifest) => Promise<T>,
): Promise<T> {
  return parts.manifests.read(folderOfRun({ domainId, config }, parts), work);
}

/** For those who ask once. */
export async function withManifest<T>(
  domainId: DomainId,
  config: SourceConfig,
  parts: Pick<EngineParts, "crawlerFolder" | "openManifest">,
  work: (manifest: Manifest) => Promise<T>,
): Promise<T> {
  const manifest = await parts.openManifest(folderOfRun({ domainId, config }, parts), { readOnly: true });
  try {
    return await work(manifest);
  } finally {
    await manifest.close();
  }
}
