import type { ItemId } from "../../contracts/ids.ts";
import type { LedgerEntry } from "../../contracts/ledger.ts";
import type { IndexedRef } from "../../contracts/search-index.ts";
import type { Sighting } from "../../contracts/source.ts";
import { type Difference, type Layer, MISSING_FILE } from "./verification.ts";

/** One item as this run found it. */
export interface FoundItem {
  readonly itemId: ItemId;
  readonly sighting: Sighting | undefined;
  readonly isUndecided: boolean;
  readonly entry: LedgerEntry | undefined;
  readonly refs: readonly IndexedRef[];
}

/** What was found out about it. */
export interface ItemResult {
  readonly differences: Found[];
  readonly behind: string[];
  readonly hashes: Partial<Record<Layer, string>>;
  isFile: boolean;
  isDamaged: boolean;
  emptiness: "" | "empty" | "unreadable";
  passages: number;
  vectors: number;
  text: string;
}

export function nothingFound(): ItemResult {
  return {
    differences: [],
    behind: [],
    hashes: {},
    isFile: false,
    isDamaged: false,
    emptiness: "",
    passages: 0,
    vectors: 0,
    text: "",
  };
}

export const LABELS = "labels it again; with --mode full also where only name, time or attributes are wrong";
export const REMOVES = "removes it from the index";
export const NOT_NOTICED = "does not notice it; verify --repair makes it anew";

export type Found = Omit<Difference, "item_id" | "path">;

export function failedDownload(error: string): Found {
  return { layer: "mirror", part: "", detail: `the last download failed: ${error}`, crawl: "downloads it again" };
}

export function missingFile(): Found {
  return { layer: "mirror", part: "", detail: MISSING_FILE, crawl: "downloads it again" };
}

export function otherFile(): Found {
  const detail = "its bytes are not those that were downloaded";
  return { layer: "mirror", part: "", detail, crawl: "with --checksum: downloads it again" };
}

export function waitsForProcess(error = ""): Found {
  const detail = `it waits to be turned into a document${error ? `: ${error}` : ""}`;
  return { layer: "index", part: "document", detail, crawl: "turns it into a document" };
}

export function otherBytes(): Found {
  const detail = "the source has other bytes under the same fingerprint";
  return { layer: "source", part: "", detail, crawl: "with --checksum or --mode full: downloads it again" };
}
