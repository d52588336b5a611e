import { randomBytes } from "node:crypto";
import { setInterval } from "node:timers";
import { ConflictError } from "../../contracts/errors.ts";
import type { ItemId } from "../../contracts/ids.ts";
import type { IngestItem } from "../../contracts/registry.ts";
import type { ItemFetcher, ItemVisitOptions, ItemVisitor, ItemVisitResult } from "../../contracts/web.ts";
import type { IdentityRules } from "../../plan/web/item-identity.ts";
import { isDue, isForced } from "../../plan/web/item-state.ts";
import { LOCK_MS, lock, mayLock, unlock } from "../../plan/web/item-transitions.ts";
import { withoutMessage } from "./item-queue.ts";
import { changeItem, type ItemRecords, syncMembers } from "./item-records.ts";
import { type RekeyParts, rekeyItem } from "./rekey-item.ts";

interface ItemFetcherParts extends ItemRecords {
  readonly visitor: ItemVisitor;
  readonly documents: RekeyParts["documents"];
  readonly rules: IdentityRules;
  /** A worker that does not renew its lock for this long loses the item. */
  readonly lockMs?: number;
  readonly now?: () => Date;
}

/** Reads the item, locks it by its version, visits and unlocks it: of several workers, one gets it. */
export function createItemFetcher(parts: ItemFetcherParts): ItemFetcher {
  return { fetch: (id, options) => fetchItem(id, options, { lockMs: LOCK_MS, now: () => new Date(), ...parts }) };
}

async function fetchItem(
  id: ItemId,
  options: ItemVisitOptions,
  parts: Required<ItemFetcherParts>,
): Promise<ItemVisitResult> {
  // Unique per visit: the loops of one worker compete, too.
  const token = `${options.worker} ${randomBytes(4).toString("hex")}`;
  const begun = await begin(id, token, options, parts);
  if (begun.kind !== "begun") return begun;
  const { item, locked } = begun;
  const idNow = await rekeyItem(item, parts);
  if (idNow !== id) {
    await release(locked, token, parts);
    return await fetchItem(idNow, options, parts);
  }
  const held = keepLocks(locked, token, parts, options.heartbeat);
  try {
    const visit = await parts.visitor.visit(item, {
      force: options.force || isForced(item),
      includeImages: item.includeImages,
      // A new address may redirect anywhere. A known page must stay on its site.
      ...(item.content.contentHash === "" && { inScope: () => true }),
      ...(options.tell && { tell: options.tell }),
      signal: AbortSignal.any([options.signal, held.lost]),
    });
    await syncMembers(id, visit.item.id, parts);
    return { kind: "visited", visit };
  } catch (error) {
    if (!held.lost.aborted) throw error;
    throw new ConflictError(`fetch ${item.displaySource}: it took too long, and another worker took it over`, {
      cause: error,
    });
  } finally {
    await held.end();
    await release(locked, token, parts);
  }
}

type Begun = Exclude<ItemVisitResult, { kind: "visited" }> | Locked;

interface Locked {
  readonly kind: "begun";
  readonly item: IngestItem;
  readonly locked: readonly ItemId[];
}

/** Locks the item. An alias is locked together with the item it leads to. */
async function begin(
  id: ItemId,
  token: string,
  options: ItemVisitOptions,
  parts: Required<ItemFetcherParts>,
): Promise<Begun> {
  const first = await lockOne(id, token, options.when, parts);
  if (first.kind !== "begun" || first.item.aliasOf === "") return first;
  const second = await lockOne(first.item.aliasOf, token, "always", parts);
  if (second.kind === "begun") return { ...first, locked: [...first.locked, ...second.locked] };
  if (second.kind === "absent") return first;
  await release(first.locked, token, parts);
  return second;
}

async function lockOne(
  id: ItemId,
  token: string,
  when: ItemVisitOptions["when"],
  { registry, now, lockMs }: Required<ItemFetcherParts>,
): Promise<Begun> {
  for (;;) {
    const found = await registry.get(id);
    if (!found) return { kind: "absent" };
    const { item, version } = found;
    if (!mayLock(item, token, now())) return { kind: "busy", until: item.lock.lockedUntil };
    if (when === "due" && !isDue(item, now())) return { kind: "not due" };
    try {
      await registry.put(lock(withoutMessage(item), token, now(), lockMs), version);
      return { kind: "begun", item, locked: [id] };
    } catch (error) {
      if (!(error instanceof ConflictError)) throw error;
    }
  }
}

/** A lock that cannot be released now expires. */
async function release(ids: readonly ItemId[], token: string, { registry }: Required<ItemFetcherParts>): Promise<void> {
  for (const id of ids) await changeItem(registry, id, (item) => unlock(item, token)).catch(() => undefined);
}

interface HeldLocks {
  /** Aborts when another worker has the locks, or may have them because they could not be renewed in time. */
  readonly lost: AbortSignal;
  /** Stops renewing; resolves when no write is under way any more. */
  end(): Promise<void>;
}

/** Renews the locks until `end`. */
function keepLocks(
  ids: readonly ItemId[],
  token: string,
  { registry, lockMs, now }: Required<Pick<ItemFetcherParts, "registry" | "lockMs" | "now">>,
  heartbeat: () => Promise<boolean> = async () => true,
): HeldLocks {
  const lost = new AbortController();
  let renewedAtMs = performance.now();
  let renewing = Promise.resolve();
  const renew = async (): Promise<boolean> => {
    for (const id of ids) {
      const renewed = await changeItem(registry, id, (item) =>
        item.lock.lockedBy === token ? lock(item, token, now(), lockMs) : item,
      );
      if (renewed?.item.lock.lockedBy !== token) return false;
    }
    return await heartbeat();
  };
  const timer = setInterval(() => {
    const startedAtMs = performance.now();
    renewing = renewing.then(renew).then(
      (held) => {
        if (held) renewedAtMs = startedAtMs;
        else lost.abort();
      },
      () => {
        if (performance.now() - renewedAtMs > lockMs) lost.abort();
      },
    );
  }, lockMs / 4);
  return {
    lost: lost.signal,
    async end() {
      clearInterval(timer);
      await renewing;
    },
  };
}
