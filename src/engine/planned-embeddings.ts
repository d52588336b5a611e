import type { ItemId } from "../contracts/ids.ts";
import type { LedgerEntry } from "../contracts/ledger.ts";
import type { PlannedItem, PlannedWords } from "../contracts/plan.ts";
import type { IndexedRef } from "../contracts/search-index.ts";
import type { IndexChange } from "../plan/detect-index-changes.ts";
import type { EmbedWork } from "./embed.ts";
import { isTouched } from "./planned-changes.ts";

type Place = Omit<PlannedWords, "reason">;

/** Writes down what a dry run would do in the index. Removals come last: whether they are held depends on how many there are. */
export class PlannedEmbeddings {
  readonly #work: EmbedWork;
  readonly #removals: { readonly itemId: ItemId; readonly told: PlannedWords }[] = [];

  constructor(work: EmbedWork) {
    this.#work = work;
  }

  note(entry: LedgerEntry, change: IndexChange, download: PlannedItem | undefined): void {
    const { itemId, mirrored } = entry;
    const planned = describe(entry, change, download, this.#work);
    if (planned?.change === "removed") this.#removals.push({ itemId, told: planned.told });
    else if (planned) this.#add(itemId, planned.change, planned.told);
    else if (change.kind === "none" && this.#work.tools.mirror.isFailed(mirrored?.file ?? "")) {
      this.#add(itemId, "skipped", { ...placeOf(entry, download, this.#work), reason: whyFailed(entry) });
    }
  }

  /** `because`: why the removals are held; "" when they are not. */
  concludeRemovals(because: string): void {
    for (const { itemId, told } of this.#removals) this.#addRemoval(itemId, told, because);
  }

  noteLeftovers(refs: Iterable<IndexedRef>, because: string): void {
    for (const ref of refs) this.#addRemoval(ref.itemId, { ...heldPlace(ref), reason: LEFTOVER }, because);
  }

  #addRemoval(itemId: ItemId, told: PlannedWords, because: string): void {
    if (because) this.#add(itemId, "held", { ...told, reason: `held: ${because}` });
    else this.#add(itemId, "removed", told);
  }

  #add(itemId: ItemId, change: PlannedItem["change"], told: PlannedWords): void {
    this.#work.plan.add({ step: "embed", itemId, change, reason: told.reason, told });
  }
}

/** What is done to an item in the index; undefined: nothing that anybody sees. What the download does to its file is why. */
export function describe(
  entry: LedgerEntry,
  change: IndexChange,
  download: PlannedItem | undefined,
  work: EmbedWork,
): { readonly change: "added" | "changed" | "moved" | "removed"; readonly told: PlannedWords } | undefined {
  if (change.kind === "none" || change.kind === "adopt") return undefined;
  const why = change.kind === "relabel" ? "its name, place or time changed" : change.reason;
  const foreseen = isTouched(download) ? download?.told?.reason : undefined;
  const told = { ...placeOf(entry, download, work), reason: foreseen ?? why };
  const put = entry.indexed?.fileId ? "changed" : "added";
  return { change: change.kind === "remove" ? "removed" : change.kind === "relabel" ? "moved" : put, told };
}

/** Why the index has something that leaves it and is no item of ours. */
export const LEFTOVER = "the index has it, but no item stands for it";

/** Where a document lies that only the index knows. */
export function heldPlace({ itemId, path }: IndexedRef): Place {
  return { name: path?.split("/").at(-1) || itemId, path: path || itemId };
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
