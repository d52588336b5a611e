import type { ItemId } from "../contracts/ids.ts";
import type { Ledger } from "../contracts/ledger.ts";
import type { RegisteredItem } from "../contracts/registry.ts";
import type { Listed, Listing, Source } from "../contracts/source.ts";
import type { SourceRun } from "../contracts/source-kind.ts";
import { newMember } from "../plan/web/member-standing.ts";
import type { EngineParts } from "./engine-parts.ts";
import type { ItemRecords } from "./ingest/drop-items.ts";
import { REGISTERED_SOURCE } from "./ingest/ingest.ts";

const UNREGISTERED =
  "the registry does not know it any more: register it again, or crawl with confirm_deletes=true to take it out of the index";

/**
 * Registered addresses that the index has and the registry has lost, with what they were called at the source. One that was
 * taken out is no such thing: it stays a member, marked as nobody's, until the index has nothing of it.
 */
export async function findUnregistered(
  run: SourceRun,
  ledger: Pick<Ledger, "entries">,
  { registry, members }: ItemRecords,
): Promise<ReadonlyMap<ItemId, string>> {
  const lost = new Map<ItemId, string>();
  if (!isOfRegistered(run)) return lost;
  const known = new Set<ItemId>();
  for await (const page of members.in(run.domainId, run.config.sourceId)) {
    const records = await registry.getMany(page.map(({ itemId }) => itemId));
    for (const [at, { itemId, wanted }] of page.entries()) if (records[at] || wanted === "no") known.add(itemId);
  }
  for await (const entries of ledger.entries()) {
    for (const { itemId, seen, indexed } of entries) {
      if (indexed?.fileId && !known.has(itemId)) lost.set(itemId, seen?.rawUrl || indexed.name);
    }
  }
  return lost;
}

interface KeepTools extends Pick<EngineParts, "shelf" | "domains" | "backend"> {
  readonly ledger: Ledger;
  readonly confirmDeletes: boolean;
  readonly dryRun: boolean;
}

/** The same source, with a word for what the registry lost: only what somebody took out, or confirms, leaves the index. */
export function keepUnregistered(source: Source, run: SourceRun, tools: KeepTools): Source {
  if (!isOfRegistered(run)) return source;
  return {
    ...source,
    async *list(signal): Listing {
      if (!tools.dryRun) await restoreMembers(run, tools, signal);
      const completeness = yield* source.list(signal);
      if (tools.confirmDeletes) return completeness;
      const lost = await findUnregistered(run, tools.ledger, tools.shelf());
      const kept = [...lost].map(
        ([itemId, path]): Listed => ({ kind: "unreadable", itemId, path, reason: UNREGISTERED }),
      );
      if (kept.length > 0) yield kept;
      return completeness;
    },
  };
}

/**
 * When the ledger was lost, its members were, too: addresses that the index has and the registry knows are members again, and those
 * that no domain has, if this is the only one in which addresses are registered.
 */
async function restoreMembers({ domainId, config }: SourceRun, tools: KeepTools, signal: AbortSignal): Promise<void> {
  const { registry, members } = tools.shelf();
  const { sourceId } = config;
  const { ledger } = tools;
  if (!ledger.wasLost) for await (const items of ledger.items()) if (items.length > 0) return;
  const restore = async (records: readonly (RegisteredItem | undefined)[]): Promise<void> => {
    const found = records.flatMap((record) => record?.item ?? []);
    const lost = found.map(({ id, watched }) => {
      const wanted = watched ? "asked" : "led";
      return { ...newMember(domainId, sourceId, id), wanted } as const;
    });
    await members.change(lost, (known, added) => known ?? added);
  };
  const { domains } = await tools.domains.list();
  const { vectorStoreId = "" } = domains.find((one) => one.domainId === domainId) ?? {};
  const index = vectorStoreId && (await tools.backend.openIndex(vectorStoreId, domainId, signal));
  if (!index) return;
  let isLost = false;
  for await (const held of index.holdings(sourceId)) {
    isLost ||= held.length > 0;
    await restore(await registry.getMany(held.map(({ itemId }) => itemId)));
  }
  const others = domains.filter(({ sources }) => sources.some((one) => one.sourceId === REGISTERED_SOURCE));
  if (!isLost || others.length > 1) return;
  for await (const page of registry.entries({ watched: true })) await restore(page);
}

function isOfRegistered({ config }: SourceRun): boolean {
  return config.kind.abilities.registersAddresses && config.sourceId === REGISTERED_SOURCE;
}
