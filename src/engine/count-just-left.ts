import type { Ledger } from "../contracts/ledger.ts";
import type { EngineParts } from "./engine-parts.ts";

const JUST_MS = 10 * 60_000;

/**
 * Files of a tree that left in the last ten minutes and are not back. A watch looks while somebody deletes, and what a guard would
 * hold if it were seen at once must not slip through it piece by piece.
 */
export async function countJustLeft({ manifest }: Ledger, parts: Pick<EngineParts, "now">): Promise<number> {
  const since = new Date(parts.now().getTime() - JUST_MS).toISOString();
  let count = 0;
  for await (const page of manifest.withStatus("missing", "deleted")) {
    for (const { lineage } of page) {
      if (lineage.some(({ event, at }) => event === "missing" && at >= since)) count += 1;
    }
  }
  return count;
}
