import { rm } from "node:fs/promises";
import { basename, join } from "node:path";
import type { VectorStoreId } from "../../contracts/ids.ts";
import { fileStamp } from "../../lib/file-stamp.ts";
import { INDEXED_TABLE, MIRRORED_TABLE, OBSERVED_TABLE, SEEN_TABLE } from "./map-codec.ts";
import type { TableName } from "./map-journal.ts";
import type { TableShape } from "./row-table.ts";

export const TABLE_NAMES: readonly TableName[] = ["seen", "mirrored", "indexed", "observed"];

export const SHAPES: Readonly<Record<TableName, TableShape>> = {
  seen: SEEN_TABLE,
  mirrored: MIRRORED_TABLE,
  indexed: INDEXED_TABLE,
  observed: OBSERVED_TABLE,
};

const FILES: Readonly<Record<TableName, string>> = {
  seen: "sharepoint_map.csv",
  mirrored: "files_map.csv",
  indexed: "vectorstore_map.csv",
  observed: ".lockstep/observed.csv",
};

const STEPS = ["download", "process", "embed"] as const;

/** Below the source's folder. What is indexed in a store that is not the domain's own has a map file of its own. */
export function mapFiles(
  step: (typeof STEPS)[number],
  store?: VectorStoreId,
  scratchId?: string,
): { readonly tables: Readonly<Record<TableName, string>>; readonly journal: string } {
  if (scratchId !== undefined) {
    const { tables, journal } = mapFiles(step, store);
    return { tables: { ...tables, ...scratchFiles(scratchId) }, journal };
  }
  if (store === undefined) return { tables: FILES, journal: `.lockstep/journal-${step}.jsonl` };
  const name = encodeURIComponent(store);
  return {
    tables: { ...FILES, indexed: `vectorstore_map_${name}.csv` },
    journal: `.lockstep/journal-${step}-${name}.jsonl`,
  };
}

/** Copies that a dry run of the download works on; none is left at its end. */
export function scratchFiles(id: string): Readonly<Record<"seen" | "mirrored", string>> {
  return { seen: `sharepoint_map_${id}.csv`, mirrored: `files_map_${id}.csv` };
}

export const SCRATCH_MAP = /^(sharepoint|files)_map_jb_\d+\.csv$/;

export function nameOfOriginal(file: string): string {
  return file.replace(SCRATCH_MAP, "$1_map.csv");
}

/** What was written down about a store that is not the domain's own (any more, or not yet). */
export async function dropStoreMap(folder: string, store: VectorStoreId): Promise<void> {
  const { tables, journal } = mapFiles("embed", store);
  await rm(join(folder, journal), { force: true });
  await rm(join(folder, tables.indexed), { force: true });
  await rm(join(folder, indexFile(tables.indexed)), { force: true });
}

/** Rows of a large map file that changed since it was last written. What is indexed never has one. */
export function tailFile(table: TableName): string {
  return `.lockstep/tail-${table}.jsonl`;
}

/** Where the rows of a large map file are. It can be had again from the file. */
export function indexFile(file: string): string {
  return `.lockstep/${basename(file)}.index`;
}

/** Changes whenever the file or its tail does; "" when there is none. */
export async function tableStamp(folder: string, file: string, table: TableName): Promise<string> {
  const stamp = await fileStamp(join(folder, file));
  const tail = await fileStamp(join(folder, tailFile(table)));
  return tail === "" ? stamp : `${stamp}+${tail}`;
}

/** What `version()` of a ledger would say, told from the files alone; "" when a journal waits to be applied. */
export async function versionOfMaps(folder: string): Promise<string> {
  const stampOf = (file: string): Promise<string> => fileStamp(join(folder, file));
  const journals = await Promise.all(STEPS.map((step) => stampOf(mapFiles(step).journal)));
  if (journals.some((stamp) => stamp !== "")) return "";
  const stamps = await Promise.all(TABLE_NAMES.map((name) => tableStamp(folder, FILES[name], name)));
  return stamps.some((stamp) => stamp === "" || stamp.startsWith("+")) ? "" : stamps.join(" ");
}
