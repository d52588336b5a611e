import type { ItemId } from "../contracts/ids.ts";
import type { LedgerEntry } from "../contracts/ledger.ts";
import type { PlannedItem, PlannedWords } from "../contracts/plan.ts";
import type { IndexedRef } from "../contracts/search-index.ts";
import type { IndexChange } from "../detect/detect-index-changes.ts";
import type { EmbedWork } from "./embed.ts";
import { TOUCHED } from "./planned-changes.ts";

type Place = Omit<PlannedWords, "reason">;

/** Writes down what a dry run would do in the index. Removals come last: whether they are held depends on how many there are. */
export class PlannedEmbeddings {
  readonly #work: EmbedWork;
  readonly #removals: { readonly itemId: ItemId; readonly told: PlannedWords }[] = [];

  constructor(work: EmbedWork) {
    this.#work = work;
  }

  /** What the download would do to its file is why. */
  note(entry: LedgerEntry, change: IndexChange, download: PlannedItem | undefined): void {
    const { tools } = this.#work;
    const { itemId } = entry;
    if (change.kind === "adopt") return;
    const place = placeOf(entry, download, this.#work);
    if (change.kind === "none") {
      if (tools.mirror.isFailed(entry.mirrored?.file ?? ""))
        this.#add(itemId, "skipped", { ...place, reason: whyFailed(entry) });
      return;
    }
    const foreseen = isTouched(download) ? download?.told?.reason : undefined;
    if (change.kind === "remove")
      this.#removals.push({ itemId, told: { ...place, reason: foreseen ?? change.reason } });
    else if (change.kind === "relabel")
      this.#add(itemId, "moved", { ...place, reason: foreseen ?? "its name, place or time changed" });
    else
      this.#add(itemId, entry.indexed?.fileId ? "changed" : "added", { ...place, reason: foreseen ?? change.reason });
  }

  /** `because`: why the removals are held; "" when they are not. */
  concludeRemovals(because: string): void {
    for (const { itemId, told } of this.#removals) this.#addRemoval(itemId, told, because);
  }

  noteLeftovers(refs: Iterable<IndexedRef>, because: string): void {
    for (const { itemId, path } of refs) {
      const place = { name: path?.split("/").at(-1) || itemId, path: path || itemId };
      this.#addRemoval(itemId, { ...place, reason: "the index has it, but no item stands for it" }, because);
    }
  }

  #addRemoval(itemId: ItemId, told: PlannedWords, because: string): void {
    if (because) this.#add(itemId, "held", { ...told, reason: `held: ${because}` });
    else this.#add(itemId, "removed", told);
  }

  #add(itemId: ItemId, change: PlannedItem["change"], told: PlannedWords): void {
    this.#work.plan.add({ step: "embed", itemId, change, reason: told.reason, told });
  }
}

function isTouched(download: PlannedItem | undefined): boolean {
  return TOUCHED.some((change) => change === download?.change);
}

function placeOf(
  { itemId, seen, mirrored, indexed }: LedgerEntry,
  download: PlannedItem | undefined,
  { tools }: EmbedWork,
): Place {
  if (download?.told && isTouched(download)) return { name: download.told.name, path: download.told.path };
  const name = (mirrored ?? indexed ?? seen)?.name ?? itemId;
  const file = mirrored?.file || indexed?.file;
  return { name, path: file ? tools.mirror.relativePath(file) : name };
}

function whyFailed({ mirrored, indexed }: LedgerEntry): string {
  const why = mirrored?.processingError || indexed?.embeddingError;
  return `waits in 03_failed until it changes${why ? `: ${why}` : ""}`;
}
