import type { FileTree } from "../../contracts/file-tree.ts";
import type { ItemId } from "../../contracts/ids.ts";
import type { Manifest, ManifestEntry } from "../../contracts/manifest.ts";
import type { Unreadable } from "../../contracts/source.ts";
import type { ReadFile } from "../../detect/lineage/trace-lineage.ts";
import { folderOf, hasInode } from "../../lib/tree-path.ts";
import { Hidden } from "./hidden.ts";

/**
 * Files that left their path after it was looked at, or where nobody looked, and are among those that were read: the same node
 * with the same content. A second look tells them from hard links, whose first path is still there.
 */
export async function movedMeanwhile(
  read: readonly ReadFile[],
  /** What is known to have left its path, or was read there. */
  apart: ReadonlySet<ItemId>,
  manifest: Manifest,
  tree: FileTree,
  signal: AbortSignal,
): Promise<readonly ManifestEntry[]> {
  const suspects = await findSuspects(read, apart, manifest);
  if (suspects.size === 0) return [];
  const folders = new Set([...suspects.keys()].map(folderOf));
  const unreadable: Unreadable[] = [];
  for await (const page of tree.walk(signal, folders)) {
    unreadable.push(...page.unreadable);
    if (!folders.has(page.folder)) continue;
    for (const { path, node } of page.files) if (suspects.get(path)?.node === node) suspects.delete(path);
  }
  const hidden = new Hidden(unreadable);
  return [...suspects.values()].filter(({ path }) => !hidden.has(path));
}

async function findSuspects(
  read: readonly ReadFile[],
  apart: ReadonlySet<ItemId>,
  manifest: Manifest,
): Promise<Map<string, ManifestEntry>> {
  const marks = read.flatMap(({ contentHash, file: { node } }) => (hasInode(node) ? [{ contentHash, node }] : []));
  const suspects = new Map<string, ManifestEntry>();
  for (const entry of await manifest.withNodes(marks)) if (!apart.has(entry.docId)) suspects.set(entry.path, entry);
  return suspects;
}
