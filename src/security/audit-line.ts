import { ROLES } from "../contracts/access.ts";
import type { AuditEntry, AuditRow } from "../contracts/audit.ts";
import { isJsonObject } from "../lib/json-object.ts";
import { secretIn } from "../lib/secret-parameters.ts";

const PHASES = ["asked", "done", "once"] as const;
const MAX_TEXT = 500;
const MAX_MEMBERS = 100;
const MAX_DEPTH = 5;
const MAX_WHAT = 16_000;
const SECRET_NAME =
  /(^|[_-])(api_?key|account_?key|key|sas|connection_?string|secret|token|password|passphrase|cookie|authorization|session)$/i;
/** All that a `credential` may be: the name of a variable. Whoever is refused has pasted what that variable should hold. */
const VARIABLE_NAME = /^([A-Z_][A-Z0-9_]{0,63})?$/;
/** Names that may mean something else in an address, where nothing is lost by leaving the value out here. */
const DOUBTFUL_NAME = /^code$|(?:^|[_-])(?:key|token|secret|password|signature)$/i;
const PARAMETER = /([?&])([^\s"'?&=#]{1,100})=(?!\(left out\))([^\s"'&#]+)/g;
/** A field of JSON that came as text, whole or cut off. */
const FIELD = /("((?:[^"\\]|\\.){1,100})"\s*:[\s[]*)"((?:[^"\\]|\\.)*)/g;
/** User names and passwords in addresses; keys of ours, keys of storage accounts and signatures wherever somebody pasted them. */
const SECRET_TEXT =
  /(:\/\/)[^\s/?#@"']+(?=@)|\blk_[0-9a-f]{12}_[\w-]{8,}|\bBearer\s+\S+|\b((?:(?:Account|SharedAccess)Key|SharedAccessSignature)\s*=)[^;"'\\]+|\b(sig=)[^\s"'&#;\\]+/gi;

/** A line of the file: `asked` before a change and `done` when it is over, with the same id; `once` for what is over at once. */
export interface AuditLine extends AuditEntry {
  readonly id: string;
  readonly phase: (typeof PHASES)[number];
}

export function formatAuditLine({ id, phase, at, who, from, action, what, ok, error }: AuditLine): string {
  const { kind, id: whoId, name, role } = who;
  const told = tame(what, 0);
  const line = {
    id,
    phase,
    utc: at,
    who: { kind, id: cut(whoId), name: cut(name), role },
    from: cut(from),
    action: cut(action),
    what: JSON.stringify(told).length > MAX_WHAT ? { left_out: "too long" } : told,
    ...(phase !== "asked" && { ok, error: cut(error) }),
  };
  return `${JSON.stringify(line)}\n`;
}

/** undefined: it was torn by a crash, or is none of ours. */
export function parseAuditLine(text: string): AuditLine | undefined {
  let line: unknown;
  try {
    line = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (!isJsonObject(line) || !isJsonObject(line["who"])) return undefined;
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

/** Secrets out, long values cut, deep ones flattened: a line stays a line whatever somebody sent. */
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
