import type { ItemId } from "../../contracts/ids.ts";
import type { LineageEvent, ManifestEntry } from "../../contracts/manifest.ts";
import { msToUtcMicros } from "../../lib/time.ts";
import type { TracedFile } from "./trace-lineage.ts";

/** Number of events stored per document. */
const MAX_EVENTS = 20;

/** Returns the entry of a file that was read; `newDocId` is called only for a new one. */
export function asSeen(traced: TracedFile, now: Date, newDocId: () => ItemId): ManifestEntry {
  const { path, size, modifiedAtMs, stamp, node } = traced.read.file;
  const { contentHash } = traced.read;
  const before = "entry" in traced ? traced.entry : undefined;
  const entry: ManifestEntry = {
    path,
    docId: before?.docId ?? newDocId(),
    contentHash,
    size,
    modifiedAt: msToUtcMicros(modifiedAtMs),
    stamp,
    node,
    ...present(now),
    versions: before?.versions ?? [],
    lineage: before?.lineage ?? [],
  };
  const event = eventOf(traced, now);
  return event ? withEvent(entry, event) : entry;
}

/** A present file that cannot be read keeps everything. */
export function asUnreadable(entry: ManifestEntry, reason: string): ManifestEntry {
  return { ...entry, status: "error", retryCount: entry.retryCount + 1, error: reason };
}

/** A file that can be read again, unchanged. */
export function asReadable(entry: ManifestEntry, now: Date): ManifestEntry {
  return { ...entry, ...present(now) };
}

/** Adds an event. */
function withEvent(entry: ManifestEntry, event: LineageEvent): ManifestEntry {
  return { ...entry, lineage: [...entry.lineage, event].slice(-MAX_EVENTS) };
}

function present(now: Date) {
  return {
    status: "active",
    lastSeenAt: now.toISOString(),
    retryCount: 0,
    error: "",
    missingSinceAt: "",
    missingRuns: 0,
    deletedAt: "",
  } as const;
}

function eventOf(traced: TracedFile, now: Date): LineageEvent | undefined {
  const at = now.toISOString();
  switch (traced.kind) {
    case "touched":
      return undefined;
    case "found":
    case "copied":
    case "edited":
      return { event: traced.kind, from: "", certainty: 1, at };
    case "moved":
    case "moved-and-edited":
    case "restored": {
      const { kind, entry, read, certainty } = traced;
      return { event: kind, from: entry.path === read.file.path ? "" : entry.path, certainty, at };
    }
  }
}

interface GraceRules {
  readonly graceRuns: number;
  readonly graceMs: number;
}

/** A file that a complete listing did not find for the first time. */
export function asMissing(entry: ManifestEntry, now: Date): ManifestEntry {
  const at = now.toISOString();
  const missing = { status: "missing", missingSinceAt: at, missingRuns: 1, retryCount: 0, error: "" } as const;
  return withEvent({ ...entry, ...missing }, { event: "missing", from: "", certainty: 1, at });
}

/** A file that is still missing after another complete listing. If the clock went back, the time starts again. */
export function stillMissing(entry: ManifestEntry, now: Date): ManifestEntry {
  const missingSinceAt = missingForMs(entry, now) >= 0 ? entry.missingSinceAt : now.toISOString();
  return { ...entry, missingSinceAt, missingRuns: entry.missingRuns + 1 };
}

/** Whether the grace period is over, by listings and by time. In doubt (a wrong clock) it is not. */
export function isExpired(entry: ManifestEntry, { graceRuns, graceMs }: GraceRules, now: Date): boolean {
  if (entry.status !== "missing") return false;
  const ms = missingForMs(entry, now);
  return entry.missingRuns >= graceRuns && ms >= 0 && ms >= graceMs;
}

/** A file that is not waited for any more. Its versions stay until the entry is dropped, so one that returns is the same document. */
export function asDeleted(entry: ManifestEntry, now: Date): ManifestEntry {
  const at = now.toISOString();
  const deleted = { status: "deleted", deletedAt: at, missingSinceAt: "", missingRuns: 0 } as const;
  return withEvent({ ...entry, ...deleted }, { event: "deleted", from: "", certainty: 1, at });
}

/** NaN if unknown. */
function missingForMs({ missingSinceAt }: ManifestEntry, now: Date): number {
  return now.getTime() - Date.parse(missingSinceAt);
}
