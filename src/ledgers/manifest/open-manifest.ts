import { join } from "node:path";
import { ConflictError } from "../../contracts/errors.ts";
import { MANIFEST_LAYOUT, type Manifest } from "../../contracts/manifest.ts";
import { readFileIfExists } from "../../lib/atomic-file.ts";
import { isJsonObject } from "../../lib/json-object.ts";
import { decodeJournalLine, type SnapshotHead } from "./manifest-codec.ts";
import { type IndexedSnapshot, ManifestIndex } from "./manifest-index.ts";
import { ManifestJournal } from "./manifest-journal.ts";
import { type ManifestFiles, ManifestStore } from "./manifest-store.ts";
import { peekIfEntry, putIn } from "./peek-entry.ts";
import { RecordTable } from "./record-table.ts";
import { damagedManifest, SnapshotFile } from "./snapshot-file.ts";

const LARGE_FROM = 8 * 1024 * 1024;

export interface ManifestOptions {
  readonly readOnly: boolean;
  /** As ManifestFiles.largeFrom. */
  readonly largeFrom?: number | undefined;
}

/**
 * The manifest in the folder of a source; empty when there is none yet. DamagedError when it cannot be read, ConflictError for
 * another layout. To be closed, also when it was opened for reading.
 */
export async function openManifest(
  folder: string,
  { readOnly, largeFrom = LARGE_FROM }: ManifestOptions,
): Promise<Manifest> {
  const path = join(folder, "manifest.json");
  const index = new ManifestIndex(join(folder, ".lockstep", "manifest.index"), largeFrom);
  for (;;) {
    const snapshot = SnapshotFile.open(path);
    const journal = new ManifestJournal(join(folder, ".lockstep", "manifest.journal"), { readOnly });
    try {
      // A writer may have replaced both between the two.
      if (SnapshotFile.isCurrent(path, snapshot)) {
        return await read({ path, readOnly, largeFrom, snapshot, journal, index });
      }
    } catch (error) {
      close(snapshot, journal);
      throw error;
    }
    close(snapshot, journal);
  }
}

function close(snapshot: SnapshotFile | undefined, journal: ManifestJournal): void {
  snapshot?.close();
  journal.close();
}

const NO_HEAD: SnapshotHead = { snapshotId: "", look: undefined };

async function read(files: ManifestFiles): Promise<Manifest> {
  const { path, snapshot, journal } = files;
  const { head, records } = await readSnapshot(files);
  const store = new ManifestStore(files, records, head.look);
  let journalOf: string | undefined;
  await journal.scan((bytes, start, end, offset) => {
    if (offset === 0) {
      const line = decodeJournalLine(bytes.toString("utf8", start, end));
      if (line?.kind === "head") journalOf = line.snapshotId;
      return journalOf !== undefined;
    }
    if (journalOf === undefined) return isJournalLine(bytes, start, end, records.seed);
    return journalOf !== head.snapshotId || store.replay(bytes, start, end, offset);
  });
  if (journalOf === head.snapshotId) return store;
  if (journalOf !== undefined && !snapshot) throw damagedManifest(path, "only its journal is there");
  // Left behind by a crash after the snapshot that has all of it.
  await journal.restart(head.snapshotId);
  return store;
}

async function readSnapshot({ path, snapshot, index, readOnly }: ManifestFiles): Promise<IndexedSnapshot> {
  const records = new RecordTable();
  if (!snapshot) return { head: NO_HEAD, records };
  const indexed = await index.read(snapshot);
  if (indexed) return indexed;
  const head = await snapshot.scan(records);
  if (!head) throw await otherLayout(path);
  if (!readOnly) await index.write(snapshot, head.snapshotId, records);
  return { head, records };
}

function isJournalLine(bytes: Buffer, start: number, end: number, seed: number): boolean {
  const encoded = putIn(bytes, start, end);
  if (encoded) return peekIfEntry(encoded, seed) !== undefined;
  return decodeJournalLine(bytes.toString("utf8", start, end)) !== undefined;
}

async function otherLayout(path: string): Promise<Error> {
  let found: unknown;
  try {
    found = JSON.parse((await readFileIfExists(path))?.toString("utf8") ?? "");
  } catch {
    return damagedManifest(path, "it is no JSON");
  }
  if (!isJsonObject(found) || !isJsonObject(found["files"])) return damagedManifest(path, "it is no manifest");
  const layout = found["layout"];
  if (layout === MANIFEST_LAYOUT) return damagedManifest(path, "it does not have one entry a line any more");
  return new ConflictError(
    typeof layout === "number" && layout > MANIFEST_LAYOUT
      ? `${path} was written by a later release of lockstep, which has to be used for it.`
      : `${path} has an earlier layout. Upgrade it with: lockstep migrate`,
  );
}
