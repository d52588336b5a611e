import type { ManifestEntry } from "../../contracts/manifest.ts";
import { plural } from "../../lib/plural.ts";
import type { Comparison } from "./compare-tree.ts";
import type { MirroredFile } from "./open-tree-source.ts";
import type { LookTools } from "./take-look.ts";

/**
 * By path, the documents that are in the mirror and not in the manifest. There are none unless it was lost, or an earlier one
 * was put in its place: then they are what the files at their paths were.
 */
export async function recallEntries(
  { toRead }: Comparison,
  { manifest: open, mirrored, log }: LookTools,
): Promise<ReadonlyMap<string, ManifestEntry>> {
  const recalled = new Map<string, ManifestEntry>();
  if (toRead.length === 0) return recalled;
  const manifest = await open();
  const known = await manifest.at(toRead.map(({ path }) => path));
  if (toRead.every(({ path }) => known.has(path))) return recalled;
  for await (const page of mirrored()) for (const file of page) recalled.set(file.path, await entryOf(file));
  if (recalled.size > 0) {
    log(`WARNING: the manifest does not have ${plural(recalled.size, "document")} of the mirror; they are recalled.`);
  }
  return recalled;
}

async function entryOf(file: MirroredFile): Promise<ManifestEntry> {
  const unknown = { stamp: "", node: "", error: "", missingSinceAt: "", deletedAt: "" };
  const versions = await file.versions();
  return { ...file, ...unknown, versions, status: "active", retryCount: 0, missingRuns: 0, lineage: [] };
}
