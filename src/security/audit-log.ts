import { randomBytes } from "node:crypto";
import { type FileHandle, mkdir, open, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import type { AuditLog, AuditRow } from "../contracts/audit.ts";
import { isErrno } from "../lib/atomic-file.ts";
import { linesFromEnd } from "../lib/lines-from-end.ts";
import { nowUtcMicros } from "../lib/time.ts";
import { type AuditLine, formatAuditLine, parseAuditLine, toRow } from "./audit-line.ts";

const KEPT_MONTHS = 13;
const MONTH_FILE = /^\d{4}-\d{2}\.jsonl$/;

/** `audit/YYYY-MM.jsonl`; see docs/formats/audit.md. Any number of processes append to it. */
export function createAuditLog(folder: string): AuditLog {
  let cleanedFor = "";

  async function append(line: AuditLine): Promise<void> {
    const month = line.at.slice(0, 7);
    await mkdir(folder, { recursive: true, mode: 0o700 });
    await appendLine(join(folder, `${month}.jsonl`), formatAuditLine(line));
    if (cleanedFor === month) return;
    cleanedFor = month;
    await removeOld(folder, month);
  }

  return {
    write: (entry) => append({ ...entry, id: newId(), phase: "once" }),
    async begin(change) {
      const id = newId();
      await append({ ...change, id, phase: "asked", at: nowUtcMicros(), ok: false, error: "" });
      return (outcome) => append({ ...change, ...outcome, id, phase: "done", at: nowUtcMicros() });
    },
    async list({ limit, offset, filter }) {
      const entries: AuditRow[] = [];
      let passed = 0;
      for await (const row of rowsFromEnd(folder, filter.toLowerCase())) {
        if (passed++ < offset) continue;
        if (entries.length === limit) return { entries, more: true };
        entries.push(row);
      }
      return { entries, more: false };
    },
  };
}

/** Its end stands for a change; the line that asked for it is shown only while there is no end. */
async function* rowsFromEnd(folder: string, words: string): AsyncGenerator<AuditRow, void> {
  const ended = new Set<string>();
  for (const name of (await monthFiles(folder)).reverse()) {
    for await (const text of linesFromEnd(join(folder, name))) {
      const line = parseAuditLine(text);
      if (!line || (line.phase === "asked" && ended.delete(line.id))) continue;
      if (line.phase === "done") ended.add(line.id);
      const row = toRow(line);
      if (searchable(row).includes(words)) yield row;
    }
  }
}

function searchable({ at, who, from, action, what, ok, error, unfinished }: AuditRow): string {
  const outcome = unfinished ? "unfinished" : ok ? "" : "failed";
  return [at, who.name, who.id, who.kind, from, action, JSON.stringify(what), error, outcome].join("\n").toLowerCase();
}

/** In one write, so that lines of several processes never mix; after a crash in the middle of one, the next begins a new line. */
async function appendLine(path: string, line: string): Promise<void> {
  const file = await open(path, "a+", 0o600);
  try {
    const bytes = Buffer.from((await endsInLine(file)) ? line : `\n${line}`);
    const { bytesWritten } = await file.write(bytes);
    if (bytesWritten !== bytes.length)
      throw Object.assign(new Error(`write ${path}: the disk took only a part of the line`), { code: "ENOSPC" });
    await file.datasync();
  } finally {
    await file.close();
  }
}

async function endsInLine(file: FileHandle): Promise<boolean> {
  const { size } = await file.stat();
  if (size === 0) return true;
  const { buffer } = await file.read(Buffer.alloc(1), 0, 1, size - 1);
  return buffer[0] === 10;
}

async function removeOld(folder: string, month: string): Promise<void> {
  const [year = 0, ordinal = 1] = month.split("-").map(Number);
  const oldest = new Date(Date.UTC(year, ordinal - KEPT_MONTHS, 1)).toISOString().slice(0, 7);
  for (const name of await monthFiles(folder))
    if (name.slice(0, 7) < oldest) await rm(join(folder, name), { force: true });
}

async function monthFiles(folder: string): Promise<string[]> {
  try {
    return (await readdir(folder)).filter((name) => MONTH_FILE.test(name)).sort();
  } catch (error) {
    if (isErrno(error, "ENOENT")) return [];
    throw error;
  }
}

function newId(): string {
  return randomBytes(8).toString("hex");
}
