import type { ItemId } from "../../contracts/ids.ts";
import type { DocumentFile, FailedRef, Label } from "../../contracts/search-index.ts";
import type { BodyKey, NewBody } from "../storage/bodies.ts";
import type { UnfinishedBody } from "../storage/unfinished-bodies.ts";

/** A body that can be stored at once: with everything it consists of, or written ahead. */
export type ReadyBody = NewBody | UnfinishedBody;

/** A change that waits to be written. `Body`: what of a body is at hand when it is not known to be in the store. */
export type Operation<Body = ReadyBody> =
  | { readonly kind: "put"; readonly file: DocumentFile; readonly key: BodyKey; readonly body: Body | null }
  | { readonly kind: "relabel"; readonly itemId: ItemId; readonly label: Label }
  | { readonly kind: "end"; readonly itemId: ItemId; readonly mayReturn: boolean }
  /** A put that came to nothing: a permanent failure ends the item, any other leaves it as it is. */
  | { readonly kind: "fail"; readonly failed: FailedRef };

export function itemOf(operation: Operation<unknown>): ItemId {
  if (operation.kind === "put") return operation.file.itemId;
  return operation.kind === "fail" ? operation.failed.itemId : operation.itemId;
}
