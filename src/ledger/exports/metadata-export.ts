import { rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { BadInputError, explain } from "../../contracts/errors.ts";
import type { EntriesToRemove, EntrySummary, FilesMetadata, MetadataEntry } from "../../contracts/files-metadata.ts";
import type { DomainId } from "../../contracts/ids.ts";
import type { Lease, Leases } from "../../contracts/lease.ts";
import { fileStamp } from "../../lib/file-system.ts";
import { fileTypeOf } from "../../lib/file-type.ts";
import { hashFile } from "../../lib/hash.ts";
import { parseExactly, readJsonArray } from "../../lib/json-file.ts";
import { isJsonObject, type JsonObject } from "../../lib/json-object.ts";
import { copyAside } from "../../lib/put-aside.ts";
import type { Sql, SqlDatabase } from "../../lib/sql/sql.ts";
import { toFileStamp, toUnixSeconds } from "../../lib/time.ts";
import {
  allRows,
  belowDomain,
  type EmbeddedFile,
  type EmbeddedRow,
  type EntryToWrite,
  fromDomain,
  inheritAgain,
  isSameFile,
  keyOf,
  lastEntryNo,
  NO_PROPERTIES,
  removeEntries,
  rowsByFile,
  writeEntries,
} from "../embedded-files.ts";
import { emptyLog, type LedgerDatabases } from "../ledger-databases.ts";
import { domainKey, findSource, IMPORTED, openSource, type SourceRow } from "../source-row.ts";
import { type ExportRow, NEVER_EXPORTED, noteExport, readExports, recognise, replaceExport } from "./export-file.ts";

const NAME = "files_metadata.json";
const ENTRIES_AT_ONCE = 2000;

/** The entries of all domains, and their files in the folders below `domainsFolder`. */
export function openFilesMetadata(databases: LedgerDatabases, leases: Leases, domainsFolder: string): FilesMetadata {
  const domainOf = async (domainId: DomainId): Promise<KnownDomain | undefined> => {
    const db = await databases.find(domainId);
    const domain = db && (await findSource(db, domainKey(domainId)));
    return domain && { db, domain, exported: (await readExports(db, domain.source_no)).get(NAME) };
  };
  const fileOf = (domainId: DomainId): MetadataFile => {
    const folder = join(domainsFolder, domainId);
    return { domainId, folder, path: join(folder, NAME) };
  };
  const withLease = async <T>(
    domainId: DomainId,
    work: (db: SqlDatabase, file: LeasedFile) => Promise<T>,
  ): Promise<T> => {
    const lease = await leases.acquire(domainId, NAME, {
      owner: `process ${process.pid}`,
      staleMs: 10_000,
      pollMs: 20,
    });
    try {
      return await work(await databases.open(domainId), { ...fileOf(domainId), lease });
    } finally {
      await lease.release();
    }
  };
  const readBack = async (domainId: DomainId): Promise<string> => {
    if (isUntouched(await domainOf(domainId), await fileStamp(fileOf(domainId).path))) return "";
    return await withLease(domainId, importEdits);
  };
  return {
    readBack,
    async write(domainId) {
      if ((await fileStamp(fileOf(domainId).path)) === "" && !(await domainOf(domainId))) return [];
      return await withLease(domainId, (db, file) => writeFile(db, file));
    },
    async remove(domainId, which) {
      return await withLease(domainId, (db, file) => writeFile(db, file, which));
    },
    async find(domainId, fileIds) {
      const [wanted, file, known] = [new Set(fileIds), fileOf(domainId), await domainOf(domainId)];
      if (known?.domain.imported !== IMPORTED) return await findInFile(file, wanted);
      if (!isUntouched(known, await fileStamp(file.path))) await readBack(domainId);
      const rows = await rowsByFile(known.db, known.domain.source_no, [...wanted]);
      return new Map([...rows].map(([fileId, row]) => [fileId, encodeEntry(row, domainId, JSON.parse) as JsonObject]));
    },
    async *entries(domainId, { asEdited = false } = {}) {
      const known = await domainOf(domainId);
      const edited = asEdited ? await readEdited(fileOf(domainId), known) : undefined;
      for await (const rows of known ? allRows(known.db, known.domain.source_no) : []) {
        const now = edited ? rows.flatMap((row) => editedRow(row, edited, known?.exported)) : rows;
        yield now.map(summariseEntry);
      }
      if (edited && edited.size > 0) yield [...edited.values()].map(summariseEntry);
    },
  };
}

interface KnownDomain {
  readonly db: SqlDatabase;
  readonly domain: SourceRow;
  /** undefined: never written by us. */
  readonly exported: ExportRow | undefined;
}

interface MetadataFile {
  readonly domainId: DomainId;
  readonly folder: string;
  readonly path: string;
}

/** The file while its lease is held. */
interface LeasedFile extends MetadataFile {
  readonly lease: Lease;
}

/** Whether the file needs no import. A missing file is just written again. */
function isUntouched(known: KnownDomain | undefined, stamp: string): boolean {
  return stamp === "" || (known?.domain.imported === IMPORTED && known.exported?.stamp === stamp);
}

/**
 * Before the first embed step of this release, reads the file itself: a search creates no database. Empty if it is
 * damaged.
 */
async function findInFile(
  { path, domainId }: MetadataFile,
  wanted: ReadonlySet<string>,
): Promise<ReadonlyMap<string, MetadataEntry>> {
  const found = new Map<string, MetadataEntry>();
  if (wanted.size === 0 || (await fileStamp(path)) === "") return found;
  try {
    for await (const page of readJsonArray(path)) {
      for (const text of page) {
        const { file_id } = decodeEntry(text, domainId);
        if (wanted.has(file_id)) found.set(file_id, JSON.parse(text) as JsonObject);
      }
    }
    return found;
  } catch (error) {
    if (error instanceof BadInputError) return new Map();
    throw error;
  }
}

/** Returns the entries of an edited file, by key; undefined: not edited. */
async function readEdited(
  { path, domainId }: MetadataFile,
  known: KnownDomain | undefined,
): Promise<Map<string, EmbeddedFile> | undefined> {
  if (isUntouched(known, await fileStamp(path)) || (await recognise(path, known?.exported))) return undefined;
  const edited = new Map<string, EmbeddedFile>();
  let isBlank = true;
  try {
    for await (const page of readJsonArray(path)) {
      isBlank = false;
      for (const text of page) {
        const file = decodeEntry(text, domainId);
        const before = file.file_id === "" ? undefined : edited.get(keyOf(file));
        edited.set(keyOf(file), before ? { ...file, properties: merged(before.properties, file.properties) } : file);
      }
    }
  } catch (error) {
    if (error instanceof BadInputError) throw new BadInputError(`${NAME} could not be read: ${explain(error)}`);
    throw error;
  }
  return isBlank ? undefined : edited;
}

/** Returns the row as importing the edited file would leave it, and removes it from `edited`. */
function editedRow(
  row: EmbeddedRow,
  edited: Map<string, EmbeddedFile>,
  exported: ExportRow | undefined,
): readonly EmbeddedFile[] {
  const found = edited.get(keyOf(row));
  edited.delete(keyOf(row));
  if (row.rev > (exported?.rev ?? 0)) return [{ ...row, properties: found?.properties ?? row.properties }];
  return found ? [found] : [];
}

/** Returns why the file cannot be read. */
async function importEdits(db: SqlDatabase, file: LeasedFile): Promise<string> {
  const domain = await openSource(db, domainKey(file.domainId));
  const exported = (await readExports(db, domain.source_no)).get(NAME);
  if (!isUntouched({ db, domain, exported }, await fileStamp(file.path))) {
    const ours = await recognise(file.path, exported);
    if (ours) await noteExport(db, domain.source_no, ours);
    const damage = ours ? "" : await takeOver({ db, domain, exported }, file);
    if (damage !== "") return damage;
  }
  if (domain.imported !== IMPORTED) {
    await rm(join(file.folder, ".lockstep", "files-metadata.lock"), { recursive: true, force: true });
    await db.run("UPDATE source SET imported = $2 WHERE source_no = $1", [domain.source_no, IMPORTED]);
  }
  return "";
}

/** Writes the file; imports edits made meanwhile, but not entries that are being removed. */
async function writeFile(db: SqlDatabase, file: LeasedFile, leaving?: EntriesToRemove): Promise<readonly string[]> {
  const warnings: string[] = [];
  for (let isWritten = false; !isWritten; ) {
    warnings.push(...(await importOrSetAside(db, file)));
    if (leaving) {
      const { source_no } = await openSource(db, domainKey(file.domainId));
      await db.write((sql) => removeEntries(sql, source_no, leaving));
    }
    isWritten = await exportMetadata(db, file);
  }
  return warnings;
}

/** A damaged file is set aside, never overwritten: users' properties in it can still be rescued. */
async function importOrSetAside(db: SqlDatabase, file: LeasedFile): Promise<readonly string[]> {
  const damage = await importEdits(db, file);
  if (damage === "") return [];
  const aside = `${file.path}.corrupt-${toFileStamp(new Date())}-${process.pid}`;
  await rename(file.path, aside);
  await importEdits(db, file);
  return [`${NAME} could not be read (${damage}); it was moved to '${aside}'.`];
}

async function takeOver(known: KnownDomain, file: LeasedFile): Promise<string> {
  const { db, domain } = known;
  const [stamp, sha256] = [await fileStamp(file.path), await hashFile(file.path)];
  let isBlank = true;
  try {
    for await (const page of readJsonArray(file.path)) {
      isBlank = false;
      // Only to see whether all of it can be read.
      for (const text of page) decodeEntry(text, file.domainId);
    }
  } catch (error) {
    if (error instanceof BadInputError) return explain(error);
    throw error;
  }
  if (domain.imported !== IMPORTED) await copyAside([file.path], join(file.folder, ".lockstep"));
  // A blank file says nothing. A file that has everything may stay as users left it.
  const rev = isBlank ? undefined : await new MetadataImport(known, file.domainId).take(file.path);
  if (rev === undefined) await exportMetadata(db, file, stamp);
  else await noteExport(db, domain.source_no, { ...NEVER_EXPORTED, name: NAME, rev, stamp, sha256 });
  return "";
}

/**
 * Imports the entries of a file, unless the ledger has newer data; of those only the properties, which belong to the
 * user.
 */
class MetadataImport {
  readonly #db: SqlDatabase;
  readonly #domainId: DomainId;
  readonly #source: number;
  /** The revision of the file, apart from edits; 0: an earlier release wrote it, or the database was lost. */
  readonly #exportedRev: number;
  /** By key: whether the ledger has newer data. Then only the properties are taken from the file. */
  readonly #found = new Map<string, boolean>();
  /** Number of the last entry, in file order. */
  #last = 0;
  #rev: number;
  /** The ledger has something that is not in the file. */
  #isAhead: boolean;

  constructor({ db, domain, exported }: KnownDomain, domainId: DomainId) {
    this.#db = db;
    this.#domainId = domainId;
    this.#source = domain.source_no;
    this.#exportedRev = exported?.rev ?? 0;
    this.#rev = domain.rev;
    this.#isAhead = domain.rev !== this.#exportedRev;
  }

  /** Returns the revision of the file; undefined: it is incomplete. */
  async take(path: string): Promise<number | undefined> {
    let files: EmbeddedFile[] = [];
    for await (const page of readJsonArray(path)) {
      for (const text of page) {
        const file = decodeEntry(text, this.#domainId);
        // Written under another domain id.
        if (file.path?.[0] !== "/" && !text.includes(`"${this.#domainId}\\\\`)) this.#isAhead ||= file.path !== null;
        files.push(file);
      }
      if (files.length < ENTRIES_AT_ONCE) continue;
      await this.#put(files);
      files = [];
    }
    await this.#put(files);
    await this.#settleMissing();
    return this.#isAhead ? undefined : this.#rev;
  }

  /** In file order. Of several entries with one id the last one counts, with the properties of all. */
  async #put(files: readonly EmbeddedFile[]): Promise<void> {
    await this.#write(async (sql) => {
      const ids = new Set(files.map(({ file_id }) => file_id));
      const known = new Map(await rowsByFile(sql, this.#source, [...ids]));
      const written = new Map<number, EntryToWrite>();
      const gone: number[] = [];
      let next = (await lastEntryNo(sql, this.#source)) + 1;
      for (const file of files) {
        const key = keyOf(file);
        const row = known.get(key);
        const isRepeated = this.#found.has(key);
        const isNewer = this.#found.get(key) ?? (row !== undefined && row.rev > this.#exportedRev);
        this.#found.set(key, isNewer);
        const isOneOfSeveral = row !== undefined && isRepeated && file.file_id !== "";
        const properties = isOneOfSeveral ? merged(row.properties, file.properties) : file.properties;
        const entry = { ...(isNewer ? (row ?? file) : file), properties };
        const isMoved = row !== undefined && row.entry_no < this.#last && !isRepeated && !isNewer;
        if (isMoved) gone.push(row.entry_no);
        const entryNo = row && !isMoved ? row.entry_no : next++;
        if (!isNewer) this.#last = Math.max(this.#last, entryNo);
        if (row && !isMoved && isSameFile(row, entry)) continue;
        written.set(entryNo, { ...entry, entry_no: entryNo });
        known.set(key, { ...entry, entry_no: entryNo, rev: 0 });
      }
      return await writeEntries(sql, this.#source, [...written.values()], gone);
    });
  }

  /**
   * Deletes entries that were in the file when it was written and are not any more. Newer entries inherit edited
   * properties.
   */
  async #settleMissing(): Promise<void> {
    const isFound = (row: EmbeddedRow): boolean => this.#found.has(keyOf(row));
    const isAdded = (row: EmbeddedRow): boolean => row.rev > this.#exportedRev && !isFound(row);
    const gone: number[] = [];
    for await (const rows of allRows(this.#db, this.#source)) {
      for (const row of rows) if (!isFound(row) && !isAdded(row)) gone.push(row.entry_no);
      const changed = await inheritAgain(this.#db, this.#source, rows.filter(isAdded), isFound);
      await this.#write((sql) => writeEntries(sql, this.#source, changed));
    }
    await this.#write((sql) => writeEntries(sql, this.#source, [], gone));
  }

  async #write(work: (sql: Sql) => Promise<number | undefined>): Promise<void> {
    const rev = await this.#db.write(work);
    if (rev === undefined) return;
    if (rev !== this.#rev + 1) this.#isAhead = true;
    this.#rev = rev;
  }
}

function merged(before: string, after: string): string {
  return JSON.stringify({ ...(JSON.parse(before) as JsonObject), ...(JSON.parse(after) as JsonObject) });
}

/** false: the file was edited since it had this stamp, and was left as it is. */
async function exportMetadata(
  db: SqlDatabase,
  { domainId, path, lease }: LeasedFile,
  stampBefore?: string,
): Promise<boolean> {
  const [domain, stamp] = [await openSource(db, domainKey(domainId)), await fileStamp(path)];
  const exported = (await readExports(db, domain.source_no)).get(NAME);
  if (stamp !== "" && stamp !== (stampBefore ?? exported?.stamp)) return false;
  if (stamp !== "" && stamp === exported?.stamp && exported.rev === domain.rev) return true;
  if (stamp === "" && (await lastEntryNo(db, domain.source_no)) === 0) return true;
  const written = await replaceExport(db, domain.source_no, path, exported, {
    revNow: async () => (await openSource(db, domainKey(domainId))).rev,
    pieces: () => formatAll(allRows(db, domain.source_no), domainId),
    stampBefore: stamp,
    lease,
  });
  // Deleted entries must not be found in the database log either.
  await emptyLog(db);
  return written !== undefined;
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

/** All other fields of an entry belong to the user. */
const STANDARD_FIELDS: ReadonlySet<string> = new Set([
  "sharepoint_listitem_id",
  "sharepoint_unique_file_id",
  "openai_file_id",
  "file_relative_path",
  "url",
  "raw_url",
  "server_relative_url",
  "filename",
  "file_type",
  "file_size",
  "last_modified_utc",
  "last_modified_timestamp",
  "embedded_utc",
  "source_id",
  "source_type",
]);

/** Returns the array element; numbers are as exact as `parse` makes them. */
export function encodeEntry(file: EmbeddedFile, domainId: DomainId, parse: (text: string) => unknown): unknown {
  const properties = file.properties === NO_PROPERTIES ? {} : parse(file.properties);
  if (!isJsonObject(properties)) return properties;
  const { name, modified_at: modifiedAt, path } = file;
  const entry: JsonObject = {
    sharepoint_listitem_id: file.list_item_id,
    sharepoint_unique_file_id: file.item_id,
    openai_file_id: file.file_id || null,
    file_relative_path: path === null ? null : fromDomain(path, domainId).replaceAll("/", "\\"),
    url: file.url,
    raw_url: file.raw_url,
    server_relative_url: file.server_path,
    filename: name,
    file_type: name === null ? null : fileTypeOf(name),
    file_size: file.size,
    last_modified_utc: modifiedAt,
    last_modified_timestamp: modifiedAt === null ? null : toUnixSeconds(modifiedAt),
    embedded_utc: file.embedded_at,
    source_id: file.source_id,
    source_type: file.source_type,
  };
  for (const key of STANDARD_FIELDS) if (entry[key] === null) delete entry[key];
  return { ...entry, ...properties };
}

/** Formats an entry, indented by two spaces. */
function formatEntry(file: EmbeddedFile, domainId: DomainId): string {
  return JSON.stringify(encodeEntry(file, domainId, parseExactly), null, 2).replaceAll("\n", "\n  ");
}

/** BadInputError if the element is malformed. Ids in older files may have stray white space. */
export function decodeEntry(text: string, domainId: DomainId): EmbeddedFile {
  const json = parseExactly(text);
  if (!isJsonObject(json)) return { ...decodeEntry("{}", domainId), properties: JSON.stringify(json) };
  const textOf = (key: string): string | null => (typeof json[key] === "string" ? json[key] : null);
  const numberOf = (key: string): number | null => (Number.isFinite(json[key]) ? (json[key] as number) : null);
  const [sourceId, sourceType] = [textOf("source_id"), textOf("source_type")];
  const path = textOf("file_relative_path")?.replaceAll("\\", "/");
  const listItemId = numberOf("sharepoint_listitem_id");
  const properties = Object.entries(json).filter(([key]) => !STANDARD_FIELDS.has(key));
  return {
    file_id: textOf("openai_file_id")?.trim() ?? "",
    item_id: textOf("sharepoint_unique_file_id")?.trim() ?? null,
    list_item_id: Number.isSafeInteger(listItemId) ? listItemId : null,
    path: path === undefined ? null : belowDomain(path, domainId, sourceId ?? ""),
    url: textOf("url"),
    raw_url: textOf("raw_url"),
    server_path: textOf("server_relative_url"),
    name: textOf("filename"),
    size: numberOf("file_size"),
    modified_at: textOf("last_modified_utc"),
    embedded_at: textOf("embedded_utc")?.trim() ?? null,
    source_id: sourceId,
    source_type: sourceType,
    properties: JSON.stringify(Object.fromEntries(properties)),
  };
}

function summariseEntry({ file_id, item_id, name, embedded_at, properties }: EmbeddedFile): EntrySummary {
  const own: unknown = JSON.parse(properties);
  return {
    fileId: file_id,
    itemId: item_id ?? "",
    name: name ?? "",
    embeddedAt: embedded_at ?? "",
    properties: isJsonObject(own) ? Object.keys(own) : [],
  };
}
