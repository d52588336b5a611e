import { type FileHandle, mkdir, open, rename, truncate } from "node:fs/promises";
import { join } from "node:path";
import { writeFileAtomic } from "../../../lib/atomic-file.ts";
import {
  type CrawlHead,
  type CrawlLine,
  formatHead,
  formatLine,
  formatList,
  type ListLine,
  parseHead,
  parseLine,
} from "./crawl-lines.ts";
import { jsonLines } from "./json-lines.ts";

const UNDER_WAY = "crawl.jsonl";
/** What a crawl that came to its end leaves. */
export const FINISHED = "pages.jsonl";
const RESUMABLE_MS = 24 * 3600 * 1000;

/** What a crawl has looked at so far, written down as it happens: one that was killed goes on from there. */
export class CrawlLog {
  readonly #folder: string;
  readonly #file: FileHandle | undefined;
  /** Where the lines of an earlier beginning end. */
  readonly #earlierBytes: number;
  readonly #pending: string[] = [];
  #writing: Promise<void> | undefined;

  private constructor(folder: string, file: FileHandle | undefined, earlierBytes: number) {
    this.#folder = folder;
    this.#file = file;
    this.#earlierBytes = earlierBytes;
  }

  /** Writes nothing. */
  static dry(folder: string): CrawlLog {
    return new CrawlLog(folder, undefined, 0);
  }

  /** `onEarlier` hears what an unfinished crawl of the same kind has looked at. Returns when that began, "" when this is a new one. */
  static async open(
    folder: string,
    head: CrawlHead,
    onEarlier: (line: CrawlLine) => void,
  ): Promise<{ readonly log: CrawlLog; readonly resumes: string }> {
    await mkdir(folder, { recursive: true });
    const path = join(folder, UNDER_WAY);
    const earlier = await replay(path, head, onEarlier);
    if (!earlier) await writeFileAtomic(path, formatHead(head));
    const log = new CrawlLog(folder, await open(path, "a"), earlier?.bytes ?? 0);
    return { log, resumes: earlier?.startedAt ?? "" };
  }

  /** All of a page together: no line of it without the others. */
  async write(lines: readonly CrawlLine[]): Promise<void> {
    await this.#append(lines.map(formatLine).join(""));
  }

  async writeList(list: ListLine): Promise<void> {
    await this.#append(formatList(list));
  }

  /** What comes while something is being written is written together. */
  async #append(text: string): Promise<void> {
    if (!this.#file) return;
    this.#pending.push(text);
    this.#writing ??= this.#writePending(this.#file);
    await this.#writing;
  }

  async #writePending(file: FileHandle): Promise<void> {
    try {
      while (this.#pending.length > 0) await file.appendFile(this.#pending.splice(0).join(""));
    } finally {
      this.#writing = undefined;
    }
  }

  /** Once more what was there when it was opened, for what is not to be held in memory. */
  async *earlier(): AsyncGenerator<CrawlLine> {
    if (this.#earlierBytes === 0) return;
    for await (const { text, offset } of jsonLines(join(this.#folder, UNDER_WAY))) {
      if (offset >= this.#earlierBytes) return;
      const line = parseLine(text);
      if (line) yield line;
    }
  }

  async close(): Promise<void> {
    await this.#file?.close();
  }

  /** Closed before. From now on it is the memory of what the pages link to. */
  async finish(): Promise<void> {
    if (this.#file) await rename(join(this.#folder, UNDER_WAY), join(this.#folder, FINISHED));
  }
}

/** undefined: there is none to go on with. */
async function replay(
  path: string,
  head: CrawlHead,
  onEarlier: (line: CrawlLine) => void,
): Promise<{ readonly startedAt: string; readonly bytes: number } | undefined> {
  let before: CrawlHead | undefined;
  let bytes = 0;
  for await (const { text, offset, length } of jsonLines(path)) {
    bytes = offset + length + 1;
    if (offset === 0) {
      before = parseHead(text);
      if (!before || before.digest !== head.digest || !isRecent(before, head)) return undefined;
      continue;
    }
    const line = parseLine(text);
    if (line) onEarlier(line);
  }
  if (!before) return undefined;
  // A line that was cut off must not become the beginning of the next.
  await truncate(path, bytes);
  return { startedAt: before.startedAt, bytes };
}

function isRecent(before: CrawlHead, now: CrawlHead): boolean {
  const age = Date.parse(now.startedAt) - Date.parse(before.startedAt);
  return age >= 0 && age < RESUMABLE_MS;
}
