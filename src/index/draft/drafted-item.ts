import type { FileId } from "../../contracts/ids.ts";
import type { DocumentFile, Label } from "../../contracts/search-index.ts";
import { nameOfKey, type StoredBody } from "../storage/bodies.ts";
import type { DocumentRow, DraftedRow, SourceKey } from "../storage/documents.ts";
import { randomId } from "../storage/random-id.ts";
import type { Store } from "../storage/store.ts";
import { storedPath } from "../storage/stored-path.ts";
import { chunkingKey, DEFAULT_CHUNKING } from "./chunking.ts";
import type { Operation } from "./operation.ts";

/** A document as a batch will leave it. Its body may still have to be written, so it is told by what it will be. */
export interface Version {
  readonly row: Omit<DocumentRow, "id" | "bodyId">;
  readonly body: StoredBody | { readonly name: string };
}

export interface BatchContext {
  readonly store: Pick<Store, "storageFolder">;
  readonly source: SourceKey;
  readonly nowSeconds: number;
  /** The bodies that are in the store, by nameOfKey. */
  readonly known: ReadonlyMap<string, StoredBody>;
}

/** One item through the operations of a batch: what it was before, and what it is after the last of them. */
export class DraftedItem {
  readonly before: DraftedRow | undefined;
  #now: Version | undefined;
  #changed = false;
  #mayReturn = false;
  readonly #context: BatchContext;

  constructor(before: DraftedRow | undefined, context: BatchContext) {
    this.before = before;
    this.#context = context;
    this.#now = before && { row: before, body: { id: before.bodyId ?? 0, title: before.title } };
  }

  get now(): Version | undefined {
    return this.#now;
  }

  /** What came and went within the batch has changed nothing. */
  get changed(): boolean {
    return this.#changed && (this.before !== undefined || this.#now !== undefined);
  }

  /** What is to be kept in case the item returns. */
  get kept(): DraftedRow | undefined {
    return this.#mayReturn && this.#now === undefined ? this.before : undefined;
  }

  put({ file, key }: Operation & { readonly kind: "put" }): Version {
    const { store, source, nowSeconds, known } = this.#context;
    const name = nameOfKey(key);
    const body = known.get(name) ?? { name };
    const place = { ...labelColumns(file.label), file: storedPath(store, file.path) };
    if (this.#now && isSame(this.#now.body, body)) return this.#relabelTo(this.#now, place);
    const row: Version["row"] = {
      ...place,
      ...source,
      itemId: file.itemId,
      fileId: file.knownFileId ?? (randomId("file-") as FileId),
      sha256: file.sha256,
      bytes: file.bytes,
      chunking: chunkingKey(DEFAULT_CHUNKING),
      status: "completed",
      errorCode: null,
      errorMessage: null,
      uploadedAt: nowSeconds,
      embeddedAt: nowSeconds,
    };
    return this.#become({ row, body });
  }

  /** false: there is nothing to relabel. */
  relabel(label: Label): boolean {
    if (!this.#now) return false;
    this.#relabelTo(this.#now, { ...labelColumns(label), file: movedFile(this.#now.row, label.path) });
    return true;
  }

  end({ mayReturn } = { mayReturn: false }): void {
    if (!this.#now) return;
    this.#now = undefined;
    this.#changed = true;
    this.#mayReturn = mayReturn;
  }

  /** The same document under a new label is a new row with the same file id, so that an earlier generation keeps its own. */
  #relabelTo(now: Version, place: Place): Version {
    const unchanged = Object.entries(place).every(([column, value]) => now.row[column as keyof Place] === value);
    return unchanged ? now : this.#become({ ...now, row: { ...now.row, ...place } });
  }

  #become(version: Version): Version {
    this.#changed = true;
    this.#now = version;
    return version;
  }
}

function isSame(a: Version["body"], b: Version["body"]): boolean {
  return "id" in a ? "id" in b && a.id === b.id : "name" in b && a.name === b.name;
}

type LabelColumns = Pick<DocumentRow, "name" | "path" | "url" | "fileType" | "modifiedAt" | "attributes">;
type Place = LabelColumns & Pick<DocumentRow, "file">;

function labelColumns({ name, path, url, fileType, modifiedAt, attributes }: DocumentFile["label"]): LabelColumns {
  return { name, path, url, fileType, modifiedAt, attributes: JSON.stringify(attributes) };
}

/** The mirror lays files out like the source, so where the one ended in the old path the other ends in the new. */
function movedFile(current: Pick<DocumentRow, "file" | "path">, path: string): string {
  const native = (text: string): string => (current.file.includes("\\") ? text.replaceAll("/", "\\") : text);
  if (current.path === "" || !current.file.endsWith(native(current.path))) return current.file;
  return current.file.slice(0, -current.path.length) + native(path);
}
