import type { ItemId } from "../../contracts/ids.ts";
import type { LineageEvent, ManifestEntry } from "../../contracts/manifest.ts";
import { msToUtcMicros } from "../../lib/time.ts";
import type { TracedFile } from "./trace-lineage.ts";

/** So many events of a document are remembered. */
const MAX_EVENTS = 20;

/** What the manifest says of a file that is there and was read; `newDocId` is asked only for one that is new. */
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

/** It is there and cannot be read: it keeps everything. Of one that is active, or could not be read before. */
export function asUnreadable(entry: ManifestEntry, reason: string): ManifestEntry {
  return { ...entry, status: "error", retryCount: entry.retryCount + 1, error: reason };
}

/** It can be read again, and is what it was. */
export function asReadable(entry: ManifestEntry, now: Date): ManifestEntry {
  return { ...entry, ...present(now) };
}

/** The same entry, with one thing more that happened to it. */
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

/** A complete look did not find it, and it left search. */
export function asMissing(entry: ManifestEntry, now: Date): ManifestEntry {
  const at = now.toISOString();
  const missing = { status: "missing", missingSinceAt: at, missingRuns: 1, retryCount: 0, error: "" } as const;
  return withEvent({ ...entry, ...missing }, { event: "missing", from: "", certainty: 1, at });
}

/** It was missing already, and a complete look did not find it again. With a clock that went back, the time starts again. */
export function stillMissing(entry: ManifestEntry, now: Date): ManifestEntry {
  const missingSinceAt = missingForMs(entry, now) >= 0 ? entry.missingSinceAt : now.toISOString();
  return { ...entry, missingSinceAt, missingRuns: entry.missingRuns + 1 };
}

/** Is the grace over, by looks and by time? Whatever the clock does, in doubt it is not. */
export function isExpired(entry: ManifestEntry, { graceRuns, graceMs }: GraceRules, now: Date): boolean {
  if (entry.status !== "missing") return false;
  const ms = missingForMs(entry, now);
  return entry.missingRuns >= graceRuns && ms >= 0 && ms >= graceMs;
}

/** What was kept of it is purged. */
export function asDeleted(entry: ManifestEntry, now: Date): ManifestEntry {
  const at = now.toISOString();
  const deleted = { status: "deleted", deletedAt: at, missingSinceAt: "", missingRuns: 0, versions: [] } as const;
  return withEvent({ ...entry, ...deleted }, { event: "deleted", from: "", certainty: 1, at });
}

/** NaN when nobody knows since when. */
function missingForMs({ missingSinceAt }: ManifestEntry, now: Date): number {
  return now.getTime() - Date.parse(missingSinceAt);
}
