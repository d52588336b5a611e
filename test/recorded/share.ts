import { copyFile, mkdir, rename, utimes, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";

/** A folder of files whose times are the same in every run. */
export class Share {
  readonly root: string;
  #at = Date.UTC(2024, 2, 1, 8);

  constructor(root: string) {
    this.root = root;
  }

  at(path: string): string {
    return join(this.root, path);
  }

  async write(path: string, text: string | Uint8Array): Promise<void> {
    await mkdir(dirname(this.at(path)), { recursive: true });
    await writeFile(this.at(path), text);
    await this.#stamp(path);
  }

  async move(from: string, to: string): Promise<void> {
    await mkdir(dirname(this.at(to)), { recursive: true });
    await rename(this.at(from), this.at(to));
  }

  async copy(from: string, to: string): Promise<void> {
    await copyFile(this.at(from), this.at(to));
    await this.#stamp(to);
  }

  async #stamp(path: string): Promise<void> {
    this.#at += 3_600_000;
    await utimes(this.at(path), this.#at / 1000, this.#at / 1000);
  }
}
