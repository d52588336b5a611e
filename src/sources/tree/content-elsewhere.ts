import type { ItemId } from "../../contracts/ids.ts";
import type { Manifest, ManifestEntry } from "../../contracts/manifest.ts";

/** Which content other files have, that are there. */
export class ContentElsewhere {
  readonly #manifest: Manifest;
  readonly #apart = new Set<ItemId>();
  readonly #added = new Set<string>();

  /** `apart`: what is known of the files in question themselves, or has vanished. */
  constructor(manifest: Manifest, apart: Iterable<ManifestEntry> = []) {
    this.#manifest = manifest;
    for (const { docId } of apart) this.#apart.add(docId);
  }

  has(contentHash: string): boolean {
    if (this.#added.has(contentHash)) return true;
    for (const { docId } of this.#manifest.withContent(contentHash)) if (!this.#apart.has(docId)) return true;
    return false;
  }

  /** For dry runs, which put nothing into the manifest. */
  add(contentHash: string): void {
    this.#added.add(contentHash);
  }
}
