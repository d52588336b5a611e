import type { ItemId } from "../contracts/ids.ts";
import type { Ledger } from "../contracts/ledger.ts";
import type { FailedRef, Index } from "../contracts/search-index.ts";
import type { SourceRun } from "../contracts/source-kind.ts";
import type { Mirror } from "../mirror/mirror.ts";
import { heldBecause } from "../plan/removal-guard.ts";
import type { CrawlRequest } from "./crawl-request.ts";
import type { SourceLook } from "./download.ts";
import type { IndexTarget } from "./index-target.ts";

interface Filled {
  readonly failed: readonly FailedRef[];
  readonly look: SourceLook | undefined;
  readonly ledger: Ledger;
  readonly mirror: Mirror;
}

/** Why the store that is being filled must not take the place of the old one yet, as far as this source goes. */
export async function findShortfalls(
  run: SourceRun,
  request: CrawlRequest,
  { failed, look, ledger, mirror }: Filled,
  { index, swap }: IndexTarget,
): Promise<string[]> {
  if (!swap) return [];
  const { sourceId } = run.config;
  const shortfalls: string[] = [];
  const passing = failed.filter(({ permanent }) => !permanent).length;
  if (passing > 0) shortfalls.push(`${passing} documents of source '${sourceId}' failed, and may succeed next time`);
  const [before, now] = [await itemsIn(swap.index, run), await itemsIn(index, run)];
  const told = new Set(failed.map(({ itemId }) => itemId));
  const missing = [...before].filter((itemId) => !now.has(itemId) && !told.has(itemId));
  const entries = await ledger.getMany(missing);
  const waiting = entries.filter((entry) => entry?.mirrored && !mirror.isFailed(entry.mirrored.file)).length;
  if (waiting > 0) shortfalls.push(`${waiting} documents of source '${sourceId}' are not ready to be embedded`);
  // What nothing is known of is gone, if a look saw everything and so great a loss is believable.
  const gone = entries.filter((entry) => !entry).length;
  const loss = { missing: gone, known: before.size, listed: look?.listed ?? 0 };
  if (gone > 0 && (!look?.sawAll || heldBecause(loss, { ...request, limits: run.config.limits }))) {
    shortfalls.push(`${gone} documents of source '${sourceId}' would be lost, of which the map files know nothing`);
  }
  return shortfalls;
}

async function itemsIn(index: Index, { config }: SourceRun): Promise<ReadonlySet<ItemId>> {
  const items = new Set<ItemId>();
  for await (const refs of index.holdings(config.sourceId)) for (const { itemId } of refs) items.add(itemId);
  return items;
}
