import { delimiter, resolve } from "node:path";
import type { SettingReader } from "./setting-reader.ts";

/** What is kept of files without ids, and which folders may be read at all. */
export interface TreeSettings {
  /** Absolute. Folders that sources may lie in; none: anywhere. */
  readonly roots: readonly string[];
  /** Absolute. Folders that files registered one by one may lie in; none: nowhere. */
  readonly fileRoots: readonly string[];
  /** Names the environment variable with which single blobs are read; "": as anybody reads them. */
  readonly blobCredential: string;
  /** Which of several managed identities of this machine reads containers; "": the one it has. */
  readonly identityClientId: string;
  /** A file is purged when it was missing in so many complete looks and for so long. */
  readonly graceRuns: number;
  readonly graceHours: number;
  /** How long a purged file is remembered by its hash, so that it gets its identity back. */
  readonly keepDeletedDays: number;
  /** Earlier versions of a document: so many at most, and for so long at most. */
  readonly keepVersions: number;
  readonly keepVersionDays: number;
}

export function readTreeSettings(reader: SettingReader): TreeSettings {
  const count = (name: string, usual: number, max: number, min = 0): number => reader.number(name, usual, { min, max });
  return {
    roots: foldersIn(reader.text("FOLDER_ROOTS")),
    fileRoots: foldersIn(reader.text("INGEST_FILE_ROOTS")),
    blobCredential: reader.text("INGEST_BLOB_CREDENTIAL"),
    identityClientId: reader.text("AZURE_MANAGED_IDENTITY_CLIENT_ID"),
    graceRuns: count("MISSING_GRACE_RUNS", 3, 1000),
    graceHours: count("MISSING_GRACE_HOURS", 24, 87_600),
    keepDeletedDays: count("DELETED_KEEP_DAYS", 30, 36_500),
    keepVersions: count("VERSIONS_KEEP", 10, 10_000),
    keepVersionDays: count("VERSIONS_KEEP_DAYS", 90, 36_500),
  };
}

function foldersIn(text: string): readonly string[] {
  const folders = text.split(delimiter).map((folder) => folder.trim());
  return folders.filter((folder) => folder !== "").map((folder) => resolve(folder));
}
