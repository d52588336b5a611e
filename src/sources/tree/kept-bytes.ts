/** A file larger than this is read again: of the few that are, reading is not the most of it. */
const MAX_FILE_BYTES = 64 * 1024;
const MAX_BYTES = 8 * 1024 * 1024;
/** What a file costs besides its bytes, so that very many tiny ones count for something. */
const OVERHEAD_BYTES = 1024;

/** What was read to be hashed, for whoever fetches it a moment later: the first small ones, each for one fetch. */
export class KeptBytes {
  readonly #byHash = new Map<string, Uint8Array>();
  #room = MAX_BYTES;

  keep(contentHash: string, bytes: Uint8Array): void {
    const cost = costOf(bytes);
    if (bytes.byteLength > MAX_FILE_BYTES || cost > this.#room || this.#byHash.has(contentHash)) return;
    this.#byHash.set(contentHash, bytes);
    this.#room -= cost;
  }

  take(contentHash: string): Uint8Array | undefined {
    const bytes = this.#byHash.get(contentHash);
    if (bytes && this.#byHash.delete(contentHash)) this.#room += costOf(bytes);
    return bytes;
  }
}

function costOf({ byteLength }: Uint8Array): number {
  return byteLength + OVERHEAD_BYTES;
}
