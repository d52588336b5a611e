import { readdir } from "node:fs/promises";
import { join } from "node:path";
import type { Domain, SourceConfig, SourceType } from "../contracts/domain.ts";
import { parseSourceId } from "../contracts/ids.ts";
import type { Listing, Source } from "../contracts/source.ts";
import { isErrno } from "../lib/atomic-file.ts";
import { SOURCE_TYPE_FOLDERS } from "../mirror/layout.ts";

/** Nobody can say any more how much of it may vanish at once. */
const LIMITS = { maxRemovals: 25, maxRemovalsPercent: 25, allowEmpty: false };

/** Sources that were crawled once and are not in the domain any more: their folders tell. */
export async function findRetired(domain: Domain, crawlerFolder: string): Promise<SourceConfig[]> {
  const retired: SourceConfig[] = [];
  for (const [sourceType, folder] of Object.entries(SOURCE_TYPE_FOLDERS) as [SourceType, string][]) {
    for (const name of await foldersIn(join(crawlerFolder, domain.domainId, folder))) {
      const configured = domain.sources.some((source) => source.sourceType === sourceType && source.sourceId === name);
      if (configured || !/^[A-Za-z0-9_-]{1,64}$/.test(name)) continue;
      retired.push({ sourceId: parseSourceId(name), sourceType, siteUrl: "", urlPart: "", filter: "", limits: LIMITS });
    }
  }
  return retired;
}

/** To the rest of the engine a source that was taken out is one that has nothing any more: same plan, same guard. */
export function retiredSource(config: SourceConfig): Source {
  return {
    id: config.sourceId,
    // biome-ignore lint/correctness/useYield: there is nothing to yield, and that is the point.
    list: async function* (): Listing {
      return "complete";
    },
    fetch: async () => ({ status: "gone" }),
  };
}

async function foldersIn(path: string): Promise<string[]> {
  try {
    const entries = await readdir(path, { withFileTypes: true });
    return entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
  } catch (error) {
    if (isErrno(error, "ENOENT")) return [];
    throw error;
  }
}
