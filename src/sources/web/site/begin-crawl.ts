import { createHash } from "node:crypto";
import type { ItemId } from "../../../contracts/ids.ts";
import type { Registry } from "../../../contracts/registry.ts";
import type { CrawledPage, SiteMemory } from "../../../contracts/site-memory.ts";
import { plural } from "../../../lib/plural.ts";
import { findAddressSecret } from "../../../lib/secret-parameters.ts";
import { toUtcMicros } from "../../../lib/time.ts";
import type { WebSourceConfig } from "../web-source-codec.ts";
import { isThere, type LookedAt } from "./list-visit.ts";
import type { WebTools } from "./open-web-site.ts";
import { SiteMembers } from "./site-members.ts";

/** What a crawl starts from. */
export interface Beginning {
  readonly members: SiteMembers;
  readonly memory: SiteMemory;
}

/** Opens what is remembered, and goes on with a crawl of the same kind that was cut off. A dry run starts from the beginning. */
export async function beginCrawl(config: WebSourceConfig, tools: WebTools): Promise<Beginning> {
  const { sourceId, limits: _, ...what } = config;
  const members = new SiteMembers(tools.members, tools.domainId, sourceId, tools);
  await members.load();
  const site = digest(config.startUrls);
  const startedAt = toUtcMicros(new Date());
  const memory = await tools.openMemory({ digest: digest({ ...what, force: tools.force }), site, startedAt });
  const { pages, startedAt: before } = memory.resumes;
  if (pages > 0) tools.log(`Going on with the crawl of ${before}: ${plural(pages, "page")} looked at already.`);
  return { members, memory };
}

/** Pages of the crawl that was cut off, as the registry knows them. What an older registry knows nothing of is looked at again, and so are start addresses that were not there: a crawl has to say so. */
export async function* recallPages(
  memory: SiteMemory,
  registry: Registry,
  startUrls: readonly string[],
): AsyncGenerator<readonly (LookedAt & Pick<CrawledPage, "id">)[]> {
  for await (const pages of memory.lookedAt()) {
    const records = await registry.getMany(pages.map(({ item }) => item as ItemId));
    yield pages.flatMap(({ id, url, outcome, aliases }, i) => {
      const item = records[i]?.item;
      return item && (isThere(outcome) || !startUrls.includes(url))
        ? [{ id, outcome, aliases, item, reason: item.scheduling.errorMessage }]
        : [];
    });
  }
}

/** Nobody may write them into a source any more; whoever has some learns why pages behind them are not there. */
export function tellSecrets({ startUrls }: WebSourceConfig, log: WebTools["log"]): void {
  for (const [at, url] of startUrls.entries()) {
    const secret = findAddressSecret(new URL(url));
    if (secret) log(`WARNING: start address ${at + 1} holds ${secret}: pages are asked for without. Take it out.`);
  }
}

function digest(value: unknown): string {
  return createHash("sha256").update(JSON.stringify(value)).digest("hex").slice(0, 32);
}
