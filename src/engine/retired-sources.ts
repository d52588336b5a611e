import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { type Domain, SOURCE_KINDS, SOURCE_TYPES, type SourceConfig, type SourceType } from "../contracts/domain.ts";
import { parseSourceId, type SourceId } from "../contracts/ids.ts";
import type { Listing, Source } from "../contracts/source.ts";
import { DEFAULT_LIMITS } from "../domains/source-codec.ts";
import { isErrno } from "../lib/atomic-file.ts";

/** Sources that were crawled once and are not in the domain any more: their folders tell. */
export async function findRetired(domain: Domain, crawlerFolder: string): Promise<SourceConfig[]> {
  const retired: SourceConfig[] = [];
  for (const sourceType of SOURCE_TYPES) {
    for (const name of await foldersIn(join(crawlerFolder, domain.domainId, SOURCE_KINDS[sourceType].folder))) {
      const configured = domain.sources.some((source) => source.sourceType === sourceType && source.sourceId === name);
      if (configured || !/^[A-Za-z0-9_-]{1,64}$/.test(name)) continue;
      retired.push(retiredConfig(sourceType, parseSourceId(name)));
    }
  }
  return retired;
}

function retiredConfig(sourceType: SourceType, sourceId: SourceId): SourceConfig {
  if (sourceType === "web_sources") {
    const nothing = { startUrls: [], include: [], exclude: [], maxDepth: 0, maxPages: 0, images: false };
    return { sourceType, sourceId, ...nothing, limits: DEFAULT_LIMITS };
  }
  const place = { sourceId, siteUrl: "", filter: "", limits: DEFAULT_LIMITS };
  return sourceType === "list_sources" ? { ...place, sourceType, listName: "" } : { ...place, sourceType, urlPart: "" };
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
    examine: async function* () {},
  };
}

/** None where there is no such folder. */
export async function foldersIn(path: string): Promise<string[]> {
  try {
    const entries = await readdir(path, { withFileTypes: true });
    return entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
  } catch (error) {
    if (isErrno(error, "ENOENT")) return [];
    throw error;
  }
}
