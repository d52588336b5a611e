import type { DocumentFile } from "../../contracts/search-index.ts";
import type { UploadTry } from "../../contracts/uploads.ts";
import type { Leftovers } from "./arrival.ts";
import { uploadName } from "./upload.ts";

/** Uploads of earlier drafts whose files are in no store: a put of the same content takes one over instead of sending it again. */
export function collectLeftovers(unsettled: readonly UploadTry[]): Leftovers {
  const byContent = Map.groupBy(
    unsettled.filter(({ fileId, sha256 }) => fileId !== undefined && sha256 !== ""),
    (one: UploadTry) => contentKey(one.itemId, one.name, one.sha256),
  );
  return {
    take(file: DocumentFile) {
      const one = byContent.get(contentKey(file.itemId, uploadName(file), file.sha256))?.pop();
      return one?.fileId === undefined ? undefined : { fileId: one.fileId, key: one.key };
    },
  };
}

/** With the name, because the service goes by its ending. */
function contentKey(itemId: string, name: string, sha256: string): string {
  return JSON.stringify([itemId, name, sha256]);
}
