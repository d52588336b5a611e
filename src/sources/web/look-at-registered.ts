import { hostname } from "node:os";
import { CancelledError, ConflictError, explain } from "../../contracts/errors.ts";
import type { ItemId } from "../../contracts/ids.ts";
import type { IngestItem } from "../../contracts/registry.ts";
import type { Listed } from "../../contracts/source.ts";
import type { Visit } from "../../contracts/web.ts";
import { isDue, isForced } from "../../detect/web/schedule-item.ts";
import { forEachConcurrent } from "../../lib/concurrency.ts";
import { plural } from "../../lib/plural.ts";
import type { RegisteredTools } from "./open-registered-urls.ts";

/**
 * Looks at those whose time has come; at all of them when that is wished. What somebody else is looking at is left to them.
 * Hosts may be slow, so it yields pages that list nothing: there a crawl can be paused. A dry run looks, too, and gives what
 * it would have written down: the items by their ids, and those of their addresses.
 */
export async function* lookAtRegistered(
  ids: readonly ItemId[],
  tools: RegisteredTools,
  signal: AbortSignal,
): AsyncGenerator<readonly Listed[], ReadonlyMap<ItemId, IngestItem>> {
  const foreseen = new Map<ItemId, IngestItem>();
  const due = (await tools.registry.getMany(ids)).flatMap((record) =>
    record && (tools.force || isDue(record.item, tools.now())) ? [record.item] : [],
  );
  const counts = { changed: 0, failed: 0, unasked: 0 };
  for (let at = 0; at < due.length; at += tools.pagesAtOnce) {
    await forEachConcurrent(due.slice(at, at + tools.pagesAtOnce), tools.pagesAtOnce, async (item) => {
      if (signal.aborted) throw new CancelledError("looking at addresses stopped");
      const visit = tools.dryRun ? await foresee(item, tools, signal, foreseen) : await look(item, tools, signal);
      if (!visit) return;
      if (visit.outcome === "new" || visit.outcome === "changed") counts.changed += 1;
      if (visit.isUnasked) counts.unasked += 1;
      else if (visit.outcome === "failed") counts.failed += 1;
      if (visit.reason) tools.log(`'${item.displaySource}': ${visit.reason}`);
    });
    yield [];
  }
  if (due.length > 0) {
    const unasked = counts.unasked > 0 ? `, ${counts.unasked} not asked for now` : "";
    const told = `${counts.changed} new or changed, ${counts.failed} failed${unasked}`;
    tools.log(`Looked at ${plural(due.length, "address", "addresses")}: ${told}.`);
  }
  return foreseen;
}

async function look(
  { id, displaySource }: IngestItem,
  { looker, force, log }: RegisteredTools,
  signal: AbortSignal,
): Promise<Visit | undefined> {
  const worker = `${hostname()}:${process.pid}`;
  try {
    const looked = await looker.look(id, { worker, when: force ? "always" : "due", force, tell: log, signal });
    return looked.kind === "visited" ? looked.visit : undefined;
  } catch (error) {
    if (!(error instanceof ConflictError)) throw error;
    log(`'${displaySource}': ${explain(error)}`);
    return undefined;
  }
}

async function foresee(
  item: IngestItem,
  { items, force, log }: RegisteredTools,
  signal: AbortSignal,
  foreseen: Map<ItemId, IngestItem>,
): Promise<Visit> {
  const options = {
    force: force || isForced(item),
    includeImages: item.includeImages,
    dryRun: true,
    tell: log,
    signal,
  };
  const visit = await items.visit(item, options);
  foreseen.set(item.id, visit.item.id === item.id ? visit.item : { ...item, aliasOf: visit.item.id });
  foreseen.set(visit.item.id, visit.item);
  return visit;
}
