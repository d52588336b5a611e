import { createHash } from "node:crypto";
import type { TreeFile, TreeHole, TreePage } from "../../contracts/file-tree.ts";
import { type FileFacts, isRacy, stampOf } from "./file-facts.ts";

const NUMBERS = 3;

/**
 * What is in one folder, as it is found. Names and numbers are kept apart and files made of them only when somebody asks: most
 * folders are what they were, and their digest says so.
 */
export class FolderPage {
  readonly folder: string;
  readonly #device: number | undefined;
  readonly #seenAtMs: number;
  readonly #ignoreInodes: boolean;
  readonly #names: string[] = [];
  #numbers = new Float64Array(NUMBERS * 64);
  #hasRacy = false;
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
    const at = this.#names.push(name) * NUMBERS - NUMBERS;
    if (at === this.#numbers.length) {
      const more = new Float64Array(at * 2);
      more.set(this.#numbers);
      this.#numbers = more;
    }
    this.#numbers[at] = size;
    this.#numbers[at + 1] = mtimeMs;
    this.#numbers[at + 2] = this.#ignoreInodes ? 0 : ino;
    this.#hasRacy ||= isRacy(mtimeMs, this.#seenAtMs);
  }

  leaveOut(name: string, reason: string): void {
    this.skipped.push({ path: this.pathOf(name), reason });
  }

  cannotRead(name: string, reason: string, what?: TreeHole["what"]): void {
    this.unreadable.push({ kind: "unreadable", path: this.pathOf(name), reason, ...(what && { what }) });
  }

  toPage(): TreePage {
    const files = (): TreeFile[] => this.#names.map((name, i) => this.#file(name, i * NUMBERS));
    return {
      folder: this.folder,
      get files() {
        return files();
      },
      unreadable: this.unreadable,
      skipped: this.skipped,
      whole: {
        folders: this.folders,
        digest: this.#hasRacy ? "" : this.#digest(),
        device: this.#device === undefined ? "" : `${this.#device}`,
      },
    };
  }

  #file(name: string, at: number): TreeFile {
    const [size, mtimeMs, ino] = [this.#number(at), this.#number(at + 1), this.#number(at + 2)];
    return {
      path: this.pathOf(name),
      size,
      modifiedAtMs: mtimeMs,
      stamp: isRacy(mtimeMs, this.#seenAtMs)
        ? ""
        : stampOf({ size, mtimeMs, ino }, { ignoreInodes: this.#ignoreInodes }),
      node: `${this.#device}:${this.#ignoreInodes ? "" : ino}`,
    };
  }

  #number(at: number): number {
    return this.#numbers[at] ?? 0;
  }

  #digest(): string {
    const { buffer } = this.#numbers;
    const holes = this.unreadable.map(({ path, reason }) => `${path}\0${reason}`);
    const parts = [this.#names, this.folders, holes].map((texts) => `${texts.length}\0${texts.join("\0")}`);
    return createHash("sha256")
      .update(`${this.#device}\0${parts.join("\0")}`)
      .update(new Uint8Array(buffer, 0, this.#names.length * NUMBERS * Float64Array.BYTES_PER_ELEMENT))
      .digest("base64url");
  }
}
