import type { ManifestEntry } from "../../contracts/manifest.ts";
import { withEvent } from "./seen-entry.ts";

export interface GraceRules {
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
