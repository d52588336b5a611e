import type { LedgerEntry } from "../contracts/ledger.ts";
import type { IndexedRef } from "../contracts/search-index.ts";
import type { IndexChange } from "../detect/detect-index-changes.ts";
import type { PlannedChange } from "./crawl-request.ts";
import type { EmbedWork } from "./embed.ts";

type Place = Pick<PlannedChange, "name" | "path">;

/** Writes down what a dry run would do in the index. Removals come last: whether they are held depends on how many there are. */
export class PlannedEmbeddings {
  readonly #work: EmbedWork;
  readonly #removals: (Place & { readonly reason: string })[] = [];

  constructor(work: EmbedWork) {
    this.#work = work;
  }

  note(entry: LedgerEntry, change: IndexChange): void {
    const { tools } = this.#work;
    if (change.kind === "adopt") return;
    const place = placeOf(entry, this.#work);
    if (change.kind === "none") {
      if (tools.mirror.isFailed(entry.mirrored?.file ?? "")) this.#add("skipped", place, whyFailed(entry));
      return;
    }
    const foreseen = this.#foreseenReason(entry);
    if (change.kind === "remove") this.#removals.push({ ...place, reason: foreseen ?? change.reason });
    else if (change.kind === "relabel") this.#add("moved", place, foreseen ?? "its name, place or time changed");
    else this.#add(entry.indexed?.fileId ? "changed" : "added", place, foreseen ?? change.reason);
  }

  /** `because`: why the removals are held; "" when they are not. */
  concludeRemovals(because: string): void {
    for (const { reason, ...place } of this.#removals) {
      if (because) this.#add("held", place, `held: ${because}`);
      else this.#add("removed", place, reason);
    }
  }

  noteLeftovers(refs: Iterable<IndexedRef>, because: string): void {
    for (const { itemId, path } of refs) {
      const place = { name: path?.split("/").at(-1) || itemId, path: path || itemId };
      if (because) this.#add("held", place, `held: ${because}`);
      else this.#add("removed", place, "the index has it, but no item stands for it");
    }
  }

  #add(change: PlannedChange["change"], place: Place, reason: string): void {
    this.#work.planned.add({ step: "embed", change, ...place, reason });
  }

  /** What the download would do to its file is why. */
  #foreseenReason({ itemId }: LedgerEntry): string | undefined {
    return this.#work.look?.planned.get(itemId)?.reason;
  }
}

function placeOf({ itemId, seen, mirrored, indexed }: LedgerEntry, { look, tools }: EmbedWork): Place {
  const planned = look?.planned.get(itemId);
  if (planned) return { name: planned.name, path: planned.path };
  const name = (mirrored ?? indexed ?? seen)?.name ?? itemId;
  const file = mirrored?.file || indexed?.file;
  return { name, path: file ? tools.mirror.relativePath(file) : name };
}

function whyFailed({ mirrored, indexed }: LedgerEntry): string {
  const why = mirrored?.processingError || indexed?.embeddingError;
  return `waits in 03_failed until it changes${why ? `: ${why}` : ""}`;
}
