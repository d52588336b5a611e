import type { IndexedRef } from "../../contracts/search-index.ts";
import { toUtcMicros } from "../../lib/time.ts";
import type { HeldRow } from "../storage/documents.ts";

export function refOf(row: Omit<HeldRow, "id">): IndexedRef {
  return {
    itemId: row.itemId,
    fileId: row.fileId,
    sha256: row.sha256,
    fileType: row.fileType,
    path: row.path,
    url: row.url,
    uploadedAt: fromUnixSeconds(row.uploadedAt),
    embeddedAt: fromUnixSeconds(row.embeddedAt),
  };
}

let lastSecond = { seconds: 0, instant: toUtcMicros(new Date(0)) };

/** Documents of one crawl share their seconds, and formatting an instant is what listing them would spend its time on. */
export function fromUnixSeconds(seconds: number): string {
  if (seconds !== lastSecond.seconds) lastSecond = { seconds, instant: toUtcMicros(new Date(seconds * 1000)) };
  return lastSecond.instant;
}
