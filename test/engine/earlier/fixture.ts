import { mkdir, readdir, readFile, stat, utimes, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { gunzipSync, gzipSync } from "node:zlib";
import type { SourceState } from "./source-state.ts";

export const FIXTURES = join(import.meta.dirname, "fixtures");

/** Storage that an earlier release left, the source it was made from, and what must hold after the next crawl. */
export interface Fixture {
  readonly about: string;
  /** The domain as it is called after the next crawl. */
  readonly domainId: string;
  /** As in `.env`, besides what the source and the storage folder bring along. */
  readonly settings: Readonly<Record<string, string>>;
  /** From so many bytes on manifest and map files counted as large, in the release that left it. */
  readonly largeFrom?: number;
  /** What time it was; ISO 8601. */
  readonly now: string;
  readonly source: SourceState;
  /** The folder of a remote vector store service, if the documents are in one. */
  readonly service?: PackedFolder;
  readonly expect: Expected;
  readonly storage: PackedFolder;
}

export interface Expected {
  /** The next crawl finds nothing to do. Otherwise it was killed, and the next crawl brings everything in step. */
  readonly idle: boolean;
  /** Words, and the names of the documents that say them. */
  readonly found: Readonly<Record<string, readonly string[]>>;
  /** Every document of the index by its path: the id that it keeps, because it is not embedded again, or "" where the next crawl embeds it. */
  readonly documents: Readonly<Record<string, string>>;
  /** What the next crawl may fetch: ids of files, paths of pages. */
  readonly fetched: readonly string[];
  /** Words, and what a user wrote into `files_metadata.json` beside the document that is found by them. */
  readonly properties?: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  /** Vector stores besides the domain's own, which the next crawl deletes when it keeps none. */
  readonly superseded?: readonly string[];
  /** A crawl of the domain's schedule is owed: a server starts it. */
  readonly due?: boolean;
  /** Of a web site: words of pages that are still found after the next crawl, and not after the one that follows. */
  readonly leaving?: readonly string[];
  /** Of a tree: how many versions are kept of the document at a path. */
  readonly versions?: Readonly<Record<string, number>>;
  /** Of a tree: a file that is missing. It comes back as the document it was. */
  readonly missing?: MissingFile;
}

export interface MissingFile {
  readonly path: string;
  readonly docId: string;
  readonly text: string;
  /** That only this file says. */
  readonly word: string;
}

/** Paths with `/` to what is there; an empty folder ends with a slash. Text is cut into its lines, whatever else is packed. */
export type PackedFolder = Readonly<Record<string, PackedFile>>;
export interface PackedFile {
  readonly mtimeMs: number;
  readonly text?: readonly string[];
  /** gzip, base64. */
  readonly bytes?: string;
}

export async function readFixtures(): Promise<readonly (Fixture & { readonly name: string })[]> {
  const names = (await readdir(FIXTURES)).filter((name) => name.endsWith(".json")).sort();
  return await Promise.all(
    names.map(async (file) => ({
      name: file.slice(0, -".json".length),
      ...(JSON.parse(await readFile(join(FIXTURES, file), "utf8")) as Fixture),
    })),
  );
}

/** Everything but the shared memory of SQLite, which nothing survives in. */
export async function packFolder(folder: string): Promise<PackedFolder> {
  const packed: Record<string, PackedFile> = {};
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const paths = entries.map((entry) => ({ entry, path: join(entry.parentPath, entry.name) }));
  for (const { entry, path } of paths.sort((a, b) => (a.path < b.path ? -1 : 1))) {
    const name = path.slice(folder.length + 1).replaceAll("\\", "/");
    if (name.endsWith("-shm")) continue;
    const { mtimeMs } = await stat(path);
    if (entry.isFile()) packed[name] = { mtimeMs, ...packBytes(await readFile(path)) };
    else if ((await readdir(path)).length === 0) packed[`${name}/`] = { mtimeMs };
  }
  return packed;
}

function packBytes(bytes: Buffer): Pick<PackedFile, "text" | "bytes"> {
  const text = bytes.toString("utf8");
  const isText = !text.includes("\0") && Buffer.from(text).equals(bytes);
  return isText ? { text: text.split(/(?<=\n)/) } : { bytes: gzipSync(bytes, { level: 9 }).toString("base64") };
}

/** Names that are others here than where the storage was made: addresses, paths, inodes. */
export type Replacements = readonly (readonly [from: string, to: string])[];

/** As it was, with its times, which leases and mirrored files are judged by. */
export async function unpackFolder(packed: PackedFolder, folder: string, replacements: Replacements): Promise<void> {
  for (const [name, { mtimeMs, text, bytes }] of Object.entries(packed)) {
    const path = join(folder, name);
    await mkdir(name.endsWith("/") ? path : dirname(path), { recursive: true });
    if (text) await writeFile(path, replaceAll(text.join(""), replacements));
    else if (bytes !== undefined) await writeFile(path, gunzipSync(Buffer.from(bytes, "base64")));
    await utimes(path, mtimeMs / 1000, mtimeMs / 1000);
  }
  for (const name of Object.keys(packed).filter((one) => one.endsWith(".sqlite"))) {
    replaceInDatabase(join(folder, name), replacements);
  }
}

function replaceAll(text: string, replacements: Replacements): string {
  return replacements.reduce((all, [from, to]) => all.replaceAll(from, to), text);
}

/** In every column of text that somebody declared, which leaves out what full-text indexes keep for themselves. */
function replaceInDatabase(path: string, replacements: Replacements): void {
  if (replacements.length === 0) return;
  const database = new DatabaseSync(path);
  try {
    const tables = database
      .prepare("SELECT name FROM pragma_table_list WHERE type = 'table' AND schema = 'main'")
      .all();
    for (const table of tables.map(({ name }) => String(name)).filter((name) => !name.startsWith("sqlite_"))) {
      const columns = database.prepare("SELECT name FROM pragma_table_info(?) WHERE type = 'TEXT'").all(table);
      for (const column of columns.map(({ name }) => String(name))) {
        const change = database.prepare(
          `UPDATE "${table}" SET "${column}" = replace("${column}", $from, $to) WHERE instr("${column}", $from) > 0`,
        );
        for (const [from, to] of replacements) change.run({ from, to });
      }
    }
  } finally {
    database.close();
  }
}
