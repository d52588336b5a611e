import type { OperationCall } from "./operations.ts";

/** What happens to a request a fault strikes. Parts combine: operations run first, then the delay, then the rest. */
export interface FaultEffect {
  /** Operations of the control API, carried out just before the answer is made: "meanwhile somebody deleted it". */
  readonly run?: readonly OperationCall[];
  readonly delayMs?: number;
  /** Instead of an answer: "reset" sends RST, "drop" closes. */
  readonly connection?: "reset" | "drop";
  /** Instead of the real answer. */
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** Retry-After, written when the answer is made: as seconds, or as the date they lead to. */
  readonly retryAfter?: { readonly seconds: number; readonly form: "seconds" | "date" };
  readonly body?: string;
  /** The body stops here and the connection stays open. */
  readonly stallAfterBytes?: number;
  /** The body stops here and ends as `ending` says. */
  readonly truncateAfterBytes?: number;
  /**
   * "close" (default) and "reset" break a promised Content-Length; "clean" promises none and ends like a whole body,
   * which only a comparison with the listed size can tell.
   */
  readonly ending?: "close" | "reset" | "clean";
  /** On a next page of list items: the last row of the page before appears again. */
  readonly repeatRow?: boolean;
  /** A page silently lacks this many rows, the first ones; its link to the next page stays. */
  readonly dropRows?: number;
  /** A listing comes empty, with 200 and no next page. */
  readonly emptyListing?: boolean;
  /** What the list says it holds, whatever is in it. */
  readonly itemCount?: number;
  /** One of these, chosen by the seed, the address and how often it was asked. */
  readonly oneOf?: readonly Omit<FaultEffect, "oneOf">[];
}
