import { createHash } from "node:crypto";
import type { WebSourceConfig } from "../../../contracts/domain.ts";
import type { ItemId } from "../../../contracts/ids.ts";
import type { Registry } from "../../../contracts/registry.ts";
import { plural } from "../../../lib/plural.ts";
import { findAddressSecret } from "../../../lib/secret-parameters.ts";
import { toUtcMicros } from "../../../lib/time.ts";
import type { CrawlLine } from "./crawl-lines.ts";
import { CrawlLog } from "./crawl-log.ts";
import { LinkMemory } from "./link-memory.ts";
import type { LookedAt } from "./list-visit.ts";
import type { WebTools } from "./open-web-site.ts";
import { SiteMembers } from "./site-members.ts";

/** What a crawl starts from. */
export interface Beginning {
  readonly members: SiteMembers;
  readonly memory: LinkMemory;
  readonly log: CrawlLog;
  /** Pages that a crawl which was cut off has looked at, without their links. */
  readonly recalled: readonly CrawlLine[];
  /** It did not see all that some of them link to. */
  readonly isBlind: boolean;
}

/** Opens what is remembered, and goes on with a crawl of the same kind that was cut off. A dry run starts from the beginning. */
export async function beginCrawl(config: WebSourceConfig, tools: WebTools): Promise<Beginning> {
  const { sourceId, limits: _, ...what } = config;
  const { folder, dryRun, force } = tools;
  const members = new SiteMembers(tools.members, tools.domainId, sourceId, tools);
  await members.load();
  const site = digest(config.startUrls);
  const memory = await LinkMemory.open(folder, site);
  if (dryRun) return { members, memory, log: CrawlLog.dry(folder), recalled: [], isBlind: false };
  const recalled: CrawlLine[] = [];
  let isBlind = false;
  const head = { digest: digest({ ...what, force }), site, startedAt: toUtcMicros(new Date()) };
  const { log, resumes } = await CrawlLog.open(folder, head, (line) => {
    // What failed then is tried again now.
    if (line.outcome === "failed") return;
    isBlind ||= line.isBlind;
    if (line.item !== "") recalled.push({ ...line, links: [], feeds: [] });
  });
  if (recalled.length > 0) {
    tools.log(`Going on with the crawl of ${resumes}: ${plural(recalled.length, "page")} looked at already.`);
  }
  return { members, memory, log, recalled, isBlind };
}

const RECORDS_AT_ONCE = 200;

/** Pages of the crawl that was cut off, as the registry knows them. What an older registry knows nothing of is looked at again. */
export async function* recallPages(
  { recalled }: Beginning,
  registry: Registry,
): AsyncGenerator<readonly (LookedAt & Pick<CrawlLine, "id">)[]> {
  for (let at = 0; at < recalled.length; at += RECORDS_AT_ONCE) {
    const lines = recalled.slice(at, at + RECORDS_AT_ONCE);
    const records = await registry.getMany(lines.map(({ item }) => item as ItemId));
    yield lines.flatMap(({ id, outcome, aliases }, i) => {
      const item = records[i]?.item;
      return item ? [{ id, outcome, aliases, item, reason: item.scheduling.errorMessage }] : [];
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
