import type { EngineParts, SourceRun } from "./engine-parts.ts";
import { withManifest } from "./tree-manifests.ts";

const JUST_MS = 10 * 60_000;

/**
 * Files of a tree that left in the last ten minutes and are not back. A watch looks while somebody deletes, and what a guard would
 * hold if it were seen at once must not slip through it piece by piece.
 */
export async function countJustLeft(
  { domainId, config }: SourceRun,
  parts: Pick<EngineParts, "crawlerFolder" | "openManifest" | "now">,
): Promise<number> {
  const since = new Date(parts.now().getTime() - JUST_MS).toISOString();
  return await withManifest(domainId, config, parts, async (manifest) => {
    let count = 0;
    for (const { lineage } of manifest.absent()) {
      if (lineage.some(({ event, at }) => event === "missing" && at >= since)) count += 1;
    }
    return count;
  });
}
