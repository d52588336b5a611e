import type { Change, ListedChange } from "../contracts/change.ts";
import type { Converter } from "../contracts/converter.ts";
import type { Mirror } from "../mirror/mirror.ts";
import type { FileOnDisk } from "../mirror/visit-files.ts";
import { MTIME_TOLERANCE_MS } from "../plan/detect-changes.ts";

/** What lies behind documents that are as they should be: an original that is lost, or touched, is fetched again. */
export class OriginalsCheck {
  readonly #mirror: Mirror;
  readonly #converter: Converter | undefined;
  readonly #disk: ReadonlyMap<string, FileOnDisk>;
  #originals: ReadonlySet<string> | undefined;

  constructor(mirror: Mirror, converter: Converter | undefined, disk: ReadonlyMap<string, FileOnDisk>) {
    this.#mirror = mirror;
    this.#converter = converter;
    this.#disk = disk;
  }

  /** The change itself, unless it was none and ought to be one. */
  judge(change: Change): Change {
    if (change.kind !== "unchanged" || change.sighting.form === "document" || !this.#converter) return change;
    const reason = this.#problem(change, this.#converter);
    return reason ? { ...change, kind: "changed", reason, anomaly: "original" } : change;
  }

  #problem({ itemId, sighting, entry }: ListedChange, converter: Converter): string {
    const mirrored = entry?.mirrored;
    if (!mirrored || this.#mirror.isOriginal(mirrored.file) || this.#mirror.isFailed(mirrored.file)) return "";
    const item = { itemId, listItemId: mirrored.listItemId, name: mirrored.name };
    const path = converter.originalPath(item, this.#mirror.relativePath(mirrored.file), this.#originalsOnDisk());
    if (path === undefined) return "its original is missing on disk";
    // A page's original has the page's time; a table is written anew with every change of any row.
    const file = sighting.form === "original" ? this.#disk.get(this.#mirror.originalFile(path)) : undefined;
    const isTouched = file && Math.abs(file.mtimeMs - Date.parse(sighting.fingerprint.modifiedAt)) > MTIME_TOLERANCE_MS;
    return isTouched ? "its original was altered on disk" : "";
  }

  #originalsOnDisk(): ReadonlySet<string> {
    this.#originals ??= this.#mirror.originalsAmong(this.#disk.keys());
    return this.#originals;
  }
}
