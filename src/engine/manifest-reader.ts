import type { Manifest } from "../contracts/manifest.ts";
import type { EngineParts } from "./engine-parts.ts";

/** So many stay open, each of them until nobody asked for so long. One of a million files takes some 60 MB. */
const MAX_OPEN = 3;
const IDLE_MS = 60_000;

interface OpenedManifest {
  readonly version: string;
  readonly opening: Promise<Manifest>;
  users: number;
  /** It is closed with its last user. */
  isRetired: boolean;
  idle: NodeJS.Timeout | undefined;
}

/**
 * Reads manifests beside whoever writes them. To open one is to learn of every entry, so it stays open for those who ask
 * next, as long as it did not change.
 */
export class ManifestReader {
  readonly #parts: Pick<EngineParts, "openManifest" | "manifestVersion">;
  /** By the folder of the source, the one that was asked for last at the end. */
  readonly #opened = new Map<string, OpenedManifest>();

  constructor(parts: Pick<EngineParts, "openManifest" | "manifestVersion">) {
    this.#parts = parts;
  }

  async read<T>(folder: string, work: (manifest: Manifest) => Promise<T>): Promise<T> {
    const opened = this.#take(folder, await this.#parts.manifestVersion(folder));
    try {
      return await work(await opened.opening);
    } finally {
      opened.users -= 1;
      if (opened.users === 0) this.#rest(folder, opened);
    }
  }

  async close(): Promise<void> {
    for (const folder of [...this.#opened.keys()]) this.#retire(folder);
  }

  /** The version was asked for before: what is opened then is of that version, or newer and opened once more next time. */
  #take(folder: string, version: string): OpenedManifest {
    let opened = this.#opened.get(folder);
    if (opened?.version !== version) {
      this.#retire(folder);
      const opening = this.#parts.openManifest(folder, { readOnly: true });
      opened = { version, opening, users: 0, isRetired: false, idle: undefined };
      opening.catch(() => this.#retire(folder));
    }
    opened.users += 1;
    clearTimeout(opened.idle);
    this.#opened.delete(folder);
    this.#opened.set(folder, opened);
    const [oldest = ""] = this.#opened.keys();
    if (this.#opened.size > MAX_OPEN) this.#retire(oldest);
    return opened;
  }

  #rest(folder: string, opened: OpenedManifest): void {
    if (opened.isRetired) release(opened);
    else opened.idle = setTimeout(() => this.#retire(folder), IDLE_MS).unref();
  }

  #retire(folder: string): void {
    const opened = this.#opened.get(folder);
    if (!opened) return;
    this.#opened.delete(folder);
    opened.isRetired = true;
    clearTimeout(opened.idle);
    if (opened.users === 0) release(opened);
  }
}

/** One that could not be opened was told to whoever asked for it. */
function release({ opening }: OpenedManifest): void {
  opening.then((manifest) => manifest.release()).catch(() => undefined);
}
