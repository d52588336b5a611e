import { hostname } from "node:os";
import { CancelledError, ConflictError, explain } from "../../contracts/errors.ts";
import type { ItemId } from "../../contracts/ids.ts";
import type { Member } from "../../contracts/members.ts";
import type { IngestItem } from "../../contracts/registry.ts";
import type { Listed, Listing, Source } from "../../contracts/source.ts";
import type { ItemFetcher, ItemVisitor, Visit } from "../../contracts/web.ts";
import { forEachConcurrent } from "../../lib/concurrency.ts";
import { slicesOf } from "../../lib/slices-of.ts";
import { plural } from "../../lib/text.ts";
import { isDue, isForced } from "../../plan/web/item-state.ts";
import { sightingOf } from "./page-sighting.ts";
import { withoutPeriod } from "./site/list-visit.ts";
import { singleChunk, type WebTools } from "./site/open-web-site.ts";
import type { WebSourceConfig } from "./web-source-codec.ts";

export type RegisteredTools = WebTools & {
  readonly items: ItemVisitor;
  readonly itemFetcher: ItemFetcher;
  readonly now: () => Date;
};

/** Addresses visited before they are listed. */
const PAGE = 200;

/** Opens the addresses that were registered one by one: visits those that are due, then lists what the registry has. */
export function openRegisteredUrls(config: WebSourceConfig, tools: RegisteredTools): Source {
  const { registry, items } = tools;
  return {
    id: config.sourceId,
    list: (signal) => listRegistered(config, tools, signal),
    async fetch({ itemId }, signal) {
      const found = await registry.get(itemId);
      const bytes = found && (await items.document(found.item, signal));
      return bytes ? { status: "fetched", body: singleChunk(bytes) } : { status: "gone" };
    },
    async *diagnose() {
      let count = 0;
      for await (const page of tools.members.in(tools.domainId, config.sourceId)) {
        count += page.filter(({ wanted }) => wanted === "asked").length;
      }
      const detail = `${plural(count, "address is", "addresses are")} registered.`;
      yield { subject: "Registered addresses", outcome: "ok", detail, remedy: "" };
    },
  };
}

async function* listRegistered(config: WebSourceConfig, tools: RegisteredTools, signal: AbortSignal): Listing {
  const members = new Map<ItemId, Member>();
  for await (const page of tools.members.in(tools.domainId, config.sourceId)) {
    for (const member of page) members.set(member.itemId, member);
  }
  // Other members are redirect targets of these.
  const registered = [...members.values()].filter(({ wanted }) => wanted === "asked");
  const listed = new Set<ItemId>();
  for (const slice of slicesOf(registered, PAGE)) {
    const ids = slice.map(({ itemId }) => itemId);
    const previewed = yield* visitDue(ids, tools, signal);
    const items = await resolve(ids, previewed, tools);
    yield items.flatMap((item) => describe(item, members, listed));
  }
  await dropUnused([...members.values()], listed, tools);
  return "complete";
}

/**
 * Returns the registry items of these addresses and of their redirect targets; in a dry run, as they would be. An address
 * that was an item itself and now redirects is included, so that it departs.
 */
async function resolve(
  ids: readonly ItemId[],
  previewed: ReadonlyMap<ItemId, IngestItem>,
  { registry }: RegisteredTools,
): Promise<IngestItem[]> {
  const known = new Map<ItemId, IngestItem>();
  let pending = ids;
  while (pending.length > 0) {
    const records = await registry.getMany(pending);
    const found = pending.flatMap((id, at) => previewed.get(id) ?? records[at]?.item ?? []);
    for (const item of found) known.set(item.id, item);
    const targets = new Set(found.flatMap(({ aliasOf }) => (aliasOf === "" || known.has(aliasOf) ? [] : [aliasOf])));
    pending = [...targets];
  }
  return [...known.values()];
}

