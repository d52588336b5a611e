import type { TreeFile, TreeHole, TreePage } from "../../contracts/file-tree.ts";
import { type FileFacts, isRacy, stampOf } from "./file-facts.ts";

/** What is in one folder, as it is found. */
export class FolderPage {
  readonly folder: string;
  readonly #device: number | undefined;
  readonly #seenAtMs: number;
  readonly #ignoreInodes: boolean;
  readonly #files: TreeFile[] = [];
  readonly folders: string[] = [];
  readonly unreadable: TreeHole[] = [];
  readonly skipped: { readonly path: string; readonly reason: string }[] = [];

  /** `device`: undefined when the folder itself could not be looked at. `seenAtMs`: before the first file was looked at. */
  constructor(folder: string, device: number | undefined, seenAtMs: number, { ignoreInodes = false } = {}) {
    this.folder = folder;
    this.#ignoreInodes = ignoreInodes;
    this.#device = device;
    this.#seenAtMs = seenAtMs;
  }

  pathOf(name: string): string {
    return this.folder === "" ? name : `${this.folder}/${name}`;
  }

  add(name: string, { size, mtimeMs, ino }: FileFacts): void {
    const ignoreInodes = this.#ignoreInodes;
    this.#files.push({
      path: this.pathOf(name),
      size,
      modifiedAtMs: mtimeMs,
      stamp: isRacy(mtimeMs, this.#seenAtMs) ? "" : stampOf({ size, mtimeMs, ino }, { ignoreInodes }),
      node: `${this.#device}:${ignoreInodes ? "" : ino}`,
    });
  }

  leaveOut(name: string, reason: string): void {
    this.skipped.push({ path: this.pathOf(name), reason });
  }

  cannotRead(name: string, reason: string, what?: TreeHole["what"]): void {
    this.unreadable.push({ kind: "unreadable", path: this.pathOf(name), reason, ...(what && { what }) });
  }

  toPage(): TreePage {
    return {
      folder: this.folder,
      files: this.#files,
      unreadable: this.unreadable,
      skipped: this.skipped,
      whole: {
        folders: this.folders,
        device: this.#device === undefined ? "" : `${this.#device}`,
      },
    };
  }
}
