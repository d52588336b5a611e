import { join } from "node:path";
import { ConflictError } from "../../contracts/errors.ts";
import { MANIFEST_LAYOUT, type Manifest } from "../../contracts/manifest.ts";
import { readFileIfExists } from "../../lib/atomic-file.ts";
import { isJsonObject } from "../../lib/json-object.ts";
import { decodeJournalLine, PUT, type SnapshotHead } from "./manifest-codec.ts";
import { ManifestJournal } from "./manifest-journal.ts";
import { type ManifestFiles, ManifestStore } from "./manifest-store.ts";
import { peekIfEntry } from "./peek-entry.ts";
import { RecordTable } from "./record-table.ts";
import { damagedManifest, SnapshotFile } from "./snapshot-file.ts";

/**
 * The manifest in the folder of a source; empty when there is none yet. DamagedError when it cannot be read, ConflictError for
 * another layout. To be closed, also when it was opened for reading.
 */
export async function openManifest(folder: string, { readOnly }: { readonly readOnly: boolean }): Promise<Manifest> {
  const path = join(folder, "manifest.json");
  for (;;) {
    const snapshot = SnapshotFile.open(path);
    const journal = new ManifestJournal(join(folder, ".lockstep", "manifest.journal"), { readOnly });
    try {
      // A writer may have replaced both between the two.
      if (SnapshotFile.isCurrent(path, snapshot)) return await read({ path, readOnly, snapshot, journal });
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

const NO_SNAPSHOT: SnapshotHead = { snapshotId: "", look: undefined };

async function read(files: ManifestFiles): Promise<Manifest> {
  const { path, snapshot, journal } = files;
  const records = new RecordTable();
  const head = snapshot ? await snapshot.scan(records) : NO_SNAPSHOT;
  if (!head) throw await otherLayout(path);
  const store = new ManifestStore(files, records, head.look);
  let journalOf: string | undefined;
  await journal.scan((bytes, start, end, offset) => {
    if (offset === 0) {
      const line = decodeJournalLine(bytes.toString("utf8", start, end));
      if (line?.kind === "head") journalOf = line.snapshotId;
      return journalOf !== undefined;
    }
    if (journalOf === undefined) return isJournalLine(bytes, start, end);
    return journalOf !== head.snapshotId || store.replay(bytes, start, end, offset);
  });
  if (journalOf === head.snapshotId) return store;
  if (journalOf !== undefined && !snapshot) throw damagedManifest(path, "only its journal is there");
  // Left behind by a crash after the snapshot that has all of it.
  await journal.restart(head.snapshotId);
  return store;
}

function isJournalLine(bytes: Buffer, start: number, end: number): boolean {
  const from = start + PUT.before.length;
  if (bytes.toString("latin1", start, from) === PUT.before) {
    return peekIfEntry(bytes, from, end - PUT.after.length) !== undefined;
  }
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
