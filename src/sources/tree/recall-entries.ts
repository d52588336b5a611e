import type { ManifestEntry } from "../../contracts/manifest.ts";
import { compareText } from "../../lib/compare-text.ts";
import { plural } from "../../lib/plural.ts";
import type { Comparison } from "./compare-tree.ts";
import type { MirroredFile } from "./open-tree-source.ts";
import type { LookTools } from "./take-look.ts";

/**
 * The documents that mirror or knowledge base have and the manifest does not, oldest first. There are none unless it was lost, or
 * an earlier one was put in its place: then they are what the files at their paths were. Of several with one path the last has it,
 * unless the bytes tell otherwise.
 */
export async function recallEntries(
  { toRead }: Comparison,
  { manifest: open, mirrored, log }: LookTools,
): Promise<readonly ManifestEntry[]> {
  if (toRead.length === 0) return [];
  const known = await (await open()).knownAt(toRead.map(({ path }) => path));
  if (toRead.every(({ path }) => known.has(path))) return [];
  const recalled: ManifestEntry[] = [];
  for await (const page of mirrored()) for (const file of page) recalled.push(await entryOf(file));
  if (recalled.length > 0) {
    const what = plural(recalled.length, "document");
    log(`WARNING: the manifest does not have ${what} of mirror and knowledge base; they are recalled.`);
  }
  return recalled.sort((a, b) => compareText(a.lastSeenAt, b.lastSeenAt));
}

async function entryOf(file: MirroredFile): Promise<ManifestEntry> {
  const unknown = { stamp: "", node: "", error: "", missingSinceAt: "", deletedAt: "" };
  const versions = await file.versions();
  return { ...file, ...unknown, versions, status: "active", retryCount: 0, missingRuns: 0, lineage: [] };
}
