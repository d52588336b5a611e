import type { Indexed, LedgerEntry } from "../contracts/ledger.ts";
import type { MetadataEntry } from "../domains/files-metadata-codec.ts";
import { fileTypeOf } from "../lib/file-type.ts";
import type { SourceRun } from "./engine-parts.ts";

/** The entry of `files_metadata.json` for what the index now holds of an item: the join of its three map rows. */
export function metadataEntry(run: SourceRun, entry: LedgerEntry, indexed: Indexed): MetadataEntry {
  if (indexed.fileId === "") throw new Error(`describe ${entry.itemId}: it is not in the index`);
  return {
    itemId: entry.itemId,
    fileId: indexed.fileId,
    listItemId: indexed.listItemId,
    file: indexed.file,
    url: entry.seen?.url ?? "",
    rawUrl: entry.seen?.rawUrl ?? "",
    serverPath: entry.mirrored?.serverPath ?? entry.seen?.serverPath ?? "",
    name: indexed.name,
    fileType: fileTypeOf(indexed.name),
    size: indexed.size,
    modifiedAt: indexed.modifiedAt,
    embeddedAt: indexed.embeddedAt,
    sourceId: run.config.sourceId,
    sourceType: run.config.sourceType,
  };
}
