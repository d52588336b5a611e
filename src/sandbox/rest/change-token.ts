import type { ChangePosition } from "../tenant/change-log.ts";
import type { Library } from "../tenant/library.ts";

const UNIX_EPOCH_TICKS = 621_355_968_000_000_000n;
const TICKS_PER_MS = 10_000n;
/** Version 1, scope 3 (a list), the list, .NET ticks in UTC, the sequence; -1 when only the time counts. */
const TOKEN = /^1;3;([0-9a-f-]{36});(\d{1,19});(-1|\d{1,15})$/i;

/** `1;3;13326e70-…;638473318634700000;860590383` */
export function changeTokenText(library: Library, position: { atMs: number; sequence: number }): string {
  const ticks = BigInt(position.atMs) * TICKS_PER_MS + UNIX_EPOCH_TICKS;
  return `1;3;${library.id};${ticks};${position.sequence}`;
}

/** undefined when it is no token of this list. */
export function parseChangeToken(text: string, library: Library): ChangePosition | undefined {
  const [, listId, ticks, sequence] = TOKEN.exec(text.trim()) ?? [];
  if (listId?.toLowerCase() !== library.id || ticks === undefined) return undefined;
  return {
    atMs: Number((BigInt(ticks) - UNIX_EPOCH_TICKS) / TICKS_PER_MS),
    sequence: sequence === "-1" ? undefined : Number(sequence),
  };
}
