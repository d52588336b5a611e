import { appendFile, mkdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { readFileIfExists, writeFileAtomic } from "../lib/atomic-file.ts";
import { withFileLock } from "../lib/file-lease.ts";
import { fileStamp } from "../lib/file-stamp.ts";
import { isJsonObject } from "../lib/json-object.ts";

/** What is remembered of a model response, or of a conversation. */
export interface NotedResponse {
  readonly id: string;
  /** Unix seconds. */
  readonly created_at: number;
  /** "" of a conversation. */
  readonly model: string;
  /** Whoever asked; absent: nobody knows. */
  readonly owner?: string;
  readonly kind?: "conversation";
}

/** The responses and conversations that were created here, in a file of lines that is only appended to until it is too long. */
export interface ResponseNotes {
  /** Found at once, and on disk when it resolves. */
  note(response: NotedResponse): Promise<void>;
  forget(id: string): Promise<void>;
  /** Responses, newest first. */
  list(): Promise<readonly NotedResponse[]>;
  find(id: string): Promise<NotedResponse | undefined>;
  /** Resolves when nothing is on its way to the disk any more, however it went. */
  settled(): Promise<void>;
}

const FILE = "responses.jsonl";
/** Of each owner the newest are kept; the backend itself keeps responses for a limited time only. */
const MOST_KEPT = 10_000;
/** Rewritten beyond this: some twenty thousand lines. */
const LONGEST_BYTES = 3 * 1024 * 1024;

type Notes = Map<string, NotedResponse>;
type Line = NotedResponse | { readonly id: string; readonly deleted: true };

export function createResponseNotes(folder: string, longestBytes = LONGEST_BYTES): ResponseNotes {
  const path = join(folder, FILE);
  const locked = <T>(work: () => Promise<T>): Promise<T> =>
    withFileLock(join(folder, ".lockstep", "responses.lock"), work);
  const pending = new Set<Promise<void>>();
  /** Not on disk yet: whoever was just told an id may use it at once. */
  const underway = new Map<string, Line>();
  let seen: { readonly stamp: string; readonly notes: Notes } | undefined;
  let longest = longestBytes;

  /** Read again only when another process wrote. */
  async function read(): Promise<Notes> {
    const stamp = await fileStamp(path);
    if (seen?.stamp !== stamp) seen = { stamp, notes: await readNotes(path) };
    return seen.notes;
  }

  const write = (line: Line): Promise<void> =>
    locked(async () => {
      await mkdir(folder, { recursive: true });
      const known = seen && seen.stamp === (await fileStamp(path)) ? seen.notes : undefined;
      // The line end before it ends what a crash left of the line before.
      await appendFile(path, `\n${JSON.stringify(line)}\n`, { flush: true });
      if (known) seen = { stamp: await fileStamp(path), notes: apply(known, line) };
      if ((await stat(path)).size <= longest) return;
      await shorten(path);
      // Where many have much to remember, it is not rewritten for every line.
      longest = Math.max(longestBytes, (await stat(path)).size * 2);
    });
  const append = (line: Line): Promise<void> => {
    underway.set(line.id, line);
    const appended = write(line).finally(() => {
      if (underway.get(line.id) === line) underway.delete(line.id);
    });
    pending.add(appended);
    const settle = (): boolean => pending.delete(appended);
    appended.then(settle, settle);
    return appended;
  };
  return {
    note: ({ id, created_at, model, owner, kind }) =>
      append({ id, created_at, model, ...(owner !== undefined && { owner }), ...(kind && { kind }) }),
    forget: (id) => append({ id, deleted: true }),
    async list() {
      await Promise.allSettled(pending);
      return [...(await locked(read)).values()].filter(({ kind }) => kind === undefined).reverse();
    },
    async find(id) {
      const line = underway.get(id);
      if (line) return "deleted" in line ? undefined : line;
      return (await read()).get(id);
    },
    async settled() {
      while (pending.size > 0) await Promise.allSettled(pending);
    },
  };
}

async function shorten(path: string): Promise<void> {
  const counts = new Map<string, number>();
  const kept = [...(await readNotes(path)).values()].reverse().filter(({ owner = "" }) => {
    const count = (counts.get(owner) ?? 0) + 1;
    counts.set(owner, count);
    return count <= MOST_KEPT;
  });
  const lines = kept.reverse().map((note) => `${JSON.stringify(note)}\n`);
  await writeFileAtomic(path, lines.join(""));
}

async function readNotes(path: string): Promise<Notes> {
  const bytes = await readFileIfExists(path);
  const notes: Notes = new Map();
  for (const text of bytes?.toString().split("\n") ?? []) {
    const line = parseLine(text);
    if (line) apply(notes, line);
  }
  return notes;
}

function apply(notes: Notes, line: Line): Notes {
  notes.delete(line.id);
  if (!("deleted" in line)) notes.set(line.id, line);
  return notes;
}

/** undefined for a line that a crash cut short. */
function parseLine(text: string): Line | undefined {
  let value: unknown;
  try {
    value = text === "" ? undefined : JSON.parse(text);
  } catch {
    return undefined;
  }
  if (!isJsonObject(value) || typeof value["id"] !== "string") return undefined;
  const { id, created_at, model, deleted, owner, kind } = value;
  if (deleted === true) return { id, deleted };
  return {
    id,
    created_at: Number(created_at ?? 0),
    model: String(model ?? ""),
    ...(typeof owner === "string" && { owner }),
    ...(kind === "conversation" && { kind }),
  };
}
