import type { ItemId } from "./ids.ts";

/** What the process step needs to know of an item. */
export interface OriginalItem {
  readonly itemId: ItemId;
  readonly listItemId: number;
  /** As the source calls it: `Home.aspx`, `5.md`. */
  readonly name: string;
}

export type Converted =
  | { readonly itemId: ItemId; readonly document: Uint8Array }
  /** Permanent for this original; a sentence for users. */
  | { readonly itemId: ItemId; readonly problem: string };

/** Converts originals to documents, for kinds whose originals are not documents. Works offline. */
export interface Converter {
  /** Returns the document's path below `02_embedded/`; `original` is the original's path below `01_originals/`. */
  documentPath(item: OriginalItem, original: string): string;
  /**
   * Returns the original of a processed document, among those that exist. undefined: it is missing, or the item never
   * had one (an attachment).
   */
  originalPath(item: OriginalItem, document: string, originals: ReadonlySet<string>): string | undefined;
  /**
   * Converts the items that share this original (an absolute path): all rows of a list do, a page has its own. Yields
   * one result per item, in any order. Throws if the original cannot be read at all.
   */
  convert(original: string, items: readonly OriginalItem[], signal: AbortSignal): AsyncIterable<Converted>;
  /** Present if items share an original (an absolute path): rewrites it without these items. */
  leaveOut?(original: string, items: readonly OriginalItem[]): Promise<void>;
}
