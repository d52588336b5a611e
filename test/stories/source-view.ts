import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { decodeCsvRow } from "../../src/lib/csv.ts";
import { DOMAIN, LIBRARY, type MapName, type World } from "../engine/world.ts";

export type Row = Readonly<Record<string, string>>;
export type MirrorFolder = "01_originals" | "02_embedded" | "03_failed";

/** What one source of the domain has on our disk. */
export interface SourceView {
  readonly sourceId: string;
  readonly sourceType: "file_sources" | "list_sources" | "sitepage_sources";
  readonly folder: string;
  /** Paths below a folder of the mirror, sorted. */
  disk(folder?: MirrorFolder): Promise<string[]>;
  read(path: string, folder?: MirrorFolder): Promise<Buffer>;
  /** No rows while there is no such file. */
  map(name: MapName): Promise<Row[]>;
  /** The path of an item below the source's root. */
  below(serverPath: string): string;
}

const FOLDERS = { file_sources: "01_files", list_sources: "02_lists", sitepage_sources: "03_sitepages" } as const;

export function sourceView(
  world: World,
  sourceType: SourceView["sourceType"],
  sourceId: string,
  root: string,
): SourceView {
  const folder = join(world.storage, "crawler", DOMAIN, FOLDERS[sourceType], sourceId);
  return {
    sourceId,
    sourceType,
    folder,
    async disk(part = "02_embedded") {
      const top = join(folder, part);
      const entries = await readdir(top, { recursive: true, withFileTypes: true }).catch(() => []);
      return entries
        .filter((entry) => entry.isFile())
        .map((entry) => join(entry.parentPath, entry.name).slice(top.length + 1))
        .sort();
    },
    read: (path, part = "02_embedded") => readFile(join(folder, part, path)),
    async map(name) {
      const text = await readFile(join(folder, `${name}.csv`), "utf8").catch(() => "");
      const [header = "", ...rows] = text.split("\r\n").filter(Boolean);
      const columns = decodeCsvRow(header);
      return rows.map((row) => Object.fromEntries(decodeCsvRow(row).map((field, i) => [columns[i] ?? "", field])));
    },
    below: (serverPath) => (serverPath.startsWith(`${root}/`) ? serverPath.slice(root.length + 1) : serverPath),
  };
}

export function libraryView(world: World, sourceId = "docs", root = LIBRARY): SourceView {
  return sourceView(world, "file_sources", sourceId, root);
}
