import { isSameSource } from "../../contracts/domain.ts";
import type { ErasedItem, ErasureRecords, Hold } from "../../contracts/erasure.ts";
import { BadInputError, ConflictError, NotFoundError } from "../../contracts/errors.ts";
import type { DomainId, ItemId, SourceId } from "../../contracts/ids.ts";
import type { JobContext } from "../../contracts/job.ts";
import { sourceLease } from "../../contracts/lease.ts";
import { erasedKey } from "../../domains/erasure-store.ts";
import { pathExists } from "../../lib/file-system.ts";
import { nowUtcMicros } from "../../lib/time.ts";
import type { EngineParts } from "../engine-parts.ts";
import { folderOfRun } from "../with-ledger.ts";
import { findItems, sourceRuns, type WantedItems } from "./find-items.ts";

interface HeldItem {
  readonly sourceId: SourceId;
  readonly itemId: ItemId;
}

/** Returns the hold on an item, its own before that of the domain. */
export function holdOn(holds: readonly Hold[], { sourceId, itemId }: HeldItem): Hold | undefined {
  if (holds.length === 0) return undefined;
  const key = erasedKey(itemId);
  return holds.find((hold) => hold.sourceId === sourceId && hold.item === key) ?? holds.find(isOfDomain);
}

function isOfDomain({ item }: Hold): boolean {
  return item === "";
}

/** Throws ConflictError, naming who set the hold, if one of the items is held. `done`: "erased". */
export function refuseHeld(holds: readonly Hold[], domainId: DomainId, items: readonly HeldItem[], done: string): void {
  for (const item of items) {
    const hold = holdOn(holds, item);
    if (hold) throw new ConflictError(`${sayHold(hold, domainId)} It cannot be ${done} until the hold is lifted.`);
  }
}

/** Throws ConflictError if anything of the domain is held: deleting it would delete that. */
export async function refuseHeldDomain(domainId: DomainId, { erasures }: Pick<EngineParts, "erasures">): Promise<void> {
  const { holds } = await erasures.read(domainId);
  const hold = holds.find(isOfDomain) ?? holds[0];
  if (!hold) return;
  throw new ConflictError(`${sayHold(hold, domainId)} The domain cannot be deleted until the hold is lifted.`);
}

export function sayHold({ item, sourceId, by, at, reason }: Hold, domainId: DomainId): string {
  const what = item === "" ? `Domain '${domainId}'` : `Item '${item}' of source '${sourceId}'`;
  return `${what} is held by ${by} since ${at.slice(0, 10)}${reason ? ` (${reason})` : ""}.`;
}

/** The hold that keeps a source from being removed as a whole. */
export function holdInSource(holds: readonly Hold[], sourceId: SourceId): Hold | undefined {
  return holds.find((hold) => isOfDomain(hold) || hold.sourceId === sourceId);
}

export interface HoldRequest extends Omit<WantedItems, "search"> {
  readonly domainId: DomainId;
  readonly reason: string;
  readonly by: string;
}

/** Holds a document, or the whole domain if none is named. The same hold again replaces its reason. */
export async function setHold(
  request: HoldRequest,
  parts: EngineParts,
  job: Pick<JobContext, "signal">,
): Promise<Hold> {
  const { domainId, reason, by } = request;
  const { sourceId, item } = await keyOf(request, parts, job);
  const hold: Hold = { sourceId, item, reason, by, at: nowUtcMicros() };
  await parts.erasures.change(domainId, (records) => ({
    ...records,
    holds: [...records.holds.filter((one) => !isSame(one, hold)), hold],
  }));
  return hold;
}

/** Lifts a hold; NotFoundError if there is none. `item` names it as the list does. */
export async function liftHold(
  domainId: DomainId,
  wanted: { readonly sourceId: SourceId | ""; readonly item: string },
  { erasures }: Pick<EngineParts, "erasures">,
): Promise<Hold> {
  let lifted: Hold | undefined;
  await erasures.change(domainId, (records) => {
    lifted = records.holds.find((one) => isSame(one, wanted));
    return lifted ? { ...records, holds: records.holds.filter((one) => one !== lifted) } : records;
  });
  if (lifted) return lifted;
  const what = wanted.item === "" ? `Domain '${domainId}'` : `Item '${wanted.item}' of source '${wanted.sourceId}'`;
  throw new NotFoundError(`${what} has no hold of its own.`);
}

/** Lets erased items be crawled again: all of an erasing, or one item of a source. Returns how many. */
export async function allowErased(domainId: DomainId, item: string, parts: EngineParts): Promise<number> {
  const { erasures } = parts;
  let allowed = 0;
  const { erased } = await erasures.read(domainId);
  await listAgain(
    domainId,
    erased.filter((one) => one.item === item || one.erasureId === item),
    parts,
  );
  await erasures.change(domainId, (records): ErasureRecords => {
    const named = records.erased.filter((one) => one.item === item || one.erasureId === item);
    if (named.some(({ finishedAt }) => finishedAt === "")) {
      throw new ConflictError("Its erasing was interrupted and is not finished: crawl the domain, or erase it again.");
    }
    allowed = named.length;
    return allowed > 0 ? { ...records, erased: records.erased.filter((one) => !named.includes(one)) } : records;
  });
  if (allowed > 0) return allowed;
  throw new NotFoundError(`Domain '${domainId}' has not erased an item '${item.slice(0, 200)}'.`);
}

/** A change feed does not report what did not change: the next crawl lists these sources as a whole. */
async function listAgain(domainId: DomainId, items: readonly ErasedItem[], parts: EngineParts): Promise<void> {
  for (const run of await sourceRuns(await parts.domains.get(domainId), parts)) {
    if (!items.some((item) => isSameSource(item, run.config)) || !(await pathExists(folderOfRun(run, parts)))) continue;
    const late = new AbortController();
    const onWait = (holder: string): void =>
      late.abort(
        new ConflictError(`Source '${run.config.sourceId}' is in use by ${holder}. Try again when that is over.`),
      );
    const options = { owner: "allowing an erased item", signal: late.signal, onWait };
    await using _lease = await parts.ledgers.leases.acquire(domainId, sourceLease(run.config, "download"), options);
    const ledger = await parts.ledgers.open(run, { readOnly: false });
    if (ledger.listing) ledger.noteListing({ ...ledger.listing, cursor: "" });
    await ledger.close();
  }
}

function isSame(a: Pick<Hold, "sourceId" | "item">, b: Pick<Hold, "sourceId" | "item">): boolean {
  return a.item === b.item && (a.item === "" || a.sourceId === b.sourceId);
}

async function keyOf(
  request: HoldRequest,
  parts: EngineParts,
  job: Pick<JobContext, "signal">,
): Promise<Pick<Hold, "sourceId" | "item">> {
  const { domainId, document, itemId } = request;
  const domain = await parts.domains.get(domainId);
  if (document === undefined && itemId === undefined) return { sourceId: "", item: "" };
  const { vectorStoreId } = domain;
  const index = vectorStoreId ? await parts.backend.openIndex(vectorStoreId, domainId, job.signal) : undefined;
  const found = await findItems(domain, request, index, parts);
  const [only, ...others] = found;
  if (!only) throw new NotFoundError(`Domain '${domainId}' has no document of that name or id.`);
  if (others.length > 0) throw new BadInputError("Several sources have that item: name its source, too.");
  return { sourceId: only.run.config.sourceId, item: erasedKey(only.itemId) };
}
