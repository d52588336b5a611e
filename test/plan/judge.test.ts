// What the index needs follows from file, ledger and settings.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { FileId, ItemId, VectorStoreId } from "../../src/contracts/ids.ts";
import type { Indexed, LedgerEntry, Mirrored } from "../../src/contracts/ledger.ts";
import type { IndexedRef } from "../../src/contracts/search-index.ts";
import { type IndexState, judgeDocument } from "../../src/plan/judge.ts";

const at = "2024-01-15T10:30:00.000000Z";
const mirrored: Mirrored = {
  listItemId: 1,
  name: "a.txt",
  serverPath: "/L/a.txt",
  file: "D/01_files/s/02_embedded/a.txt",
  fingerprint: { size: 5, modifiedAt: at, etag: "", contentVersion: "" },
  downloadedAt: at,
  sourceError: "",
  processingError: "",
  observed: { size: 5, mtimeMs: 1, sha256: "aa" },
};
const indexed: Indexed = {
  fileId: "file-1" as FileId,
  vectorStoreId: "vs_1" as VectorStoreId,
  file: mirrored.file,
  listItemId: 1,
  name: "a.txt",
  size: 5,
  modifiedAt: at,
  downloadedAt: at,
  uploadedAt: at,
  embeddedAt: at,
  sourceError: "",
  processingError: "",
  embeddingError: "",
  sha256: "aa",
};
const stored: IndexedRef = {
  itemId: "1" as ItemId,
  fileId: "file-1" as FileId,
  sha256: "aa",
  uploadedAt: at,
  embeddedAt: at,
};
const entry: LedgerEntry = { itemId: "1" as ItemId, seen: null, mirrored, indexed };
const view: IndexState = {
  hasMoved: false,
  store: "vs_1" as VectorStoreId,
  mode: "incremental",
  isForced: false,
  stored,
  failed: false,
  waiting: false,
  path: "a.txt",
  url: "",
  mayRemove: true,
};

const table: [title: string, entry: Partial<LedgerEntry>, view: Partial<IndexState>, kind: string][] = [
  ["in step", {}, {}, "none"],
  ["new", { indexed: null }, { stored: undefined }, "put"],
  ["changed content", { mirrored: { ...mirrored, observed: { size: 5, mtimeMs: 1, sha256: "bb" } } }, {}, "put"],
  [
    "touched, same content",
    { mirrored: { ...mirrored, fingerprint: { ...mirrored.fingerprint, modifiedAt: "2025-01-01T00:00:00.000000Z" } } },
    {},
    "relabel",
  ],
  ["renamed", { mirrored: { ...mirrored, name: "b.txt", file: "D/01_files/s/02_embedded/b.txt" } }, {}, "relabel"],
  [
    "renamed to another type",
    { mirrored: { ...mirrored, name: "a.md", file: "D/01_files/s/02_embedded/a.md" } },
    {},
    "put",
  ],
  ["rolled back to before a rename", {}, { stored: { ...stored, path: "old.txt" } }, "relabel"],
  ["the index shows another address", {}, { stored: { ...stored, url: "https://old" }, url: "https://new" }, "relabel"],
  ["an address that is not known now says nothing", {}, { stored: { ...stored, url: "https://old" } }, "none"],
  ["removed from the mirror", { mirrored: null }, {}, "remove"],
  ["not in the mirror, but the look was incomplete", { mirrored: null }, { mayRemove: false }, "none"],
  ["C1 not in the store any more", {}, { stored: undefined }, "put"],
  ["killed between commit and row", { indexed: null }, {}, "adopt"],
  ["killed between commit and row, changed since", { indexed: null }, { stored: { ...stored, sha256: "old" } }, "put"],
  ["killed after replacing, before the row", {}, { stored: { ...stored, fileId: "file-2" as FileId } }, "adopt"],
  [
    "another vector store now",
    { indexed: { ...indexed, vectorStoreId: "vs_0" as VectorStoreId } },
    { stored: undefined },
    "put",
  ],
  ["full crawl", {}, { mode: "full" }, "put"],
  ["forced, and unchanged", {}, { isForced: true }, "put"],
  ["forced, and removed from the mirror", { mirrored: null }, { isForced: true }, "remove"],
  ["forced, and in 03_failed", { indexed: null }, { stored: undefined, failed: true, isForced: true }, "none"],
  ["never downloaded", { mirrored: { ...mirrored, file: "" }, indexed: null }, { stored: undefined }, "none"],
  ["never downloaded again, the old version stays", { mirrored: { ...mirrored, file: "" } }, {}, "none"],
  ["in 03_failed, not stored", { indexed: null }, { stored: undefined, failed: true }, "none"],
  ["in 03_failed, an old version still stored", {}, { failed: true }, "remove"],
  [
    "hashes lost, size and time equal",
    { mirrored: { ...mirrored, observed: null }, indexed: { ...indexed, sha256: "" } },
    {},
    "none",
  ],
  [
    "hashes lost, another time",
    { mirrored: { ...mirrored, observed: null }, indexed: { ...indexed, sha256: "", modifiedAt: "x" } },
    {},
    "put",
  ],
  ["only ever seen", { mirrored: null, indexed: null }, { stored: undefined }, "none"],
];

for (const [title, facets, changed, kind] of table) {
  test(`${title}: ${kind}`, () => {
    assert.equal(judgeDocument({ ...entry, ...facets }, { ...view, ...changed }).kind, kind);
  });
}

test("embed: what is forced is made anew, also in a full crawl; what only changed is not", () => {
  assert.deepEqual(judgeDocument(entry, { ...view, isForced: true }), { kind: "put", reason: "forced", isAnew: true });
  const full = { ...view, mode: "full" } as const;
  assert.deepEqual(judgeDocument(entry, full), { kind: "put", reason: "full crawl" });
  assert.deepEqual(judgeDocument(entry, { ...full, isForced: true }), {
    kind: "put",
    reason: "full crawl",
    isAnew: true,
  });
});
