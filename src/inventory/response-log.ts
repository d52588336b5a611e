import { appendFile, mkdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { readFileIfExists, writeFileAtomic } from "../lib/atomic-file.ts";
import { withFileLock } from "../lib/file-lease.ts";
import { fileStamp } from "../lib/file-system.ts";
import { parseJsonObject } from "../lib/json-object.ts";

/** A model response or a conversation. */
export interface LoggedResponse {
  readonly id: string;
  /** Unix seconds. */
  readonly created_at: number;
  /** "" of a conversation. */
  readonly model: string;
  /** Who created it; absent: unknown. */
  readonly owner?: string;
  readonly kind?: "conversation";
}

/** Responses and conversations created through this server: an append-only file of JSON lines, compacted when it is too long. */
export interface ResponseLog {
  /** Can be found at once; is on disk when it resolves. */
  add(response: LoggedResponse): Promise<void>;
  remove(id: string): Promise<void>;
  /** Responses, newest first. */
  list(): Promise<readonly LoggedResponse[]>;
  find(id: string): Promise<LoggedResponse | undefined>;
  /** Resolves when all pending writes have ended, whatever their outcome. */
  flush(): Promise<void>;
}

const FILE = "responses.jsonl";
/** Per owner; the backend itself keeps responses for a limited time. */
const MAX_PER_OWNER = 10_000;
/** Compacted beyond this: some 20,000 lines. */
const MAX_BYTES = 3 * 1024 * 1024;

type Entries = Map<string, LoggedResponse>;
type Line = LoggedResponse | { readonly id: string; readonly deleted: true };

export function createResponseLog(folder: string, maxBytes = MAX_BYTES): ResponseLog {
  const path = join(folder, FILE);
  const locked = <T>(work: () => Promise<T>): Promise<T> =>
    withFileLock(join(folder, ".lockstep", "responses.lock"), work);
  const pending = new Set<Promise<void>>();
  /** Not on disk yet: a client that just got an id may use it at once. */
  const unwritten = new Map<string, Line>();
  let seen: { readonly stamp: string; readonly entries: Entries } | undefined;
  let longest = maxBytes;

  /** Read again only when another process wrote. */
  async function read(): Promise<Entries> {
    const stamp = await fileStamp(path);
    if (seen?.stamp !== stamp) seen = { stamp, entries: await readEntries(path) };
    return seen.entries;
  }

  const write = (line: Line): Promise<void> =>
    locked(async () => {
      await mkdir(folder, { recursive: true });
      const known = seen && seen.stamp === (await fileStamp(path)) ? seen.entries : undefined;
      // The line end before it ends what a crash left of the line before.
      await appendFile(path, `\n${JSON.stringify(line)}\n`, { flush: true });
      if (known) seen = { stamp: await fileStamp(path), entries: apply(known, line) };
      if ((await stat(path)).size <= longest) return;
      await shorten(path);
      // Where many owners have many entries, it is not compacted at every line.
      longest = Math.max(maxBytes, (await stat(path)).size * 2);
    });
  const append = (line: Line): Promise<void> => {
    unwritten.set(line.id, line);
    const appended = write(line).finally(() => {
      if (unwritten.get(line.id) === line) unwritten.delete(line.id);
    });
    pending.add(appended);
    const settle = (): boolean => pending.delete(appended);
    appended.then(settle, settle);
    return appended;
  };
  return {
    add: ({ id, created_at, model, owner, kind }) =>
      append({ id, created_at, model, ...(owner !== undefined && { owner }), ...(kind && { kind }) }),
    remove: (id) => append({ id, deleted: true }),
    async list() {
      await Promise.allSettled(pending);
      return [...(await locked(read)).values()].filter(({ kind }) => kind === undefined).reverse();
    },
    async find(id) {
      const line = unwritten.get(id);
      if (line) return "deleted" in line ? undefined : line;
      return (await read()).get(id);
    },
    async flush() {
      while (pending.size > 0) await Promise.allSettled(pending);
    },
  };
}

async function shorten(path: string): Promise<void> {
  const counts = new Map<string, number>();
  const kept = [...(await readEntries(path)).values()].reverse().filter(({ owner = "" }) => {
    const count = (counts.get(owner) ?? 0) + 1;
    counts.set(owner, count);
    return count <= MAX_PER_OWNER;
  });
  const lines = kept.reverse().map((entry) => `${JSON.stringify(entry)}\n`);
  await writeFileAtomic(path, lines.join(""));
}

async function readEntries(path: string): Promise<Entries> {
  const bytes = await readFileIfExists(path);
  const entries: Entries = new Map();
  for (const text of bytes?.toString().split("\n") ?? []) {
    const line = parseLine(text);
    if (line) apply(entries, line);
  }
  return entries;
}

function apply(entries: Entries, line: Line): Entries {
  entries.delete(line.id);
  if (!("deleted" in line)) entries.set(line.id, line);
  return entries;
}

/** undefined for a line that a crash cut short. */
function parseLine(text: string): Line | undefined {
  const { id, created_at, model, deleted, owner, kind } = parseJsonObject(text) ?? {};
  if (typeof id !== "string") return undefined;
  if (deleted === true) return { id, deleted };
  return {
    id,
    created_at: Number(created_at ?? 0),
    model: String(model ?? ""),
    ...(typeof owner === "string" && { owner }),
    ...(kind === "conversation" && { kind }),
  };
}
