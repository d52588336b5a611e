import { randomBytes } from "node:crypto";
import { type FileHandle, mkdir, open, rm } from "node:fs/promises";
import { join } from "node:path";
import { ROLES } from "../contracts/access.ts";
import type { AuditEntry, AuditLog, AuditRow } from "../contracts/audit.ts";
import { isErrno } from "../lib/atomic-file.ts";
import { namesIn } from "../lib/file-system.ts";
import { isJsonObject, parseJsonObject } from "../lib/json-object.ts";
import { linesFromEnd } from "../lib/lines-from-end.ts";
import { secretIn } from "../lib/secret-parameters.ts";
import { nowUtcMicros } from "../lib/time.ts";

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

/** A change is shown by its `done` line; its `asked` line is shown only until there is one. */
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

/**
 * Written in one call, so that lines of several processes never mix; after a crash in the middle of a line, the next one begins a new line.
 */
async function appendLine(path: string, line: string): Promise<void> {
  await using file = await open(path, "a+", 0o600);
  const bytes = Buffer.from((await endsInLine(file)) ? line : `\n${line}`);
  const { bytesWritten } = await file.write(bytes);
  if (bytesWritten !== bytes.length)
    throw Object.assign(new Error(`write ${path}: the disk took only a part of the line`), { code: "ENOSPC" });
  await file.datasync();
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
  return (await namesIn(folder)).filter((name) => MONTH_FILE.test(name)).sort();
}

function newId(): string {
  return randomBytes(8).toString("hex");
}

const PHASES = ["asked", "done", "once"] as const;
const MAX_TEXT = 500;
const MAX_MEMBERS = 100;
const MAX_DEPTH = 5;
const MAX_WHAT = 16_000;
const SECRET_NAME =
  /(^|[_-])(api_?key|account_?key|key|sas|connection_?string|secret|token|password|passphrase|cookie|authorization|session)$/i;
/** A `credential` is the name of a variable. A refused value may be the secret itself. */
const VARIABLE_NAME = /^([A-Z_][A-Z0-9_]{0,63})?$/;
/** Names that may be harmless in an address; leaving out their values here loses nothing. */
const DOUBTFUL_NAME = /^code$|(?:^|[_-])(?:key|token|secret|password|signature)$/i;
const PARAMETER = /([?&])([^\s"'?&=#]{1,100})=(?!\(left out\))([^\s"'&#]+)/g;
/** A field of JSON that came as text, whole or cut off. */
const FIELD = /("((?:[^"\\]|\\.){1,100})"\s*:[\s[]*)"((?:[^"\\]|\\.)*)/g;
/** User names and passwords in addresses; keys of lockstep, keys of storage accounts and signatures in any text. */
const SECRET_TEXT =
  /(:\/\/)[^\s/?#@"']+(?=@)|\blk_[0-9a-f]{12}_[\w-]{8,}|\bBearer\s+\S+|\b((?:(?:Account|SharedAccess)Key|SharedAccessSignature)\s*=)[^;"'\\]+|\b(sig=)[^\s"'&#;\\]+/gi;

/** A line of the file: `asked` before a change and `done` after it, with the same id; `once` for what takes no time. */
export interface AuditLine extends AuditEntry {
  readonly id: string;
  readonly phase: (typeof PHASES)[number];
}

function formatAuditLine({ id, phase, at, who, from, action, what, ok, error }: AuditLine): string {
  const { kind, id: whoId, name, role } = who;
  const safe = tame(what, 0);
  const line = {
    id,
    phase,
    utc: at,
    who: { kind, id: cut(whoId), name: cut(name), role },
    from: cut(from),
    action: cut(action),
    what: JSON.stringify(safe).length > MAX_WHAT ? { left_out: "too long" } : safe,
    ...(phase !== "asked" && { ok, error: cut(error) }),
  };
  return `${JSON.stringify(line)}\n`;
}

/** Returns undefined for a line that was torn by a crash or not written by lockstep. */
function parseAuditLine(text: string): AuditLine | undefined {
  const line = parseJsonObject(text);
  if (!isJsonObject(line?.["who"])) return undefined;
  const { id, utc, who, from, action, what, ok, error } = line;
  const phase = PHASES.find((one) => one === line["phase"]);
  const role = ROLES.find((one) => one === who["role"]);
  if (typeof id !== "string" || phase === undefined || role === undefined) return undefined;
  return {
    id,
    phase,
    at: String(utc),
    who: {
      kind: String(who["kind"]) as AuditEntry["who"]["kind"],
      id: String(who["id"]),
      name: String(who["name"]),
      role,
    },
    from: String(from),
    action: String(action),
    what: isJsonObject(what) ? what : {},
    ok: ok === true,
    error: typeof error === "string" ? error : "",
  };
}

export function toRow({ id: _id, phase, ...entry }: AuditLine): AuditRow {
  return { ...entry, unfinished: phase === "asked" };
}

/** Removes secrets, truncates long values and flattens deep ones, so that any input stays one line. */
function tame(value: unknown, depth: number): unknown {
  if (typeof value === "string") return cut(value);
  if (typeof value !== "object" || value === null) return value;
  if (depth >= MAX_DEPTH) return "…";
  if (Array.isArray(value)) return value.slice(0, MAX_MEMBERS).map((member) => tame(member, depth + 1));
  const members = Object.entries(value).slice(0, MAX_MEMBERS);
  return Object.fromEntries(
    members.map(([name, member]) => [cut(name), isSecretField(name, member) ? "(left out)" : tame(member, depth + 1)]),
  );
}

function isSecretField(name: string, value: unknown): boolean {
  if (/^credential$/i.test(name)) return typeof value !== "string" || !VARIABLE_NAME.test(value);
  return SECRET_NAME.test(name) || secretIn(name, typeof value === "string" ? value : "…") !== undefined;
}

function cut(text: string): string {
  const clean = text
    .slice(0, MAX_TEXT * 4)
    .replaceAll(FIELD, (found, head: string, name: string, value: string) =>
      isSecretField(name, value) ? `${head}"(left out)` : found,
    )
    .replaceAll(SECRET_TEXT, (_, scheme = "", key = "", sig = "") => `${scheme}${key}${sig}(left out)`)
    .replaceAll(PARAMETER, (found, mark: string, name: string, value: string) =>
      secretIn(name, value) || DOUBTFUL_NAME.test(name) ? `${mark}${name}=(left out)` : found,
    );
  return clean.length > MAX_TEXT ? `${clean.slice(0, MAX_TEXT)}…` : clean;
}

/**
 * What may go on without an audit entry when the disk is full (deletions, signing in) is logged with this line instead, because
 * it makes room. undefined: the log failed for another reason, and nothing goes on.
 */
export function lineOnFullDisk(trouble: unknown, change: Omit<AuditEntry, "at">): string | undefined {
  if (!isErrno(trouble, "ENOSPC", "EDQUOT")) return undefined;
  const line = formatAuditLine({ ...change, at: nowUtcMicros(), id: "", phase: "once" });
  return `not in the audit log, because the disk is full: ${line.trimEnd()}`;
}