/** Returns what is listed for an item; each item is listed once. */
function describe(item: IngestItem, members: ReadonlyMap<ItemId, Member>, listed: Set<ItemId>): Listed[] {
  const { id: itemId, status, content, scheduling } = item;
  if (listed.has(itemId)) return [];
  listed.add(itemId);
  if (item.aliasOf !== "")
    return [{ kind: "departed", itemId, successor: item.aliasOf, reason: "its address leads to another page" }];
  if (status === "Gone" || status === "OutOfScope") {
    return [{ kind: "departed", itemId, reason: scheduling.errorMessage || "it must not be indexed" }];
  }
  const isFetched = content.contentHash !== "";
  const isHeld = members.get(itemId)?.lastIndexedDocId || item.linkage.indexError;
  const isKept = status === "Crawled" || status === "Indexed" || isHeld;
  // The registry record is new, but the index has the document of the old one.
  if (!isFetched && members.get(itemId)?.lastIndexedDocId) {
    return [{ kind: "unreadable", itemId, path: item.displaySource, reason: scheduling.errorMessage }];
  }
  // Applies to unindexed items, too: a missing page must not be indexed from its stored document.
  if ((isFetched || isHeld) && scheduling.goneCount > 0)
    return [{ kind: "undecided", itemId, reason: withoutPeriod(scheduling.errorMessage) }];
  return isFetched && isKept ? [sightingOf(item)] : [];
}

/** Removes members that no registered address redirects to any more and that the index does not have. Others stay until the index removed them. */
async function dropUnused(
  all: readonly Member[],
  listed: ReadonlySet<ItemId>,
  { members, dryRun }: RegisteredTools,
): Promise<void> {
  if (dryRun) return;
  const isUnused = (member: Member): boolean => member.wanted === "led" && member.lastIndexedDocId === "";
  const unused = all.filter((member) => isUnused(member) && !listed.has(member.itemId));
  await members.change(unused, (known) => (known && isUnused(known) ? undefined : known));
}

/**
 * Visits the addresses that are due, or all if forced; skips those another process is visiting. Yields empty pages, so that a
 * crawl can be paused while hosts are slow. In a dry run, returns the items as they would be stored, by item and address.
 */
async function* visitDue(
  ids: readonly ItemId[],
  tools: RegisteredTools,
  signal: AbortSignal,
): AsyncGenerator<readonly Listed[], ReadonlyMap<ItemId, IngestItem>> {
  const previewed = new Map<ItemId, IngestItem>();
  const due = (await tools.registry.getMany(ids)).flatMap((record) =>
    record && (tools.force || isDue(record.item, tools.now())) ? [record.item] : [],
  );
  const counts = { changed: 0, failed: 0, deferred: 0 };
  for (let at = 0; at < due.length; at += tools.pagesAtOnce) {
    await forEachConcurrent(due.slice(at, at + tools.pagesAtOnce), tools.pagesAtOnce, async (item) => {
      if (signal.aborted) throw new CancelledError("looking at addresses stopped");
      const visit = tools.dryRun ? await preview(item, tools, signal, previewed) : await fetchItem(item, tools, signal);
      if (!visit) return;
      if (visit.outcome === "new" || visit.outcome === "changed") counts.changed += 1;
      if (visit.isDeferred) counts.deferred += 1;
      else if (visit.outcome === "failed") counts.failed += 1;
      if (visit.reason) tools.log(`'${item.displaySource}': ${visit.reason}`);
    });
    yield [];
  }
  if (due.length > 0) {
    const deferred = counts.deferred > 0 ? `, ${counts.deferred} postponed` : "";
    const counted = `${counts.changed} new or changed, ${counts.failed} failed${deferred}`;
    tools.log(`Visited ${plural(due.length, "address", "addresses")}: ${counted}.`);
  }
  return previewed;
}

async function fetchItem(
  { id, displaySource }: IngestItem,
  { itemFetcher, force, log }: RegisteredTools,
  signal: AbortSignal,
): Promise<Visit | undefined> {
  const worker = `${hostname()}:${process.pid}`;
  try {
    const fetched = await itemFetcher.fetch(id, { worker, when: force ? "always" : "due", force, tell: log, signal });
    return fetched.kind === "visited" ? fetched.visit : undefined;
  } catch (error) {
    if (!(error instanceof ConflictError)) throw error;
    log(`'${displaySource}': ${explain(error)}`);
    return undefined;
  }
}

async function preview(
  item: IngestItem,
  { items, force, log }: RegisteredTools,
  signal: AbortSignal,
  previewed: Map<ItemId, IngestItem>,
): Promise<Visit> {
  const options = {
    force: force || isForced(item),
    includeImages: item.includeImages,
    dryRun: true,
    tell: log,
    signal,
  };
  const visit = await items.visit(item, options);
  previewed.set(item.id, visit.item.id === item.id ? visit.item : { ...item, aliasOf: visit.item.id });
  previewed.set(visit.item.id, visit.item);
  return visit;
}
