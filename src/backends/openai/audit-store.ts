import type { DomainId, ItemId, SourceId } from "../../contracts/ids.ts";
import type { DocumentAudit, IndexAudit, IndexDifference, IndexLeftover } from "../../contracts/index-audit.ts";
import type { DocumentFile, IndexedRef } from "../../contracts/search-index.ts";
import { slicesOf } from "../../lib/slices-of.ts";
import type { StoreSnapshot } from "./store-snapshot.ts";
import { readContentHash, readFileType, type StoreFile, toWireAttributes } from "./wire-codec.ts";

const PAGE = 500;

/** The service shows of a document its state and its attributes; its text and vectors are the service's own. */
export function openStoreAudit(
  snapshot: StoreSnapshot,
  { domainId, sourceId }: { readonly domainId: DomainId; readonly sourceId: SourceId },
): IndexAudit {
  const preferred = new Map<ItemId, StoreFile>();
  const currentOf = (itemId: ItemId): StoreFile | undefined =>
    preferred.get(itemId) ?? snapshot.items.get(itemId)?.current;
  const check = async (file: DocumentFile): Promise<DocumentAudit> => {
    const current = currentOf(file.itemId);
    if (!current) return auditOf([{ part: "document", detail: "the vector store has no completed file of it" }]);
    const marks = { domainId, sourceId, itemId: file.itemId, sha256: file.sha256 };
    return auditOf(compareAttributes(current, toWireAttributes(marks, file.label), file));
  };
  return {
    basis: "files, states, attributes",
    check,
    checkStored: check,
    prefer(itemId, fileId, sha256) {
      const other = snapshot.items.get(itemId)?.strays.find((stray) => stray.fileId === fileId);
      if (other?.status !== "completed" || readContentHash(other) !== sha256) return undefined;
      preferred.set(itemId, other);
      return refOf(itemId, other);
    },
    async *leftovers() {
      const all: IndexLeftover[] = [];
      for (const [itemId, { current, strays, ghosts }] of snapshot.items) {
        const others = [...(current ? [current] : []), ...strays].filter((file) => file !== currentOf(itemId));
        for (const { fileId, status } of others) {
          all.push({ itemId, fileId, detail: `the vector store has another file of it (${status})` });
        }
        for (const { fileId } of ghosts) {
          all.push({ itemId, fileId, detail: "the vector store names a file whose upload is gone" });
        }
      }
      yield* slicesOf(all, PAGE);
    },
  };
}

/** What the index lists of an item. */
export function refOf(itemId: ItemId, file: StoreFile): IndexedRef {
  const [at, fileType] = [file.attachedAt, readFileType(file)];
  const known = { itemId, fileId: file.fileId, sha256: readContentHash(file), uploadedAt: at, embeddedAt: at };
  return fileType === undefined ? known : { ...known, fileType };
}

function auditOf(differences: readonly IndexDifference[]): DocumentAudit {
  return { differences, chunks: 0, vectors: 0, unsummed: 0 };
}

function compareAttributes(
  { attributes }: StoreFile,
  expected: ReturnType<typeof toWireAttributes>,
  { sha256 }: DocumentFile,
): IndexDifference[] {
  if (attributes["content_hash"] !== sha256) return [{ part: "document", detail: "it was made of other bytes" }];
  const wrong = Object.keys(expected).filter((key) => attributes[key] !== expected[key]);
  return wrong.length === 0 ? [] : [{ part: "attributes", detail: `other than in the mirror: ${wrong.join(", ")}` }];
}
