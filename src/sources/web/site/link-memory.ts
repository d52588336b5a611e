import { type FileHandle, open } from "node:fs/promises";
import { join } from "node:path";
import type { ItemId } from "../../../contracts/ids.ts";
import { type CrawlLine, idOfLine, type ListLine, listId, parseHead, parseLine, parseList } from "./crawl-lines.ts";
import { FINISHED } from "./crawl-log.ts";
import { jsonLines } from "./json-lines.ts";

/** What pages linked to, and lists named, in the last crawl that came to its end. Only the places of the lines are held in memory. */
export class LinkMemory {
  readonly #places = new Map<string, { readonly offset: number; readonly length: number }>();
  #file: FileHandle | undefined;

  static async open(folder: string, site: string): Promise<LinkMemory> {
    const memory = new LinkMemory();
    const path = join(folder, FINISHED);
    for await (const { text, offset, length } of jsonLines(path)) {
      if (offset === 0 && parseHead(text)?.site !== site) return memory;
      const id = idOfLine(text);
      if (id) memory.#places.set(id, { offset, length });
    }
    if (memory.#places.size > 0) memory.#file = await open(path);
    return memory;
  }

  /** undefined: nothing is remembered of it, or not all. */
  async recall(id: ItemId): Promise<Pick<CrawlLine, "links" | "feeds" | "undated"> | undefined> {
    return parseLine(await this.#lineOf(id));
  }

  async recallList(url: string): Promise<ListLine | undefined> {
    return parseList(await this.#lineOf(listId(url)));
  }

  async #lineOf(id: string): Promise<string> {
    const place = this.#places.get(id);
    if (!place || !this.#file) return "";
    const bytes = Buffer.alloc(place.length);
    await this.#file.read(bytes, 0, place.length, place.offset);
    return bytes.toString("utf8");
  }

  has(id: ItemId): boolean {
    return this.#places.has(id);
  }

  async close(): Promise<void> {
    await this.#file?.close();
    this.#file = undefined;
  }
}
