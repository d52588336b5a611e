import { appendFile, mkdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { readFileIfExists, writeFileAtomic } from "../lib/atomic-file.ts";
import { withFileLock } from "../lib/file-lease.ts";
import { isJsonObject } from "../lib/json-object.ts";

/** What is remembered of a model response. */
export interface NotedResponse {
  readonly id: string;
  /** Unix seconds. */
  readonly created_at: number;
  readonly model: string;
}

/** The responses that were created here, in a file of lines that is only appended to until it is too long. */
export interface ResponseNotes {
  /** On disk when it resolves. */
  note(response: NotedResponse): Promise<void>;
  forget(id: string): Promise<void>;
  /** Newest first. */
  list(): Promise<readonly NotedResponse[]>;
  /** Resolves when nothing is on its way to the disk any more, however it went. */
  settled(): Promise<void>;
}

const FILE = "responses.jsonl";
/** The newest are kept; the backend itself keeps responses for a limited time only. */
const MOST_KEPT = 10_000;
/** Rewritten beyond this: some twenty thousand lines. */
const LONGEST_BYTES = 3 * 1024 * 1024;

export function createResponseNotes(folder: string, longestBytes = LONGEST_BYTES): ResponseNotes {
  const path = join(folder, FILE);
  const locked = <T>(work: () => Promise<T>): Promise<T> =>
    withFileLock(join(folder, ".lockstep", "responses.lock"), work);
  const pending = new Set<Promise<void>>();
  const write = (line: object): Promise<void> =>
    locked(async () => {
      await mkdir(folder, { recursive: true });
      // The line end before it ends what a crash left of the line before.
      await appendFile(path, `\n${JSON.stringify(line)}\n`, { flush: true });
      await shorten(path, longestBytes);
    });
  const append = (line: object): Promise<void> => {
    const appended = write(line);
    pending.add(appended);
    const settle = (): boolean => pending.delete(appended);
    appended.then(settle, settle);
    return appended;
  };
  return {
    note: ({ id, created_at, model }) => append({ id, created_at, model }),
    forget: (id) => append({ id, deleted: true }),
    list: () => locked(async () => [...(await readNotes(path)).values()].reverse()),
    async settled() {
      while (pending.size > 0) await Promise.allSettled(pending);
    },
  };
}

async function shorten(path: string, longestBytes: number): Promise<void> {
  if ((await stat(path)).size <= longestBytes) return;
  const kept = [...(await readNotes(path)).values()].slice(-MOST_KEPT);
  await writeFileAtomic(path, kept.map((note) => `${JSON.stringify(note)}\n`).join(""));
}

async function readNotes(path: string): Promise<Map<string, NotedResponse>> {
  const bytes = await readFileIfExists(path);
  const notes = new Map<string, NotedResponse>();
  for (const line of bytes?.toString().split("\n") ?? []) {
    const note = parseLine(line);
    if (!note) continue;
    notes.delete(note.id);
    if (!note.deleted) notes.set(note.id, { id: note.id, created_at: note.created_at, model: note.model });
  }
  return notes;
}

/** undefined for a line that a crash cut short. */
function parseLine(line: string): (NotedResponse & { readonly deleted: boolean }) | undefined {
  let value: unknown;
  try {
    value = line === "" ? undefined : JSON.parse(line);
  } catch {
    return undefined;
  }
  if (!isJsonObject(value) || typeof value["id"] !== "string") return undefined;
  const { id, created_at, model, deleted } = value;
  return { id, created_at: Number(created_at ?? 0), model: String(model ?? ""), deleted: deleted === true };
}
