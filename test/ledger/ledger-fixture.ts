import type { FileId, ItemId, VectorStoreId } from "../../src/contracts/ids.ts";
import type { Indexed, Ledger, LedgerEntry, Mirrored, Seen } from "../../src/contracts/ledger.ts";

export type Facets = Omit<LedgerEntry, "itemId">;

export const AT = "2024-01-15T10:30:00.000000Z";
export const id = (text: string): ItemId => text as ItemId;

export const seen: Seen = {
  listItemId: 7,
  name: "Q1, final.docx",
  serverPath: "/sites/demo/Shared Documents/Reports/Q1, final.docx",
  url: "https://contoso.sharepoint.com/sites/demo/Shared%20Documents/Reports/Q1,%20final.docx",
  rawUrl: "https://contoso.sharepoint.com/sites/demo/Shared Documents/Reports/Q1, final.docx",
  size: 864368,
  modifiedAt: AT,
};
export const mirrored: Mirrored = {
  listItemId: 7,
  name: "Q1, final.docx",
  serverPath: seen.serverPath,
  file: "DEMO/01_files/docs/02_embedded/Reports/Q1, final.docx",
  fingerprint: { size: 864368, modifiedAt: AT, etag: '"{AB},3"', contentVersion: "2" },
  downloadedAt: AT,
  sourceError: "",
  processingError: "",
  observed: { size: 864370, mtimeMs: 1705314600000, sha256: "ab".repeat(32) },
};
export const indexed: Indexed = {
  fileId: "file-1" as FileId,
  vectorStoreId: "vs_1" as VectorStoreId,
  file: mirrored.file,
  listItemId: 7,
  name: "Q1, final.docx",
  size: 864368,
  modifiedAt: AT,
  downloadedAt: AT,
  uploadedAt: AT,
  embeddedAt: AT,
  sourceError: "",
  processingError: "",
  embeddingError: "",
  sha256: "ab".repeat(32),
};

/** All three facets, with this name; `n` is in each of them, and in every field that can hold it. */
export function facetsOf(n: number, name = `${n}.txt`): Facets {
  const file = `DEMO/01_files/docs/02_embedded/${name}`;
  const size = n;
  const sha256 = String(n).padStart(64, "0");
  return {
    seen: { ...seen, listItemId: n, name, serverPath: `/sites/demo/${name}`, size },
    mirrored: {
      ...{ ...mirrored, listItemId: n, name, serverPath: `/sites/demo/${name}`, file },
      fingerprint: { size, modifiedAt: AT, etag: `"{${n}},${n}"`, contentVersion: `${n}` },
      observed: { size, mtimeMs: n, sha256 },
    },
    indexed: { ...indexed, fileId: `file-${n}` as FileId, listItemId: n, name, file, size, sha256 },
  };
}

export function plain({ seen, mirrored, indexed }: LedgerEntry): Facets {
  return { seen, mirrored, indexed };
}

/** Everything there is, by item, in the order of the ids. Fails when an item comes twice. */
export async function entriesOf(ledger: Ledger): Promise<Record<string, Facets>> {
  const found = new Map<string, Facets>();
  for await (const page of ledger.entries()) {
    for (const entry of page) {
      if (found.has(entry.itemId)) throw new Error(`entries gave ${entry.itemId} twice`);
      found.set(entry.itemId, plain(entry));
    }
  }
  return sorted(found);
}

export function sorted<T>(found: Iterable<readonly [string, T]>): Record<string, T> {
  return Object.fromEntries([...found].sort(([a], [b]) => (a < b ? -1 : 1)));
}
