import { rename } from "node:fs/promises";
import { join } from "node:path";
import { BadInputError, explain } from "../../contracts/errors.ts";
import type { EntrySummary, FilesMetadata, MetadataEntry } from "../../contracts/files-metadata.ts";
import type { DomainId } from "../../contracts/ids.ts";
import { withFileLock } from "../../lib/file-lease.ts";
import { fileStamp } from "../../lib/file-stamp.ts";
import { hashFile } from "../../lib/hash-file.ts";
import { readJsonArray } from "../../lib/json-file.ts";
import { isJsonObject, type JsonObject } from "../../lib/json-object.ts";
import { copyAside } from "../../lib/put-aside.ts";
import { isListed, listOf } from "../../lib/sql/is-listed.ts";
import type { Sql, SqlDatabase } from "../../lib/sql/sql.ts";
import { toFileStamp } from "../../lib/time.ts";
import {
  allRows,
  CLEARED,
  type DomainRow,
  type EmbeddedFile,
  type EntryToWrite,
  findDomain,
  isSameFile,
  lastEntryNo,
  openDomain,
  removeEntries,
  rowsByFile,
  writeEntries,
} from "../embedded-files.ts";
import { emptyLog, type LedgerDatabases } from "../ledger-databases.ts";
import { type ExportRow, NEVER_EXPORTED, noteExport, readExports, recognise, replaceExport } from "./export-file.ts";
import { decodeEntry, encodeEntry, formatEntry } from "./metadata-codec.ts";

const NAME = "files_metadata.json";
const IMPORTED = 2;
const ENTRIES_AT_ONCE = 2000;

/** The entries of all domains, and their file in the folder of each below `domainsFolder`. */
export function openFilesMetadata(databases: LedgerDatabases, domainsFolder: string): FilesMetadata {
  const placeOf = (domainId: DomainId): MetadataPlace => ({ domainId, folder: join(domainsFolder, domainId) });
  const readBack = async (domainId: DomainId): Promise<string> => {
    const place = placeOf(domainId);
    const db = await databases.find(domainId);
    if (await isUntouched(db, place)) return "";
    return await withMetadataLock(place, async () => await takeBack(await databases.open(domainId), databases, place));
  };
  const domainOf = async (domainId: DomainId): Promise<{ db: SqlDatabase; domain: DomainRow } | undefined> => {
    const db = await databases.find(domainId);
    const domain = db && (await findDomain(db, domainId));
    return domain && { db, domain };
  };
  return {
    readBack,
    async write(domainId) {
      const place = placeOf(domainId);
      if (!(await domainOf(domainId)) && (await isUntouched(undefined, place))) return [];
      return await withMetadataLock(place, async () => {
        const db = await databases.open(domainId);
        const damage = await takeBack(db, databases, place);
        const warnings = damage === "" ? [] : [await setAside(place, damage)];
        await exportMetadata(db, databases, place);
        return warnings;
      });
    },
    async find(domainId, fileIds) {
      const wanted = new Set(fileIds);
      const { db, domain } = (await domainOf(domainId)) ?? {};
      if (!db || domain?.imported !== IMPORTED) return await findInFile(placeOf(domainId), wanted);
      await readBack(domainId);
      const rows = await rowsByFile(db, domain.source_no, [...wanted]);
      return new Map([...rows].map(([fileId, row]) => [fileId, encodeEntry(row, domainId, JSON.parse) as JsonObject]));
    },
    async *entries(domainId) {
      const { db, domain } = (await domainOf(domainId)) ?? {};
      if (!db || !domain) return;
      for await (const rows of allRows(db, domain.source_no)) {
        yield rows.filter(({ file_id }) => file_id !== "").map(summaryOf);
      }
    },
    async count(domainId) {
      const { db, domain } = (await domainOf(domainId)) ?? {};
      return db && domain ? await countEntries(db, domain.source_no) : 0;
    },
    async remove(domainId, which) {
      const found = await domainOf(domainId);
      const [column, ids] =
        "fileIds" in which ? (["file_id", which.fileIds] as const) : (["item_id", which.itemIds] as const);
      await found?.db.write((sql) => removeEntries(sql, found.domain.source_no, column, ids));
    },
  };
}

