import type { ItemId } from "../../src/contracts/ids.ts";
import type { ManifestEntry } from "../../src/contracts/manifest.ts";

export const AT = "2026-01-15T10:30:00.000000Z";

/** An entry of a file that is there, and kept; `more` says what is different. */
export function entryOf(docId: string, path: string, more: Partial<ManifestEntry> = {}): ManifestEntry {
  const contentHash = "ab".repeat(32);
  return {
    path,
    docId: docId as ItemId,
    contentHash,
    size: 12,
    modifiedAt: AT,
    stamp: "12-1-7",
    node: "1:7",
    status: "active",
    lastSeenAt: AT,
    retryCount: 0,
    error: "",
    missingSinceAt: "",
    missingRuns: 0,
    deletedAt: "",
    versions: [{ versionId: "v1", at: AT, hash: contentHash }],
    lineage: [{ event: "found", from: "", certainty: 1, at: AT }],
    ...more,
  };
}
