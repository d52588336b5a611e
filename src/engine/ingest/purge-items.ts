import { explain } from "../../contracts/errors.ts";
import type { RegisteredItem } from "../../contracts/registry.ts";
import { toUtcMicros } from "../../lib/time.ts";
import type { OpenIngestParts } from "./create-ingest.ts";
import { deleteItem, dropItems, type Warn } from "./drop-items.ts";
import { REGISTERED_SOURCE } from "./ingest.ts";
import { rekeyItem } from "./rekey-item.ts";

const DAY_MS = 24 * 3600_000;

/** Forgets what has been gone for long enough, wherever it was registered. Not while an index still has it: there somebody has to confirm that it goes. */
export async function purgeGone(parts: OpenIngestParts, signal: AbortSignal, warn: Warn): Promise<number> {
  const { registry, members: all } = parts;
  let purged = 0;
  for await (const page of registry.entries({ statuses: ["Gone"] })) {
    for (const found of page) {
      if (signal.aborted) return purged;
      const { id, scheduling } = found.item;
      if (scheduling.lastChanged > limitOf(parts)) continue;
      const members = await all.of(id);
      if (members.some(({ lastIndexedDocId }) => lastIndexedDocId !== "")) continue;
      await all.change(members, () => undefined);
      if (await deleteItem(id, found.version, parts, warn)) purged += 1;
      // Somebody asked for it meanwhile.
      else await all.change(members, (known, member) => known ?? member);
    }
  }
  return purged;
}

/**
 * Forgets what no domain has and nobody has looked at for as long: pages that were once followed and led nowhere. What is
 * looked after although nobody has it registered, as a kill may leave it, is not looked after any more. What has another id by
 * today's rules gets it. While a ledger that was lost may still have to learn which addresses its domain has, nothing else is done.
 */
export async function purgeStray(parts: OpenIngestParts, signal: AbortSignal, warn: Warn): Promise<number> {
  const isWhole = await areMembersWhole(parts);
  let purged = 0;
  for await (const page of parts.registry.entries()) {
    const known = await parts.members.ofMany(page.map(({ item }) => item.id));
    for (const found of page) {
      if (signal.aborted) return purged;
      const { id, watched } = found.item;
      const members = known.get(id) ?? [];
      const idNow = await rekeyItem(found.item, parts).catch((error: unknown) => {
        warn(`Address '${id}' could not be given the id it has now: ${explain(error)}`);
        return id;
      });
      if (idNow !== id) await dropItems([id], parts, { keepLeft: false, warn });
      else if (!isWhole || members.some(({ sourceId }) => sourceId === REGISTERED_SOURCE)) continue;
      else if (watched) await dropItems([id], parts, { keepLeft: true, warn });
      else if (isStale(found, parts) && members.length === 0) {
        if (await deleteItem(id, found.version, parts, warn)) purged += 1;
      }
    }
  }
  return purged;
}

async function areMembersWhole({ domains, members }: OpenIngestParts): Promise<boolean> {
  for (const { domainId, sources } of (await domains.list()).domains) {
    const isRegistered = sources.some(({ sourceId }) => sourceId === REGISTERED_SOURCE);
    if (isRegistered && !(await members.isWhole(domainId, REGISTERED_SOURCE))) return false;
  }
  return true;
}

function isStale({ item: { scheduling } }: RegisteredItem, parts: OpenIngestParts): boolean {
  return scheduling.lastChecked <= limitOf(parts) && scheduling.firstSeen <= limitOf(parts);
}

function limitOf({ now, keepGoneDays }: OpenIngestParts): string {
  return toUtcMicros(new Date(now().getTime() - keepGoneDays * DAY_MS));
}