/** Before the first crawl of this release: the file is all there is, and whoever only searches makes no database. None where it is damaged. */
async function findInFile(
  { domainId, folder }: MetadataPlace,
  wanted: ReadonlySet<string>,
): Promise<ReadonlyMap<string, MetadataEntry>> {
  const found = new Map<string, MetadataEntry>();
  const path = join(folder, NAME);
  if (wanted.size === 0 || (await fileStamp(path)) === "") return found;
  try {
    for await (const page of readJsonArray(path)) {
      for (const text of page) {
        const file = decodeEntry(text, domainId);
        if (wanted.has(file.file_id)) found.set(file.file_id, JSON.parse(text) as JsonObject);
      }
    }
    return found;
  } catch (error) {
    if (error instanceof BadInputError) return new Map();
    throw error;
  }
}

interface MetadataPlace {
  readonly domainId: DomainId;
  readonly folder: string;
}

function withMetadataLock<T>({ folder }: MetadataPlace, work: () => Promise<T>): Promise<T> {
  return withFileLock(join(folder, ".lockstep", "files-metadata.lock"), work);
}

/** Nothing can be learnt from the file. One that is missing says nothing: it is written again. */
async function isUntouched(sql: Sql | undefined, { domainId, folder }: MetadataPlace): Promise<boolean> {
  const stamp = await fileStamp(join(folder, NAME));
  if (stamp === "") return true;
  const domain = sql && (await findDomain(sql, domainId));
  return domain?.imported === IMPORTED && (await readExports(sql as Sql, domain.source_no)).get(NAME)?.stamp === stamp;
}

/** Under the lock. Returns why the file cannot be read. */
async function takeBack(db: SqlDatabase, databases: LedgerDatabases, place: MetadataPlace): Promise<string> {
  const path = join(place.folder, NAME);
  const domain = await openDomain(db, place.domainId);
  const exported = (await readExports(db, domain.source_no)).get(NAME);
  const stamp = await fileStamp(path);
  if (stamp !== "" && (stamp !== exported?.stamp || domain.imported !== IMPORTED)) {
    const ours = await recognise(path, exported);
    if (ours) await noteExport(db, domain.source_no, ours);
    else {
      const damage = await takeOver(db, databases, { ...place, path, domain, exported });
      if (damage !== "") return damage;
    }
  }
  if (domain.imported !== IMPORTED) {
    await db.run("UPDATE source SET imported = $2 WHERE source_no = $1", [domain.source_no, IMPORTED]);
  }
  return "";
}

interface FileToRead extends MetadataPlace {
  readonly path: string;
  readonly domain: DomainRow;
  /** undefined: we never wrote it. An earlier release did, or the database was lost. */
  readonly exported: ExportRow | undefined;
}

async function takeOver(db: SqlDatabase, databases: LedgerDatabases, file: FileToRead): Promise<string> {
  const { path, domainId, domain, folder } = file;
  const [stamp, sha256] = [await fileStamp(path), await hashFile(path)];
  let isBlank = true;
  try {
    for await (const page of readJsonArray(path)) {
      isBlank = false;
      // Only to see whether all of it can be read.
      for (const text of page) decodeEntry(text, domainId);
    }
  } catch (error) {
    if (error instanceof BadInputError) return explain(error);
    throw error;
  }
  // Whoever wrote it was cut off, or wants it written anew; nobody took out single entries.
  if (isBlank) {
    await exportMetadata(db, databases, file);
    return "";
  }
  if (domain.imported !== IMPORTED) await copyAside([path], join(folder, ".lockstep"));
  const taking = new TakeOver(db, file);
  for await (const page of readJsonArray(path)) await taking.add(page);
  const rev = await taking.end();
  // It says all that the ledger says: as people left it, it may stay.
  if (rev === undefined) await exportMetadata(db, databases, file);
  else await noteExport(db, domain.source_no, { ...NEVER_EXPORTED, name: NAME, rev, stamp, size: 0, sha256 });
  return "";
}

