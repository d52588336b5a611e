import type { ItemId } from "./ids.ts";

/** An item as far as the process step needs to know it. */
export interface OriginalItem {
  readonly itemId: ItemId;
  readonly listItemId: number;
  /** As the source calls it: `Home.aspx`, `5.md`. */
  readonly name: string;
}

export type Converted =
  | { readonly itemId: ItemId; readonly document: Uint8Array }
  /** The same original will not do any better: a sentence for people. */
  | { readonly itemId: ItemId; readonly problem: string };

/** Turns what was downloaded into what is embedded, for kinds whose originals are no documents yet. Needs no connection. */
export interface Converter {
  /** Where the document of an item goes, below `02_embedded/`; `original` is the original's place below `01_originals/`. */
  documentPath(item: OriginalItem, original: string): string;
  /**
   * The other way round: the original behind a document that was processed before, among those that are there.
   * undefined: it is not there, or the item never had one (an attachment).
   */
  originalPath(item: OriginalItem, document: string, originals: ReadonlySet<string>): string | undefined;
  /**
   * The documents of items that share this original (an absolute path): all rows of a list do, a page has its own. One
   * answer for every item, in any order. Throws when the original cannot be read at all.
   */
  convert(original: string, items: readonly OriginalItem[], signal: AbortSignal): AsyncIterable<Converted>;
}
