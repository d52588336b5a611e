import type { ExtractedDocument } from "../../src/contracts/document.ts";
import type { ItemId } from "../../src/contracts/ids.ts";
import type { VersionContent } from "../../src/mirror/stored-version.ts";

export const KILLED_DOCS = ["doc_a", "doc_b", "doc_c"] as readonly string[] as readonly ItemId[];
export const KILLED_RULES = { versions: 6, versionMs: Number.POSITIVE_INFINITY };

/** The n-th content of a file: what it says tells which it is. */
export function contentOf(n: number): VersionContent {
  return {
    at: new Date(Date.UTC(2026, 0, n)).toISOString(),
    hash: `hash-${n}`,
    path: `notes/${n}.md`,
    fileType: "md",
    modifiedAt: "2025-12-31T00:00:00.000000Z",
    extractor: "2",
  };
}

export function textOf(docId: ItemId, n: number): ExtractedDocument {
  return { title: `Title ${n}`, markdown: `# ${docId}\n\n${`line ${n}\n`.repeat(200 * (n % 7))}`, language: "en" };
}
