import type { Library } from "./library.ts";

/** The numbers are SharePoint's own ChangeType. */
export const CHANGE_TYPES = {
  Add: 1,
  Update: 2,
  DeleteObject: 3,
  Rename: 4,
  MoveAway: 5,
  MoveInto: 6,
  Restore: 7,
  AssignmentAdd: 11,
  AssignmentDelete: 12,
  SystemUpdate: 15,
} as const;

export type ChangeType = keyof typeof CHANGE_TYPES;

/** Of the item only ids are kept, as they were at the time: a change says that something happened, not what it looks like now. */
export interface LoggedChange {
  readonly sequence: number;
  readonly atMs: number;
  readonly type: ChangeType;
  readonly itemId: number;
  readonly uniqueId: string;
  readonly isFolder: boolean;
}

/** What a change is about; anything with a row in a list. */
export interface ChangedItem {
  readonly uniqueId: string;
  readonly listItemId: number;
  readonly kind: string;
}

/** A position in a log. Without a sequence it is a moment: everything after it counts. */
export interface ChangePosition {
  readonly atMs: number;
  readonly sequence: number | undefined;
}

/**
 * The change log of one list, oldest first. An operation on a folder logs the folder and nothing below it, so whoever
 * reads the log has to know what a folder held.
 */
export class ChangeLog {
  #entries: LoggedChange[] = [];
  #sequence = 0;
  /** What lies at or before it is forgotten. */
  #forgottenThrough = 0;
  #forgottenThroughMs = Number.NEGATIVE_INFINITY;
  #atMs: number;

  constructor(createdAtMs: number) {
    this.#atMs = createdAtMs;
  }

  /** The end of the log: what a reader who starts now has not missed. */
  get position(): { readonly atMs: number; readonly sequence: number } {
    return { atMs: this.#atMs, sequence: this.#sequence };
  }

  /** Times never run backwards here, whatever time the item itself was given. */
  note(atMs: number, type: ChangeType, item: ChangedItem): void {
    this.#atMs = Math.max(this.#atMs, atMs);
    this.#entries.push({
      sequence: ++this.#sequence,
      atMs: this.#atMs,
      type,
      itemId: item.listItemId,
      uniqueId: item.uniqueId,
      isFolder: item.kind === "folder",
    });
  }

  /** Forgets everything and moves on, so that every position handed out before is too old. */
  expire(): void {
    this.#entries = [];
    this.#forgottenThrough = ++this.#sequence;
    this.#forgottenThroughMs = this.#atMs;
  }

  /** undefined when the position lies before the start of the log, or beyond its end. */
  since(position: ChangePosition | undefined): readonly LoggedChange[] | undefined {
    if (!position) return this.#entries;
    const { sequence, atMs } = position;
    if (sequence === undefined) {
      if (atMs < this.#forgottenThroughMs) return undefined;
      return this.#entries.filter((entry) => entry.atMs > atMs);
    }
    if (sequence < this.#forgottenThrough || sequence > this.#sequence) return undefined;
    return this.#entries.slice(sequence - this.#forgottenThrough);
  }
}

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