/** Takes over the entries of a file, some at a time, each where the ledger knows nothing newer than the file. */
class TakeOver {
  readonly #db: SqlDatabase;
  readonly #domainId: DomainId;
  readonly #source: number;
  /** The revision that the file says, but for what was edited; undefined: nobody knows. */
  readonly #exportedRev: number | undefined;
  /** By file id: was it taken from this file? */
  readonly #found = new Map<string, boolean>();
  #waiting: EmbeddedFile[] = [];
  /** The number of the last one in the order of the file. */
  #last = 0;
  #rev: number;
  /** The ledger says something that the file does not say. */
  #isAhead: boolean;
  #isFirst = true;

  constructor(db: SqlDatabase, { domainId, domain, exported }: FileToRead) {
    this.#db = db;
    this.#domainId = domainId;
    this.#source = domain.source_no;
    this.#exportedRev = exported?.rev;
    this.#rev = domain.rev;
    this.#isAhead = domain.rev !== (exported?.rev ?? 0);
  }

  async add(page: readonly string[]): Promise<void> {
    for (const text of page) {
      const file = decodeEntry(text, this.#domainId);
      // Written when the domain had another id.
      if (file.path !== null && !file.path.startsWith("/") && !text.includes(`"${this.#domainId}\\\\`))
        this.#isAhead = true;
      this.#waiting.push(file);
    }
    if (this.#waiting.length >= ENTRIES_AT_ONCE) await this.#take();
  }

  /** The revision that the file says now; undefined: it does not say all. */
  async end(): Promise<number | undefined> {
    await this.#take();
    if (this.#exportedRev !== undefined) await this.#removeMissing(this.#exportedRev);
    return this.#isAhead ? undefined : this.#rev;
  }

  async #take(): Promise<void> {
    const files = withoutRepeated(this.#waiting.splice(0));
    await this.#write(async (sql) => {
      const ids = files.flatMap(({ file_id }) => (file_id === "" ? [] : [file_id]));
      const known = await rowsByFile(sql, this.#source, ids);
      const cleared = await this.#cleared(sql, ids);
      const written: EntryToWrite[] = [];
      const gone = this.#isFirst ? await this.#nameless(sql) : [];
      let next = (await lastEntryNo(sql, this.#source)) + 1;
      for (const file of files) {
        const row = known.get(file.file_id);
        const isRepeated = this.#found.get(file.file_id) === true;
        const isNewer = row !== undefined && row.rev > (this.#exportedRev ?? 0) && !isRepeated;
        if (file.file_id !== "") this.#found.set(file.file_id, !isNewer);
        if (isNewer || cleared.has(file.file_id)) continue;
        const entry = row && isRepeated ? { ...file, properties: merged(row.properties, file.properties) } : file;
        const isMoved = row !== undefined && row.entry_no < this.#last && !isRepeated;
        if (isMoved) gone.push(row.entry_no);
        const entryNo = row && !isMoved ? row.entry_no : next++;
        if (!row || isMoved || !isSameFile(row, entry)) written.push({ ...entry, entry_no: entryNo });
        this.#last = Math.max(this.#last, entryNo);
      }
      return { written, gone };
    });
    this.#isFirst = false;
  }

  async #removeMissing(exportedRev: number): Promise<void> {
    const gone: number[] = [];
    for await (const rows of allRows(this.#db, this.#source)) {
      for (const row of rows) {
        if (row.file_id !== "" && row.rev <= exportedRev && !this.#found.has(row.file_id)) gone.push(row.entry_no);
      }
    }
    for (let from = 0; from < gone.length; from += ENTRIES_AT_ONCE) {
      await this.#write(async () => ({ written: [], gone: gone.slice(from, from + ENTRIES_AT_ONCE) }));
    }
  }

  async #write(
    plan: (sql: Sql) => Promise<{ readonly written: readonly EntryToWrite[]; readonly gone: readonly number[] }>,
  ): Promise<void> {
    const rev = await this.#db.write(async (sql) => {
      const { written, gone } = await plan(sql);
      return await writeEntries(sql, this.#source, written, gone);
    });
    if (rev === undefined) return;
    if (rev !== this.#rev + 1) this.#isAhead = true;
    this.#rev = rev;
  }

  /** What is no entry has nothing to be known by: all of it is taken from the file. */
  async #nameless(sql: Sql): Promise<number[]> {
    const text = "SELECT entry_no FROM embedded_file WHERE source_no = $1 AND file_id = '' AND rev <= $2";
    const rows = await sql.all<{ entry_no: number }>(text, [this.#source, this.#exportedRev ?? 0]);
    return rows.map(({ entry_no }) => entry_no);
  }

  async #cleared(sql: Sql, fileIds: readonly string[]): Promise<ReadonlySet<string>> {
    const listed = isListed(sql, "item_id", "$4", "text");
    const text = `SELECT item_id FROM cleared WHERE source_no = $1 AND facet = $2 AND rev > $3 AND ${listed}`;
    const values = [this.#source, CLEARED, this.#exportedRev ?? 0, listOf(fileIds)];
    return new Set((await sql.all<{ item_id: string }>(text, values)).map(({ item_id }) => item_id));
  }
}

/** Of several entries of one file the last one counts; no property is lost. */
function withoutRepeated(files: readonly EmbeddedFile[]): EmbeddedFile[] {
  const byId = new Map<string, EmbeddedFile>();
  const all = files.map((file) => {
    const before = file.file_id === "" ? undefined : byId.get(file.file_id);
    const one = before ? { ...file, properties: merged(before.properties, file.properties) } : file;
    if (file.file_id !== "") byId.set(file.file_id, one);
    return one;
  });
  return all.filter((file) => file.file_id === "" || byId.get(file.file_id) === file);
}

function merged(before: string, after: string): string {
  return JSON.stringify({ ...(JSON.parse(before) as JsonObject), ...(JSON.parse(after) as JsonObject) });
}

/** A damaged file is never overwritten: what people wrote into it can still be rescued. */
async function setAside({ folder }: MetadataPlace, damage: string): Promise<string> {
  const path = join(folder, NAME);
  const aside = `${path}.corrupt-${toFileStamp(new Date())}-${process.pid}`;
  await rename(path, aside);
  return `${NAME} could not be read (${damage}); it was moved to '${aside}'.`;
}

/** Under the lock, after it was read back. */
async function exportMetadata(db: SqlDatabase, databases: LedgerDatabases, place: MetadataPlace): Promise<void> {
  const { domainId, folder } = place;
  const path = join(folder, NAME);
  const [domain, stamp] = [await openDomain(db, domainId), await fileStamp(path)];
  const exported = (await readExports(db, domain.source_no)).get(NAME);
  if (stamp !== "" && stamp === exported?.stamp && exported.rev === domain.rev) return;
  if (stamp === "" && (await lastEntryNo(db, domain.source_no)) === 0) return;
  const snapshot = await databases.snapshot(domainId);
  if (!snapshot) throw new Error(`write ${NAME}: the ledger of domain '${domainId}' is gone`);
  try {
    const { rev } = (await findDomain(snapshot.sql, domainId)) ?? domain;
    const rows = allRows(snapshot.sql, domain.source_no);
    const content = { revNow: async () => rev, pieces: () => formatAll(rows, domainId) };
    await replaceExport(db, domain.source_no, path, exported, content);
    const values = [domain.source_no, CLEARED, rev];
    await db.run("DELETE FROM cleared WHERE source_no = $1 AND facet = $2 AND rev <= $3", values);
  } finally {
    await snapshot.end();
  }
  // What was taken out of it is not to be found in the log behind the database either.
  await emptyLog(db);
}

async function* formatAll(
  pages: AsyncIterable<readonly EmbeddedFile[]>,
  domainId: DomainId,
): AsyncGenerator<Buffer, void> {
  let before = "[\n  ";
  for await (const rows of pages) {
    yield Buffer.from(before + rows.map((row) => formatEntry(row, domainId)).join(",\n  "));
    before = ",\n  ";
  }
  yield Buffer.from(before.startsWith("[") ? "[]\n" : "\n]\n");
}

async function countEntries(sql: Sql, source: number): Promise<number> {
  const row = await sql.get<{ n: number }>("SELECT count(*) AS n FROM embedded_file WHERE source_no = $1", [source]);
  return row?.n ?? 0;
}

function summaryOf({ file_id, item_id, name, embedded_at, properties }: EmbeddedFile): EntrySummary {
  const own: unknown = JSON.parse(properties);
  return {
    fileId: file_id,
    itemId: item_id ?? "",
    name: name ?? "",
    embeddedAt: embedded_at ?? "",
    properties: isJsonObject(own) ? Object.keys(own) : [],
  };
}
