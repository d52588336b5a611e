import { appendFile, mkdir, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { FileId, ItemId } from "../../contracts/ids.ts";
import { readFileIfExists, writeFileAtomic } from "../../lib/atomic-file.ts";
import { isJsonObject, type JsonObject } from "../../lib/json-object.ts";
import { namesIn } from "../../lib/names-in.ts";

/** What an upload is to become. */
export interface UploadIntent {
  readonly itemId: ItemId;
  readonly name: string;
  readonly bytes: number;
}

/** One request to upload, from before it was sent until its file is attached or deleted. */
export interface UploadTry extends UploadIntent {
  readonly key: number;
  readonly startedAtMs: number;
  /** When it ended without an answer; undefined while nobody knows. */
  readonly lostAtMs: number | undefined;
  /** undefined: no answer was read, so the service may hold a file nobody knows the id of. */
  readonly fileId: FileId | undefined;
  /** Of what was sent; "" while there is no answer. */
  readonly sha256: string;
}

/**
 * Uploads under way of one source to one store. The service takes no key that would make an upload unrepeatable and
 * offers no mark on files, so what was sent is written down first: after a lost answer or a crash this is all that
 * tells our uploads from those of others.
 */
export interface UploadJournal {
  /** false: what it knows ends with the process. */
  readonly isKept: boolean;
  begin(intent: UploadIntent): Promise<number>;
  /** With the hash of what was sent, which need not be what was intended. */
  answered(key: number, fileId: FileId, sha256: string): Promise<void>;
  lost(key: number): Promise<void>;
  /** Nothing is left to be done about it. */
  settle(key: number): Promise<void>;
  unsettled(): readonly UploadTry[];
  /** Ids of uploads that any source had under way within the last week. */
  knownFiles(): Promise<ReadonlySet<FileId>>;
}

/** A settled upload is remembered for so long: whoever looks for a lost one, a day later, must not take it for that. */
const REMEMBER_MS = 7 * 24 * 3600_000;

interface Entry extends UploadTry {
  readonly isSettled: boolean;
}

/** Without a path it is kept in memory. One writer at a time: whoever has the lease of the source. */
export async function openUploadJournal(path: string | undefined): Promise<UploadJournal> {
  const tries = path ? await reopen(path) : new Map<number, Entry>();
  let lastKey = [...tries.keys()].reduce((a, b) => Math.max(a, b), 0);
  let written: Promise<void> = Promise.resolve();

  /** In the order of the calls. */
  function write(line: JsonObject): Promise<void> {
    if (!path) return Promise.resolve();
    const mine = written.then(() => appendFile(path, toLine(line)));
    written = mine.catch(() => undefined);
    return mine;
  }

  function change(key: number, news: Partial<Entry>): void {
    const before = tries.get(key);
    if (before) tries.set(key, { ...before, ...news });
  }

  return {
    isKept: path !== undefined,
    async begin(intent) {
      const key = ++lastKey;
      const startedAtMs = Date.now();
      const { itemId, name, bytes } = intent;
      tries.set(key, { ...NEW, itemId, name, bytes, key, startedAtMs });
      await write({ key, at: startedAtMs, item_id: itemId, name, bytes });
      return key;
    },
    async answered(key, fileId, sha256) {
      change(key, { fileId, sha256 });
      await write({ key, file_id: fileId, sha256 });
    },
    async lost(key) {
      const lostAtMs = Date.now();
      change(key, { lostAtMs });
      await write({ key, lost_at: lostAtMs });
    },
    async settle(key) {
      change(key, { isSettled: true });
      await write({ key, settled: true });
    },
    unsettled: () => [...tries.values()].filter(({ isSettled }) => !isSettled),
    async knownFiles() {
      const others = path ? await readJournals(dirname(path)) : [];
      return new Set([...others, ...tries.values()].flatMap(({ fileId }) => fileId ?? []));
    },
  };
}

const NEW = { lostAtMs: undefined, fileId: undefined, sha256: "", isSettled: false };

/** What is settled and a week old is forgotten. */
async function reopen(path: string): Promise<Map<number, Entry>> {
  const before = readEntries(await readText(path));
  const isOver = ({ isSettled, startedAtMs }: Entry) => isSettled && Date.now() - startedAtMs > REMEMBER_MS;
  const kept = new Map([...before].filter(([, entry]) => !isOver(entry)));
  await mkdir(dirname(path), { recursive: true });
  if (before.size > 0 && kept.size === 0) await rm(path);
  else if (kept.size < before.size) await writeFileAtomic(path, [...kept.values()].flatMap(toLines).join(""));
  return kept;
}

/** Of all sources, settled or not; none where nothing was ever uploaded. */
export async function readJournals(folder: string): Promise<readonly UploadTry[]> {
  const names = (await namesIn(folder)).filter((name) => name.endsWith(".jsonl"));
  const texts = await Promise.all(names.map((name) => readText(join(folder, name))));
  return texts.flatMap((text) => [...readEntries(text).values()]);
}

async function readText(path: string): Promise<string> {
  return (await readFileIfExists(path))?.toString("utf8") ?? "";
}

function toLines({ key, startedAtMs, itemId, name, bytes, fileId, sha256, lostAtMs, isSettled }: Entry): string[] {
  return [
    toLine({ key, at: startedAtMs, item_id: itemId, name, bytes }),
    ...(fileId === undefined ? [] : [toLine({ key, file_id: fileId, sha256 })]),
    ...(lostAtMs === undefined ? [] : [toLine({ key, lost_at: lostAtMs })]),
    ...(isSettled ? [toLine({ key, settled: true })] : []),
  ];
}

function toLine(fields: JsonObject): string {
  return `${JSON.stringify(fields)}\n`;
}

/** A line that a crash cut off says nothing. */
function readEntries(text: string): Map<number, Entry> {
  const entries = new Map<number, Entry>();
  for (const line of text.split("\n")) {
    const fields = parseLine(line);
    const key = Number(fields?.["key"]);
    if (!fields || !Number.isSafeInteger(key)) continue;
    const before = entries.get(key);
    if (before) entries.set(key, { ...before, ...readNews(fields) });
    else if ("at" in fields) entries.set(key, readEntry(key, fields));
  }
  return entries;
}

function readNews({ file_id, sha256, lost_at, settled }: JsonObject): Partial<Entry> {
  if (settled === true) return { isSettled: true };
  if (typeof file_id === "string") return { fileId: file_id as FileId, sha256: String(sha256 ?? "") };
  return typeof lost_at === "number" ? { lostAtMs: lost_at } : {};
}

function parseLine(line: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(line);
    return isJsonObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function readEntry(key: number, { item_id, name, bytes, at }: JsonObject): Entry {
  const itemId = String(item_id ?? "") as ItemId;
  return { ...NEW, key, itemId, name: String(name ?? ""), bytes: Number(bytes ?? 0), startedAtMs: Number(at ?? 0) };
}
