import { rename } from "node:fs/promises";
import { join } from "node:path";
import { DamagedError } from "../../contracts/errors.ts";
import type { ItemId } from "../../contracts/ids.ts";
import { MANIFEST_FILE, type ManifestEntry } from "../../contracts/manifest.ts";
import { fileStamp } from "../../lib/file-system.ts";
import type { Sql, SqlDatabase } from "../../lib/sql/sql.ts";
import { toFileStamp } from "../../lib/time.ts";
import type { SqlLedger } from "../sql-ledger.ts";
import { type ExportRow, noteExport, readExports, recognise, replaceExport } from "./export-file.ts";
import { encodeEntry, encodeManifest, readManifest } from "./manifest-codec.ts";
import { withMapsLock } from "./map-exports.ts";

/** The location of `manifest.json` of a tree. */
export interface ManifestPlace {
  /** The source's folder, absolute. */
  readonly folder: string;
  /** undefined: read-only; edits are only overlaid on this ledger. */
  readonly writer?: SqlDatabase | undefined;
}

const PUTS_PER_FLUSH = 5000;

/**
 * Imports users' edits of `manifest.json`, unless the ledger has newer data. A missing file is written again, and so is
 * an unreadable one, which is set aside first. ConflictError for another layout.
 */
export async function readManifestBack(ledger: SqlLedger, db: Sql, { folder, writer }: ManifestPlace): Promise<void> {
  const path = join(folder, MANIFEST_FILE);
  const { source_no } = ledger.source;
  const exportedNow = async (): Promise<ExportRow | undefined> => (await readExports(db, source_no)).get(MANIFEST_FILE);
  const isAsWritten = async (): Promise<boolean> => {
    const stamp = await fileStamp(path);
    return stamp === "" || stamp === (await exportedNow())?.stamp;
  };
  const read = async (): Promise<void> => {
    if (await isAsWritten()) return;
    const exported = await exportedNow();
    let stamp = await fileStamp(path);
    const known = await recognise(path, exported);
    if (known) return await noteExport(writer, source_no, known);
    try {
      await takeEntries(ledger, path, exported);
      // The last scan saw other entries.
      if (ledger.manifest.lastScan) ledger.manifest.overlayScan({ ...ledger.manifest.lastScan, id: "" });
    } catch (error) {
      if (!(error instanceof DamagedError)) throw error;
      const aside = `${MANIFEST_FILE}.corrupt-${toFileStamp(new Date())}`;
      if (writer) await rename(path, join(folder, aside));
      stamp = "";
      ledger.problems.push(`${error.problem} It is set aside as ${aside}, and written anew`);
    }
    await ledger.flush();
    // Its content is in the ledger now. Write it again at once, so that it can be edited again.
    if (writer && !(await replaceManifest(ledger, writer, folder, { exported, stampBefore: stamp }))) await read();
  };
  if (await isAsWritten()) return;
  if (writer) await withMapsLock(folder, read);
  else await read();
}

async function takeEntries(ledger: SqlLedger, path: string, exported: ExportRow | undefined): Promise<void> {
  for await (const _ of readManifest(path)) {
    // Only to see whether all of it can be read.
  }
  const { manifest } = ledger;
  const found = new Set<ItemId>();
  let put = 0;
  const flushNowAndThen = async (): Promise<void> => {
    if (++put % PUTS_PER_FLUSH === 0) await ledger.flush();
  };
  for await (const page of readManifest(path)) {
    const known = await manifest.written(page.map(({ docId }) => docId));
    for (const entry of page) {
      found.add(entry.docId);
      const written = known.get(entry.docId);
      if (written && (written.rev > (exported?.rev ?? 0) || isSame(written.entry, entry))) continue;
      manifest.overlay(entry.docId, entry);
      await flushNowAndThen();
    }
  }
  if (!exported) return;
  for await (const page of manifest.entries()) {
    const gone = page.map(({ docId }) => docId).filter((docId) => !found.has(docId));
    for (const [docId, { rev }] of await manifest.written(gone)) {
      if (rev > exported.rev) continue;
      manifest.overlay(docId, null);
      await flushNowAndThen();
    }
  }
}

/** Ignores `lastSeenAt`, which the ledger knows better. */
function isSame(a: ManifestEntry, b: ManifestEntry): boolean {
  return encodeEntry({ ...a, lastSeenAt: "" }) === encodeEntry({ ...b, lastSeenAt: "" });
}

/** Writes `manifest.json` unless it is up to date. Edits made meanwhile are imported by the next run. */
export async function exportManifest(ledger: SqlLedger, db: SqlDatabase, folder: string): Promise<void> {
  await withMapsLock(folder, async () => {
    const exported = (await readExports(db, ledger.source.source_no)).get(MANIFEST_FILE);
    const stamp = await fileStamp(join(folder, MANIFEST_FILE));
    if (stamp !== "" && stamp !== exported?.stamp) return;
    const { tracked_rev } = await ledger.readSource();
    if (tracked_rev === 0 || (stamp !== "" && exported?.rev === tracked_rev)) return;
    await replaceManifest(ledger, db, folder, { exported, stampBefore: stamp });
  });
}

/**
 * Replaces the file, whose content was imported. The caller holds the lock. false: its stamp changed, and it was left
 * as it is.
 */
export async function replaceManifest(
  ledger: SqlLedger,
  db: SqlDatabase,
  folder: string,
  { exported, stampBefore }: { readonly exported?: ExportRow | undefined; readonly stampBefore?: string } = {},
): Promise<boolean> {
  const revNow = async (): Promise<number> => (await ledger.readSource()).tracked_rev;
  if ((await revNow()) === 0) return true;
  const content = { revNow, pieces: () => manifestOf(ledger), stampBefore };
  const path = join(folder, MANIFEST_FILE);
  return (await replaceExport(db, ledger.source.source_no, path, exported, content)) !== undefined;
}

/** The whole file, as it would be written now. */
async function* manifestOf({ manifest }: SqlLedger): AsyncGenerator<Buffer, void> {
  const displaced = new Map<ItemId, ManifestEntry>();
  for (const entry of await manifest.displaced()) displaced.set(entry.docId, entry);
  const pages = async function* (): AsyncGenerator<ManifestEntry[], void> {
    for await (const page of manifest.entries()) yield page.filter(({ docId }) => !displaced.has(docId));
  };
  yield* encodeManifest({ look: manifest.lastScan, displaced: [...displaced.values()], pages: pages() });
}
