import type { Backend } from "../../contracts/backend.ts";
import type { DomainId, ItemId } from "../../contracts/ids.ts";
import type { Member, Members } from "../../contracts/members.ts";
import type { IngestItem, ItemPage, ItemQuery, Registry, RegistrySummary } from "../../contracts/registry.ts";
import type { Index, IndexedRef } from "../../contracts/search-index.ts";
import type { DomainStore } from "../../domains/domain-store.ts";
import { slicesOf } from "../../lib/slices-of.ts";
import { withIndexStatus } from "../../plan/web/item-transitions.ts";

/*
 * Responses give items the status *indexed* only if readers can see them. Stored records follow the newest generation: a rollback does
 * not change them, so they are right again when it ends.
 */

export interface ShownParts {
  readonly registry: Pick<Registry, "list" | "entries" | "summary">;
  readonly members: Pick<Members, "ofMany">;
  readonly domains: Pick<DomainStore, "list" | "get">;
  readonly backend: Pick<Backend, "openIndex" | "commits">;
}

export interface ShownItem {
  readonly item: IngestItem;
  readonly members: readonly Member[];
}

/** A domain whose readers are not shown what its registry says is indexed. */
export interface HeldBack {
  readonly domainId: DomainId;
  /** Both 0: its vector store is gone. */
  readonly shown: number;
  readonly newest: number;
}

export type ShownSummary = RegistrySummary & { readonly heldBack: readonly HeldBack[] };

const AT_ONCE = 1000;

/** Returns the items and their members as readers are shown them, in the order given. */
export async function asShown(items: readonly IngestItem[], parts: ShownParts): Promise<ShownItem[]> {
  const open = opener(parts);
  const shown: ShownItem[] = [];
  for (const some of slicesOf(items, AT_ONCE)) {
    const known = await parts.members.ofMany(some.map(({ id }) => id));
    const members = Map.groupBy(await membersAsShown([...known.values()].flat(), open), ({ itemId }) => itemId);
    for (const item of some) shown.push(itemAsShown(item, members.get(item.id) ?? []));
  }
  return shown;
}

/** undefined: the store does not tell, and what is stored counts. null: there is no store, so nothing is shown. */
type OpenShown = (domainId: DomainId) => Promise<Pick<Index, "shown"> | null | undefined>;

/** Opens each store once. The network is not asked for an answer about items. */
function opener({ domains, backend }: Pick<ShownParts, "domains" | "backend">): OpenShown {
  const opened = new Map<DomainId, ReturnType<OpenShown>>();
  const open: OpenShown = async (domainId) => {
    if (backend.commits === "gradual") return undefined;
    const { vectorStoreId } = await domains.get(domainId);
    return (vectorStoreId && (await backend.openIndex(vectorStoreId, domainId))) || null;
  };
  return async (domainId) => {
    const known = opened.get(domainId) ?? open(domainId).catch(() => undefined);
    opened.set(domainId, known);
    return await known;
  };
}

async function membersAsShown(all: readonly Member[], open: OpenShown): Promise<Member[]> {
  const members: Member[] = [];
  for (const group of Map.groupBy(all, ({ domainId, sourceId }) => `${domainId}/${sourceId}`).values()) {
    const [first] = group;
    const index = first && (await open(first.domainId));
    const ids = group.map(({ itemId }) => itemId);
    const refs = index === null ? [] : first && (await index?.shown?.of(first.sourceId, ids).catch(() => undefined));
    const byItem = refs && new Map(refs.map((ref) => [ref.itemId, ref]));
    members.push(...(byItem ? group.map((member) => memberAsShown(member, byItem)) : group));
  }
  return members;
}

function memberAsShown(member: Member, refs: ReadonlyMap<ItemId, IndexedRef>): Member {
  const ref = refs.get(member.itemId);
  if (!ref) return { ...member, lastIndexedDocId: "", lastIndexed: "", contentHash: "" };
  return {
    ...member,
    lastIndexedDocId: ref.fileId,
    lastIndexed: ref.embeddedAt,
    contentHash: ref.sha256 ? `sha256:${ref.sha256}` : "",
  };
}

function itemAsShown(item: IngestItem, members: readonly Member[]): ShownItem {
  const isSettled = item.status === "Indexed" || item.status === "Crawled";
  const { status } = isSettled ? withIndexStatus(item, members) : item;
  const lastIndexedDocId = members.find((one) => one.lastIndexedDocId !== "")?.lastIndexedDocId ?? "";
  return { item: { ...item, status, linkage: { ...item.linkage, lastIndexedDocId } }, members };
}

/** Lists items. A query for one of Indexed and Crawled walks through both while a rollback moves items between them. */
export async function listShown(query: ItemQuery, parts: ShownParts): Promise<ItemPage> {
  const { statuses, offset, limit = Number.POSITIVE_INFINITY } = query;
  const isOneOfTwo = statuses && statuses.includes("Indexed") !== statuses.includes("Crawled");
  if (!isOneOfTwo || (await findHeldBack(parts)).length === 0) {
    const { items, total } = await parts.registry.list(query);
    return { items: (await asShown(items, parts)).map(({ item }) => item), total };
  }
  const both = [...new Set([...statuses, "Indexed", "Crawled"] as const)];
  const items: IngestItem[] = [];
  let total = 0;
  for (let from = 0; ; from += AT_ONCE) {
    const page = await parts.registry.list({ ...query, statuses: both, offset: from, limit: AT_ONCE });
    for (const { item } of await asShown(page.items, parts)) {
      if (!statuses.includes(item.status)) continue;
      total += 1;
      if (total > offset && items.length < limit) items.push(item);
    }
    if (page.items.length < AT_ONCE) return { items, total };
  }
}

/** Counts items by the state that readers are shown. Reads the items only while they are shown something else than is stored. */
export async function summarizeShown(
  at: string,
  among: ReadonlySet<ItemId> | undefined,
  parts: ShownParts,
): Promise<ShownSummary> {
  const summary = await parts.registry.summary(at, among);
  const heldBack = await findHeldBack(parts);
  if (heldBack.length === 0) return { ...summary, heldBack };
  const byStatus = { ...summary.byStatus, Crawled: 0, Indexed: 0 };
  for await (const page of parts.registry.entries({ statuses: ["Crawled", "Indexed"] })) {
    const items = page.map(({ item }) => item).filter(({ id }) => !among || among.has(id));
    for (const { item } of await asShown(items, parts)) byStatus[item.status] += 1;
  }
  return { ...summary, byStatus, heldBack };
}

/** Returns the domains with web addresses that are rolled back, or have lost their store. */
async function findHeldBack({ domains, backend }: Pick<ShownParts, "domains" | "backend">): Promise<HeldBack[]> {
  if (backend.commits === "gradual") return [];
  const heldBack: HeldBack[] = [];
  for (const { domainId, vectorStoreId, sources } of (await domains.list()).domains) {
    if (!vectorStoreId || !sources.some(({ kind }) => kind.abilities.registersAddresses)) continue;
    const numbers = await backend.openIndex(vectorStoreId, domainId).then(
      async (index) => {
        if (!index) return { shown: 0, newest: 0 };
        const { generations } = index;
        return generations && (await generations.state());
      },
      () => undefined,
    );
    if (numbers && (numbers.newest === 0 || numbers.shown !== numbers.newest)) {
      heldBack.push({ domainId, shown: numbers.shown, newest: numbers.newest });
    }
  }
  return heldBack;
}
