import type { DomainId, FileId, ItemId } from "../contracts/ids.ts";
import type { UploadJournal, UploadJournals, UploadPlace, UploadTry } from "../contracts/uploads.ts";
import { gatherWrites } from "../lib/sql/gathered-writes.ts";
import type { Sql, SqlDatabase, SqlValue } from "../lib/sql/sql.ts";
import { toUtcMicros } from "../lib/time.ts";
import type { LedgerDatabases } from "./ledger-databases.ts";
import { migrateUploadJournals, type OldUpload, readOldJournals } from "./migrate/migrate-earlier-files.ts";

interface UploadRow {
  readonly upload_no: number;
  readonly item_id: ItemId;
  readonly name: string;
  readonly bytes: number;
  readonly sent_at: string;
  readonly file_id: FileId | "";
  readonly sha256: string;
  readonly lost_at: string;
}

/** How long a settled upload is kept: a search for a lost one, a day later, must not take it for that. */
const REMEMBER_MS = 7 * 24 * 3600_000;
const COLUMNS = "domain_id, source_id, store_id, item_id, name, bytes, sent_at, file_id, sha256, lost_at, settled";
const OF_PLACE = "domain_id = $1 AND source_id = $2 AND store_id = $3";

/** `indexFolder`: where earlier releases kept them. */
export function openUploadJournals(databases: LedgerDatabases, indexFolder: string): UploadJournals {
  return {
    async open(place) {
      const db = await databases.open(place.domainId);
      await takeOverUploads(db, indexFolder, { from: place.domainId, to: place.domainId });
      const over = [place.domainId, utcOf(Date.now() - REMEMBER_MS)];
      await db.run("DELETE FROM upload WHERE domain_id = $1 AND settled = 1 AND sent_at < $2", over);
      return openJournal(db, place);
    },
    async files(domainId) {
      const text = `SELECT file_id, sent_at FROM upload WHERE file_id > '' ${domainId === undefined ? "" : "AND domain_id = $1"}`;
      const dbs = domainId === undefined ? await databases.all() : [await databases.find(domainId)];
      const found = (await readOldJournals(indexFolder, domainId)).flatMap(({ uploads }) => uploads);
      const files = found.flatMap(({ fileId, startedAtMs }) => (fileId ? [{ fileId, startedAtMs }] : []));
      for (const db of dbs) {
        const rows = await db?.all<{ file_id: FileId; sent_at: string }>(
          text,
          domainId === undefined ? [] : [domainId],
        );
        for (const row of rows ?? []) files.push({ fileId: row.file_id, startedAtMs: Date.parse(row.sent_at) });
      }
      return files;
    },
  };
}

/** The domain may have another id by now than the files of an earlier release. */
export function takeOverUploads(
  db: SqlDatabase,
  indexFolder: string,
  { from, to }: { readonly from: DomainId; readonly to: DomainId },
): Promise<void> {
  return migrateUploadJournals(indexFolder, from, (place, uploads) =>
    db.write(async (sql) => {
      // Rows of a killed attempt.
      await sql.run(`DELETE FROM upload WHERE ${OF_PLACE}`, placeOf({ ...place, domainId: to }));
      await sql.insert(
        `upload (${COLUMNS})`,
        uploads.map((upload) => valuesOf({ ...place, domainId: to }, upload)),
      );
    }),
  );
}

function openJournal(db: SqlDatabase, place: UploadPlace): UploadJournal {
  const write = gatherWrites(db);
  const change = async (key: number, set: string, values: readonly SqlValue[] = []): Promise<void> => {
    await write((sql) => sql.run(`UPDATE upload SET ${set} WHERE upload_no = $1`, [key, ...values]));
  };
  return {
    async begin({ itemId, name, bytes }) {
      const upload = { itemId, name, bytes, startedAtMs: Date.now(), isSettled: false };
      const values = valuesOf(place, { ...upload, fileId: undefined, sha256: "", lostAtMs: undefined });
      const row = await write((sql) => insertOne(sql, values));
      if (!row) throw new Error(`note the upload of '${name}': it was not written`);
      return row.upload_no;
    },
    answered: (key, fileId, sha256) => change(key, "file_id = $2, sha256 = $3", [fileId, sha256]),
    lost: (key) => change(key, "lost_at = $2", [utcOf(Date.now())]),
    settle: (key) => change(key, "settled = 1"),
    async unsettled() {
      const text = `SELECT * FROM upload WHERE ${OF_PLACE} AND settled = 0 ORDER BY upload_no`;
      return (await db.all<UploadRow>(text, placeOf(place))).map(toTry);
    },
  };
}

function insertOne(sql: Sql, values: readonly SqlValue[]): Promise<{ readonly upload_no: number } | undefined> {
  const places = values.map((_, at) => `$${at + 1}`).join(", ");
  return sql.get(`INSERT INTO upload (${COLUMNS}) VALUES (${places}) RETURNING upload_no`, values);
}

function placeOf({ domainId, sourceId, storeId }: UploadPlace): string[] {
  return [domainId, sourceId, storeId];
}

function valuesOf(place: UploadPlace, upload: OldUpload): SqlValue[] {
  const { itemId, name, bytes, startedAtMs, fileId = "", sha256, lostAtMs, isSettled } = upload;
  const lostAt = lostAtMs === undefined ? "" : utcOf(lostAtMs);
  return [...placeOf(place), itemId, name, bytes, utcOf(startedAtMs), fileId, sha256, lostAt, isSettled ? 1 : 0];
}

function toTry(row: UploadRow): UploadTry {
  return {
    key: row.upload_no,
    itemId: row.item_id,
    name: row.name,
    bytes: row.bytes,
    startedAtMs: Date.parse(row.sent_at),
    lostAtMs: row.lost_at === "" ? undefined : Date.parse(row.lost_at),
    fileId: row.file_id || undefined,
    sha256: row.sha256,
  };
}

function utcOf(ms: number): string {
  return toUtcMicros(new Date(ms));
}
