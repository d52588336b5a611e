import type { ItemId } from "../contracts/ids.ts";
import type { Ledger } from "../contracts/ledger.ts";
import type { FileVersion } from "../contracts/manifest.ts";
import type { KnowledgeBase } from "../mirror/knowledge-base.ts";

/** A document of a tree, as far as mirror and knowledge base know it: the fields of its manifest entry. */
interface MirroredFile {
  readonly docId: ItemId;
  readonly path: string;
  readonly contentHash: string;
  readonly size: number;
  readonly modifiedAt: string;
  readonly lastSeenAt: string;
  /** Lazy: reads a file or more per document. */
  readonly versions: () => Promise<readonly FileVersion[]>;
}

/** Folders of the knowledge base per query. */
const PAGE = 1000;

/**
 * Yields documents without a manifest entry, in pages: first those in the mirror, then those only in the knowledge
 * base.
 */
export async function* mirroredFiles(
  ledger: Ledger,
  base: Pick<KnowledgeBase, "history" | "current" | "list">,
): AsyncGenerator<readonly MirroredFile[], void> {
  const yielded = new Set<ItemId>();
  for await (const page of ledger.manifest.unknown()) {
    const files: MirroredFile[] = [];
    for (const entry of await ledger.getMany(page)) {
      if (!entry?.mirrored?.file) continue;
      const { itemId: docId, mirrored } = entry;
      const { serverPath, fingerprint, observed, downloadedAt: lastSeenAt } = mirrored;
      // Files of a tree are mirrored byte for byte.
      const contentHash = fingerprint.contentVersion || (observed?.sha256 ?? "");
      const { size, modifiedAt } = fingerprint;
      const versions = (): Promise<readonly FileVersion[]> => base.history(docId);
      files.push({ docId, path: serverPath.slice(1), contentHash, size, modifiedAt, lastSeenAt, versions });
      yielded.add(docId);
    }
    yield files;
  }
  let page: ItemId[] = [];
  for await (const docId of base.list()) {
    if (yielded.has(docId)) continue;
    page.push(docId);
    if (page.length < PAGE) continue;
    yield await storedFiles(await ledger.manifest.lacking(page), base);
    page = [];
  }
  yield await storedFiles(await ledger.manifest.lacking(page), base);
}

async function storedFiles(
  docIds: readonly ItemId[],
  base: Pick<KnowledgeBase, "history" | "current">,
): Promise<readonly MirroredFile[]> {
  const files: MirroredFile[] = [];
  for (const docId of docIds) {
    const stored = await base.current(docId);
    if (!stored?.path) continue;
    const { path, hash: contentHash, modifiedAt, at: lastSeenAt } = stored;
    files.push({ docId, path, contentHash, size: 0, modifiedAt, lastSeenAt, versions: () => base.history(docId) });
  }
  return files;
}
