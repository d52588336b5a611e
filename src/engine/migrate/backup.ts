import { constants, copyFile, mkdir, readdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import type { JobContext } from "../../contracts/job.ts";
import { MANIFEST_FILE } from "../../contracts/manifest.ts";
import { readFileIfExists, writeFileAtomic } from "../../lib/atomic-file.ts";
import { namesIn, pathExists } from "../../lib/file-system.ts";
import { hashFile } from "../../lib/hash.ts";
import { parseJsonObject } from "../../lib/json-object.ts";
import { toFileStamp } from "../../lib/time.ts";
import { STORE_FOLDERS } from "./earlier-store.ts";

/** A copy of a store before its migration, `backup/<stamp>/` in the source's folder. */
export interface Backup {
  /** Absolute. */
  readonly folder: string;
  /** The folder that the store came from; "" if it was the source's own. */
  readonly from: string;
  /** SHA-256 of the manifest in it. */
  readonly manifestHash: string;
  /** SHA-256 of the migrated manifest; "" while there is none. */
  readonly migratedHash: string;
}

const NOTE_FILE = "migration.json";
const PARTIAL = ".partial";
const LEFT_BY_UNDOING = /\.(undone|replaced)$/;
const STAMP = /^\d{4}-\d\d-\d\d_\d\d-\d\d-\d\d(-\d+)?$/;

/** Returns the last backup that was not undone. */
export async function lastBackup(sourceFolder: string): Promise<Backup | undefined> {
  const top = join(sourceFolder, "backup");
  const names = (await namesIn(top)).filter((name) => STAMP.test(name)).sort();
  for (const name of names.reverse()) {
    const backup = await readNote(join(top, name));
    if (backup) return backup;
  }
  return undefined;
}

/** Copies a store and verifies every copy. After a kill, nothing is left that counts as a backup. */
export async function makeBackup(
  store: string,
  sourceFolder: string,
  { from, now }: { readonly from: string; readonly now: Date },
  job: JobContext,
): Promise<Backup> {
  const folder = await freeName(join(sourceFolder, "backup"), toFileStamp(now));
  const partial = `${folder}${PARTIAL}`;
  try {
    await copyStore(store, partial, job);
    const manifestHash = await hashFile(join(partial, MANIFEST_FILE));
    const backup = { folder, from, manifestHash, migratedHash: "" };
    await writeNote(partial, backup);
    await rename(partial, folder);
    return backup;
  } catch (error) {
    await rm(partial, { recursive: true, force: true });
    throw error;
  }
}

/** Copies the manifest last: if it exists, the copy is complete. */
export async function copyStore(from: string, to: string, job: JobContext): Promise<void> {
  await mkdir(to, { recursive: true });
  for (const name of STORE_FOLDERS) {
    if (await pathExists(join(from, name))) await copyFolder(join(from, name), join(to, name), job);
  }
  await copyVerified(join(from, MANIFEST_FILE), join(to, MANIFEST_FILE));
}

export async function noteMigrated(backup: Backup, migratedHash: string): Promise<void> {
  await writeNote(backup.folder, { ...backup, migratedHash });
}

async function copyFolder(from: string, to: string, job: JobContext): Promise<void> {
  await mkdir(to, { recursive: true });
  for (const entry of await readdir(from, { withFileTypes: true })) {
    await job.checkpoint();
    const [source, target] = [join(from, entry.name), join(to, entry.name)];
    if (entry.isDirectory()) await copyFolder(source, target, job);
    else if (entry.isFile()) await copyVerified(source, target);
    else job.log(`WARNING: ${source} is neither a file nor a folder, and is not copied.`);
  }
}

async function copyVerified(from: string, to: string): Promise<void> {
  await copyFile(from, to, constants.COPYFILE_FICLONE);
  if ((await hashFile(from)) !== (await hashFile(to))) {
    throw new Error(`copy ${from}: the copy is not the same; is somebody writing to it?`);
  }
}

/** Returns a name that no backup has or had: leftovers of undoing are named after the backup. */
async function freeName(top: string, stamp: string): Promise<string> {
  const taken = new Set((await namesIn(top)).map((name) => name.replace(LEFT_BY_UNDOING, "")));
  let name = stamp;
  for (let i = 2; taken.has(name); i++) name = `${stamp}-${i}`;
  return join(top, name);
}

/** Deletes partial backups of killed runs. */
export async function dropPartialBackups(sourceFolder: string): Promise<void> {
  const top = join(sourceFolder, "backup");
  for (const name of await namesIn(top)) {
    if (name.endsWith(PARTIAL)) await rm(join(top, name), { recursive: true, force: true });
  }
}

async function writeNote(folder: string, { from, manifestHash, migratedHash }: Backup): Promise<void> {
  const note = { from, manifest_sha256: manifestHash, migrated_sha256: migratedHash };
  await writeFileAtomic(join(folder, NOTE_FILE), `${JSON.stringify(note, null, 2)}\n`);
}

async function readNote(folder: string): Promise<Backup | undefined> {
  const note = parseJsonObject((await readFileIfExists(join(folder, NOTE_FILE)))?.toString("utf8") ?? "");
  if (!note) return undefined;
  const word = (field: string): string => String(note[field] ?? "");
  const [manifestHash, migratedHash] = [word("manifest_sha256"), word("migrated_sha256")];
  return { folder, from: word("from"), manifestHash, migratedHash };
}
