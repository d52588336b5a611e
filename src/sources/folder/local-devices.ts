import { statfs } from "node:fs/promises";
import { dirname } from "node:path";

/** ext, XFS, Btrfs, tmpfs, overlay, ZFS, F2FS: what `statfs` says of file systems whose answers never wait for a network. */
const LOCAL_FILE_SYSTEMS: ReadonlySet<number> = new Set([
  0xef53, 0x58465342, 0x9123683e, 0x01021994, 0x794c7630, 0x2fc12fc1, 0xf2f52010,
]);

/**
 * Which devices are disks of this machine. There, a synchronous call costs a third of a promise; on a share, one that gets no
 * answer would keep the whole process waiting.
 */
export class LocalDevices {
  readonly #known = new Map<number, boolean>();
  /** Absolute. */
  readonly #folders = new Set<string>();

  /** How a folder was found. Those in it may lie elsewhere. */
  note(folder: string, { isLocal }: { readonly isLocal: boolean }): void {
    if (isLocal) this.#folders.add(folder);
    else this.#folders.delete(folder);
  }

  /** Whether a file lies in a folder that was found on one of them, told without asking: even to ask may be to wait. */
  holds(file: string): boolean {
    return this.#folders.has(dirname(file));
  }

  /** `path`: something that lies on it. */
  async has(device: number, path: string): Promise<boolean> {
    const known = this.#known.get(device);
    if (known !== undefined) return known;
    const isLocal = await statfs(path).then(
      ({ type }) => LOCAL_FILE_SYSTEMS.has(type),
      () => false,
    );
    this.#known.set(device, isLocal);
    return isLocal;
  }
}
