import type { DomainId, ItemId, SourceId } from "../../../contracts/ids.ts";
import type { Members } from "../../../contracts/members.ts";
import { newMember } from "../../../plan/web/item-state.ts";

/** Complete crawls in a row without a link to it after which a page leaves. */
export const UNLINKED_LIMIT = 3;

/** What becomes of a member: how often in a row nobody linked to it, or that it goes, at once or when the index has nothing of it. */
type MemberChange = number | "removed" | "leaving";

/** The items of a source before a crawl, and what it makes of them. Changes wait for `flush`. */
export class SiteMembers {
  readonly #source: { readonly domainId: DomainId; readonly sourceId: SourceId };
  readonly #members: Members;
  readonly #isDry: boolean;
  /** How often in a row nobody linked to them. No more of them is held: a site may have a million. */
  readonly #counts = new Map<ItemId, number>();
  readonly #changed = new Map<ItemId, MemberChange>();
  /** Counts of this crawl, which only one that comes to its end may keep. */
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

  /** It is listed; `unlinked` times in a row nobody linked to it. */
  keep(id: ItemId, { unlinked = 0 } = {}): void {
    if (this.#counts.get(id) === unlinked) return;
    this.#counts.set(id, unlinked);
    this.#changed.set(id, unlinked);
  }

  unlinkedCount(id: ItemId): number {
    return this.#counts.get(id) ?? 0;
  }

  /** Nobody links to it. Counts when the crawl has come to its end. */
  noteUnlinked(id: ItemId): void {
    this.#unlinked.set(id, this.unlinkedCount(id) + 1);
  }

  /** Somebody does, as it turned out. */
  noteLinked(id: ItemId): void {
    this.#unlinked.delete(id);
  }

  /** It leaves. What the index has of it is the engine's to take away, which may be held back: until then it is a member. */
  leave(id: ItemId): void {
    if (this.#counts.delete(id)) this.#changed.set(id, "leaving");
  }

  remove(id: ItemId): void {
    if (this.#counts.delete(id)) this.#changed.set(id, "removed");
  }

  /** The crawl came to its end, and is not gone on with: no crawl counts twice. */
  async finish({ isComplete }: { readonly isComplete: boolean }): Promise<void> {
    if (isComplete) for (const [id, unlinked] of this.#unlinked) this.keep(id, { unlinked });
    await this.flush();
  }

  /** What is kept or removed while this writes waits for the next time. */
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
