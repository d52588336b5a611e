import type { KnownFile } from "../../contracts/manifest.ts";
import type { Unreadable } from "../../contracts/source.ts";
import { folderOf } from "../../lib/tree-path.ts";

/**
 * The folders that a share was mounted on and is not any more: what is known of them lay on another file system, and nothing
 * that is known is in them now. Not the root, which says itself what it is.
 */
export function findUnmounted(
  absent: readonly KnownFile[],
  /** Of every folder that is there. */
  devices: ReadonlyMap<string, string>,
  /** Folders with something in them that is known. */
  familiar: ReadonlySet<string>,
): readonly Unreadable[] {
  const places = new Set<string>();
  for (const { path, node } of absent) {
    const folder = nearest(path, devices);
    const device = devices.get(folder) ?? "";
    if (folder !== "" && node !== "" && device !== "" && !node.startsWith(`${device}:`)) places.add(folder);
  }
  if (places.size === 0) return [];
  const living = new Set<string>();
  for (const folder of familiar) for (let at = folder; at !== "" && !living.has(at); at = folderOf(at)) living.add(at);
  return [...places]
    .filter((folder) => !living.has(folder))
    .map((path) => ({ kind: "unreadable", path, reason: REASON }));
}

const REASON =
  "another file system was mounted here, with all that is known of this folder. If it is a share, mount it; if it is gone for good, delete the empty folder";

function nearest(path: string, devices: ReadonlyMap<string, string>): string {
  let folder = folderOf(path);
  while (folder !== "" && !devices.has(folder)) folder = folderOf(folder);
  return folder;
}
