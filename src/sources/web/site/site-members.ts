import type { DomainId, ItemId, SourceId } from "../../../contracts/ids.ts";
import type { Members } from "../../../contracts/members.ts";
import { newMember } from "../../../plan/web/item-state.ts";

/** A page is removed after this many complete crawls in a row without a link to it. */
export const UNLINKED_LIMIT = 3;

/** A count of complete crawls without a link; or removed, at once or as soon as the index no longer has it. */
type MemberChange = number | "removed" | "leaving";

/** The items of a source before a crawl, and their changes. `flush` writes the changes. */
export class SiteMembers {
  readonly #source: { readonly domainId: DomainId; readonly sourceId: SourceId };
  readonly #members: Members;
  readonly #isDry: boolean;
  /** Complete crawls in a row without a link, by item. Nothing else is held: a site may have a million items. */
  readonly #counts = new Map<ItemId, number>();
  readonly #changed = new Map<ItemId, MemberChange>();
  /** Counts of this crawl; kept only if it completes. */
  readonly #unlinked = new Map<ItemId, number>();

  constructor(members: Members, domainId: DomainId, sourceId: SourceId, { dryRun }: { readonly dryRun: boolean }) {
    this.#members = members;
    this.#source = { domainId, sourceId };
    this.#isDry = dryRun;
  }

  async load(): Promise<void> {
    const { domainId, sourceId } = this.#source;
    for await (const page of this.#members.in(domainId, sourceId)) {
      for (const { itemId, unlinkedCount } of page) this.#counts.set(itemId, unlinkedCount);
    }
  }

  has(id: ItemId): boolean {
    return this.#counts.has(id);
  }

  get size(): number {
    return this.#counts.size;
  }

  ids(): Iterable<ItemId> {
    return this.#counts.keys();
  }

  /** Keeps a listed item with its count of crawls without a link. */
  keep(id: ItemId, { unlinked = 0 } = {}): void {
    if (this.#counts.get(id) === unlinked) return;
    this.#counts.set(id, unlinked);
    this.#changed.set(id, unlinked);
  }

  unlinkedCount(id: ItemId): number {
    return this.#counts.get(id) ?? 0;
  }

  /** Counts a crawl without a link to the item; effective when the crawl completes. */
  noteUnlinked(id: ItemId): void {
    this.#unlinked.set(id, this.unlinkedCount(id) + 1);
  }

  /** Undoes `noteUnlinked`: a link was found later. */
  noteLinked(id: ItemId): void {
    this.#unlinked.delete(id);
  }

  /** Marks an item as leaving. It stays a member until the engine removed it from the index, which the guard may hold back. */
  leave(id: ItemId): void {
    if (this.#counts.delete(id)) this.#changed.set(id, "leaving");
  }

  remove(id: ItemId): void {
    if (this.#counts.delete(id)) this.#changed.set(id, "removed");
  }

  /** Ends a crawl that will not be resumed, so each crawl counts once. */
  async finish({ isComplete }: { readonly isComplete: boolean }): Promise<void> {
    if (isComplete) for (const [id, unlinked] of this.#unlinked) this.keep(id, { unlinked });
    await this.flush();
  }

  /** Writes the changes. Those made meanwhile wait for the next call. */
  async flush(): Promise<void> {
    const changed = new Map(this.#changed);
    this.#changed.clear();
    if (this.#isDry || changed.size === 0) return;
    const keys = [...changed.keys()].map((itemId) => ({ ...this.#source, itemId }));
    await this.#members.change(keys, (known, { domainId, sourceId, itemId }) => {
      const fate = changed.get(itemId) ?? "removed";
      if (fate === "removed") return undefined;
      if (fate === "leaving") return known?.lastIndexedDocId === "" ? undefined : known;
      if (known?.unlinkedCount === fate) return known;
      return { ...(known ?? newMember(domainId, sourceId, itemId)), unlinkedCount: fate };
    });
  }
}
