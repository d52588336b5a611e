import type { Library } from "../tenant/library.ts";
import type { DeltaCursor } from "./drive-delta.ts";

const ROWS = /^r;(\d+);(\d+)$/;
const CHANGES = /^c;(\d+)$/;
const INSTANT = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)$/;

/** Opaque to clients, and good for one drive only. */
export function deltaTokenText(cursor: DeltaCursor, library: Library): string {
  return Buffer.from(`${library.id};${cursorText(cursor)}`).toString("base64url");
}

function cursorText(cursor: DeltaCursor): string {
  if (cursor.kind === "rows") return `r;${cursor.startedAt};${cursor.after}`;
  return cursor.kind === "changes" ? `c;${cursor.after}` : `m;${cursor.atMs}`;
}

/** Absent: from the first row on. `latest`: only what is to come. An instant: what changed after it. */
export function parseDeltaToken(token: string | null, library: Library): DeltaCursor | undefined {
  const { sequence } = library.changes.position;
  if (token === null || token === "") return { kind: "rows", startedAt: sequence, after: 0 };
  if (token.toLowerCase() === "latest") return { kind: "changes", after: sequence };
  if (INSTANT.test(token)) return { kind: "moment", atMs: Date.parse(token) };
  const text = Buffer.from(token, "base64url").toString();
  if (!text.startsWith(`${library.id};`)) return undefined;
  const [, startedAt, after] = ROWS.exec(text.slice(library.id.length + 1)) ?? [];
  if (startedAt !== undefined) return { kind: "rows", startedAt: Number(startedAt), after: Number(after) };
  const [, position] = CHANGES.exec(text.slice(library.id.length + 1)) ?? [];
  return position === undefined ? undefined : { kind: "changes", after: Number(position) };
}
