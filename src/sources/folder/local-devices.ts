import { statfs } from "node:fs/promises";
import { dirname } from "node:path";

/** `statfs` types of local file systems: ext, XFS, Btrfs, tmpfs, overlay, ZFS, F2FS. Calls on them never wait for a network. */
const LOCAL_FILE_SYSTEMS: ReadonlySet<number> = new Set([
  0xef53, 0x58465342, 0x9123683e, 0x01021994, 0x794c7630, 0x2fc12fc1, 0xf2f52010,
]);

/**
 * Knows which devices are local disks. There, a synchronous call costs a third of a promise; on a share that does not
 * respond, it would block the whole process.
 */
export class LocalDevices {
  readonly #known = new Map<number, boolean>();
  /** Absolute. */
  readonly #folders = new Set<string>();

  /** Records whether a folder is local. Its subfolders may be on another device. */
  note(folder: string, { isLocal }: { readonly isLocal: boolean }): void {
    if (isLocal) this.#folders.add(folder);
    else this.#folders.delete(folder);
  }

  /** Whether the file is in a folder known to be local. Makes no system call, which could block. */
  holds(file: string): boolean {
    return this.#folders.has(dirname(file));
  }

  /** Whether the device is local. `path`: any path on it. */
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
