import type { DomainId, SourceId } from "../../contracts/ids.ts";
import type { DocumentAudit, IndexAudit, IndexDifference, IndexLeftover } from "../../contracts/index-audit.ts";
import type { DocumentFile } from "../../contracts/search-index.ts";
import type { StoreSnapshot } from "./store-snapshot.ts";
import { type StoreFile, toWireAttributes } from "./wire-codec.ts";

const PAGE = 500;

/** The service shows of a document its state and its attributes; its text and vectors are the service's own. */
export function openStoreAudit(
  snapshot: StoreSnapshot,
  { domainId, sourceId }: { readonly domainId: DomainId; readonly sourceId: SourceId },
): IndexAudit {
  const check = async (file: DocumentFile): Promise<DocumentAudit> => {
    const current = snapshot.items.get(file.itemId)?.current;
    if (!current) return auditOf([{ part: "document", detail: "the vector store has no completed file of it" }]);
    const marks = { domainId, sourceId, itemId: file.itemId, sha256: file.sha256 };
    return auditOf(compareAttributes(current, toWireAttributes(marks, file.label), file));
  };
  return {
    basis: "files, states, attributes",
    check,
    checkStored: check,
    async *leftovers() {
      const all: IndexLeftover[] = [];
      for (const [itemId, { strays, ghosts }] of snapshot.items) {
        for (const { fileId, status } of strays) {
          all.push({ itemId, fileId, detail: `the vector store has another file of it (${status})` });
        }
        for (const { fileId } of ghosts) {
          all.push({ itemId, fileId, detail: "the vector store names a file whose upload is gone" });
        }
      }
      for (let from = 0; from < all.length; from += PAGE) yield all.slice(from, from + PAGE);
    },
  };
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
