import type { ItemId } from "../contracts/ids.ts";
import type { Ledger } from "../contracts/ledger.ts";
import type { FileVersion } from "../contracts/manifest.ts";
import type { KnowledgeBase } from "../mirror/knowledge/knowledge-base.ts";

/** A document of a tree, as mirror and knowledge base have it: what its manifest entry would say, as far as they know. */
interface MirroredFile {
  readonly docId: ItemId;
  readonly path: string;
  readonly contentHash: string;
  readonly size: number;
  readonly modifiedAt: string;
  readonly lastSeenAt: string;
  /** Read when asked for, which is a file or more for each. */
  readonly versions: () => Promise<readonly FileVersion[]>;
}

/** Those that the manifest does not know, in pages. */
export async function* mirroredFiles(
  ledger: Ledger,
  base: Pick<KnowledgeBase, "history">,
): AsyncGenerator<readonly MirroredFile[], void> {
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
    }
    yield files;
  }
}
