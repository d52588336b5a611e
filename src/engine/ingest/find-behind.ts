import { createHash } from "node:crypto";
import { NotFoundError } from "../../contracts/errors.ts";
import type { DomainId, ItemId } from "../../contracts/ids.ts";
import type { Member } from "../../contracts/members.ts";
import type { IngestItem } from "../../contracts/registry.ts";
import type { DomainStore } from "../../domains/domain-store.ts";
import { forEachConcurrent } from "../../lib/concurrency.ts";
import { isInStep, withStanding } from "../../plan/web/member-standing.ts";
import type { ItemRecords } from "./drop-items.ts";
import { type Behind, REGISTERED_SOURCE } from "./ingest.ts";
import { settleItem } from "./settle-item.ts";

const WRITES_AT_ONCE = 8;

interface BehindParts extends ItemRecords {
  readonly domains: Pick<DomainStore, "get">;
}

/** Sites are crawled when somebody wishes it; only a request for one of their pages is a wish. */
export async function findBehind(parts: BehindParts): Promise<readonly Behind[]> {
  const { registry } = parts;
  const counts = new Map<string, Behind>();
  const count = ({ domainId, sourceId, itemId }: Member): void => {
    const key = JSON.stringify([domainId, sourceId]);
    const { items, which } = counts.get(key) ?? { items: 0, which: "0" };
    counts.set(key, { domainId, sourceId, items: items + 1, which: withItem(which, itemId) });
  };
  for await (const page of registry.entries({ statuses: ["Crawled"] })) {
    const known = await parts.members.ofMany(page.map(({ item }) => item.id));
    await forEachConcurrent(page, WRITES_AT_ONCE, async ({ item }) => {
      const members = known.get(item.id) ?? [];
      if (withStanding(item, members) === item) members.filter((one) => lacks(one, item)).forEach(count);
      // The index got it while somebody looked at it.
      else await settleItem(item.id, item.id, parts);
    });
  }
  for await (const page of registry.entries({ statuses: ["Gone", "OutOfScope"], watched: true })) {
    const known = await parts.members.ofMany(page.map(({ item }) => item.id));
    [...known.values()].flat().filter(hasTooMuch).forEach(count);
  }
  const behind: Behind[] = [];
  for (const one of counts.values()) if (await exists(one, parts.domains)) behind.push(one);
  return behind;
}

function lacks(member: Member, item: IngestItem): boolean {
  if (member.sourceId === REGISTERED_SOURCE) return !isInStep(member, item);
  return member.indexedGeneration < Math.min(item.requestedGeneration, item.processedGeneration);
}

/** In whatever order they are met. */
function withItem(which: string, id: ItemId): string {
  return (BigInt(which) ^ BigInt(`0x${createHash("sha256").update(id).digest("hex")}`)).toString();
}

function hasTooMuch({ sourceId, lastIndexedDocId, wanted }: Member): boolean {
  return sourceId === REGISTERED_SOURCE && (lastIndexedDocId !== "" || wanted === "no");
}

async function exists(
  { domainId, sourceId }: { readonly domainId: DomainId; readonly sourceId: string },
  domains: Pick<DomainStore, "get">,
): Promise<boolean> {
  try {
    return (await domains.get(domainId)).sources.some((source) => source.sourceId === sourceId);
  } catch (error) {
    if (error instanceof NotFoundError) return false;
    throw error;
  }
}
