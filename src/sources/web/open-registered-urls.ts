import { hostname } from "node:os";
import { CancelledError, ConflictError, explain } from "../../contracts/errors.ts";
import type { ItemId } from "../../contracts/ids.ts";
import type { Member } from "../../contracts/members.ts";
import type { IngestItem } from "../../contracts/registry.ts";
import type { Listed, Listing, Source } from "../../contracts/source.ts";
import type { ItemFetcher, ItemVisitor, Visit } from "../../contracts/web.ts";
import { forEachConcurrent } from "../../lib/concurrency.ts";
import { plural } from "../../lib/text.ts";
import { isDue, isForced } from "../../plan/web/item-state.ts";
import { sightingOf } from "./page-sighting.ts";
import { withoutPeriod } from "./site/list-visit.ts";
import type { WebTools } from "./site/open-web-site.ts";
import type { WebSourceConfig } from "./web-source-codec.ts";

export type RegisteredTools = WebTools & {
  readonly items: ItemVisitor;
  readonly itemFetcher: ItemFetcher;
  readonly now: () => Date;
};

/** How many are looked at before the next of them are listed. */
const PAGE = 200;

/** The addresses that were registered one by one: looks at those that are due, then lists what the registry knows. */
export function openRegisteredUrls(config: WebSourceConfig, tools: RegisteredTools): Source {
  const { registry, items } = tools;
  return {
    id: config.sourceId,
    list: (signal) => listRegistered(config, tools, signal),
    async fetch({ itemId }, signal) {
      const found = await registry.get(itemId);
      const bytes = found && (await items.document(found.item, signal));
      return bytes ? { status: "fetched", body: inOnePiece(bytes) } : { status: "gone" };
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

async function* inOnePiece(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}

async function* listRegistered(config: WebSourceConfig, tools: RegisteredTools, signal: AbortSignal): Listing {
  const members = new Map<ItemId, Member>();
  for await (const page of tools.members.in(tools.domainId, config.sourceId)) {
    for (const member of page) members.set(member.itemId, member);
  }
  // The others are there because one of these leads to them.
  const registered = [...members.values()].filter(({ wanted }) => wanted === "asked");
  const listed = new Set<ItemId>();
  for (let at = 0; at < registered.length; at += PAGE) {
    const ids = registered.slice(at, at + PAGE).map(({ itemId }) => itemId);
    const previewed = yield* visitDue(ids, tools, signal);
    const items = await resolve(ids, previewed, tools);
    yield items.flatMap((item) => describe(item, members, listed));
  }
  await dropUnused([...members.values()], listed, tools);
  return "complete";
}

/**
 * The addresses and all they lead to, as they are known now; in a dry run, as they would be. One that was an item once and
 * leads to another one now leaves by its own name.
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

/** Each item once, whatever leads to it. */
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
  // Its record was made anew, and the index has the document of the old one.
  if (!isFetched && members.get(itemId)?.lastIndexedDocId) {
    return [{ kind: "unreadable", itemId, path: item.displaySource, reason: scheduling.errorMessage }];
  }
  // Also of one that no index has yet: what is not there is not to be taken in from what was kept of it.
  if ((isFetched || isHeld) && scheduling.goneCount > 0)
    return [{ kind: "undecided", itemId, reason: withoutPeriod(scheduling.errorMessage) }];
  return isFetched && isKept ? [sightingOf(item)] : [];
}

/** What no registered address leads to any more, and the index has nothing of. What was taken out waits for it to say so. */
async function dropUnused(
  all: readonly Member[],
  listed: ReadonlySet<ItemId>,
  { members, dryRun }: RegisteredTools,
): Promise<void> {
  if (dryRun) return;
  const isUnused = (one: Member): boolean => one.wanted === "led" && one.lastIndexedDocId === "";
  const unused = all.filter((one) => isUnused(one) && !listed.has(one.itemId));
  await members.change(unused, (known) => (known && isUnused(known) ? undefined : known));
}

/**
 * Looks at those whose time has come; at all of them when that is wished. What somebody else is looking at is left to them.
 * Hosts may be slow, so it yields pages that list nothing: there a crawl can be paused. A dry run looks, too, and gives what
 * it would have written down: the items by their ids, and those of their addresses.
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
  const counts = { changed: 0, failed: 0, unasked: 0 };
  for (let at = 0; at < due.length; at += tools.pagesAtOnce) {
    await forEachConcurrent(due.slice(at, at + tools.pagesAtOnce), tools.pagesAtOnce, async (item) => {
      if (signal.aborted) throw new CancelledError("looking at addresses stopped");
      const visit = tools.dryRun ? await preview(item, tools, signal, previewed) : await fetchItem(item, tools, signal);
      if (!visit) return;
      if (visit.outcome === "new" || visit.outcome === "changed") counts.changed += 1;
      if (visit.isDeferred) counts.unasked += 1;
      else if (visit.outcome === "failed") counts.failed += 1;
      if (visit.reason) tools.log(`'${item.displaySource}': ${visit.reason}`);
    });
    yield [];
  }
  if (due.length > 0) {
    const unasked = counts.unasked > 0 ? `, ${counts.unasked} not asked for now` : "";
    const counted = `${counts.changed} new or changed, ${counts.failed} failed${unasked}`;
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
    const outcome_ = await itemFetcher.fetch(id, { worker, when: force ? "always" : "due", force, tell: log, signal });
    return outcome_.kind === "visited" ? outcome_.visit : undefined;
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
