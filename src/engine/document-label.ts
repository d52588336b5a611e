import type { LedgerEntry } from "../contracts/ledger.ts";
import type { DocumentFile, Label } from "../contracts/search-index.ts";
import type { SourceRun } from "../contracts/source-kind.ts";
import { fileTypeOf } from "../lib/file-type.ts";
import type { Mirror } from "../mirror/mirror.ts";

/** Backends cap attribute values at this length. */
const MAX_ATTRIBUTE = 512;

/** The mirrored file of an entry, ready for a draft. */
export function documentOf(run: SourceRun, entry: LedgerEntry, mirror: Mirror): DocumentFile {
  const { mirrored } = entry;
  if (!mirrored?.file) throw new Error(`index ${entry.itemId}: nothing was downloaded`);
  return {
    itemId: entry.itemId,
    path: mirror.absolute(mirrored.file),
    sha256: mirrored.observed?.sha256 ?? "",
    bytes: mirrored.observed?.size ?? mirrored.fingerprint.size,
    label: labelOf(run, entry, mirror),
  };
}

/** The marks by which we know our documents again in any backend, and what results show of them. */
export function labelOf(run: SourceRun, entry: LedgerEntry, mirror: Mirror): Label {
  const { mirrored, seen } = entry;
  const name = mirrored?.name ?? "";
  // The type of what is embedded: a page is called `Home.aspx`, and its document is HTML.
  const fileType = fileTypeOf(mirrored?.file ?? "");
  return {
    name,
    path: mirror.relativePath(mirrored?.file ?? ""),
    url: seen?.url ?? "",
    fileType,
    modifiedAt: mirrored?.fingerprint.modifiedAt ?? "",
    attributes: {
      domain_id: run.domainId,
      source_id: run.config.sourceId,
      item_id: entry.itemId.slice(0, MAX_ATTRIBUTE),
      content_hash: mirrored?.observed?.sha256 ?? "",
      file_type: fileType.slice(0, MAX_ATTRIBUTE),
      last_modified: mirrored?.fingerprint.modifiedAt ?? "",
    },
  };
}
