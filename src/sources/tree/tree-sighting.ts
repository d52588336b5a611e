import type { FileTree } from "../../contracts/file-tree.ts";
import type { ListedFile } from "../../contracts/manifest.ts";
import type { RememberedItem, Sighting } from "../../contracts/source.ts";
import { fileTypeOf } from "../../lib/file-type.ts";
import { nameOf } from "../../lib/tree-path.ts";

/** A file as the engine sees it: its document is the item, and the hash of its bytes tells its versions apart. */
export function sightingOf(entry: ListedFile, tree: Pick<FileTree, "addressOf">): Sighting {
  const { docId, path, size, modifiedAt, contentHash } = entry;
  const name = nameOf(path);
  const { url, rawUrl } = tree.addressOf(path);
  return {
    kind: "sighting",
    itemId: docId,
    listItemId: 0,
    name,
    path,
    serverPath: `/${path}`,
    url,
    rawUrl,
    documentType: fileTypeOf(name),
    form: "document",
    fingerprint: { size, modifiedAt, etag: "", contentVersion: contentHash },
    contentHash,
  };
}

/** The same, from what the ledger remembers of it. Of a version that never arrived it may have the hash of the one before. */
export function recall(item: RememberedItem): Sighting {
  const { itemId, listItemId, name, serverPath, url, rawUrl, fingerprint } = item;
  const remembered = { itemId, listItemId, name, serverPath, url, rawUrl, fingerprint };
  return {
    ...remembered,
    kind: "sighting",
    path: serverPath.slice(1),
    documentType: fileTypeOf(name),
    form: "document",
  };
}
