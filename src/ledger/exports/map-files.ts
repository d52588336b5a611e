import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import type { VectorStoreId } from "../../contracts/ids.ts";
import type { LedgerEntry } from "../../contracts/ledger.ts";
import { encodeCsvRow, readCsvPages } from "../../lib/csv.ts";
import type { Facet } from "../sql-ledger.ts";
import {
  encodeIndexed,
  encodeMirrored,
  encodeSeen,
  INDEXED_TABLE,
  MIRRORED_TABLE,
  type Row,
  SEEN_TABLE,
  type TableShape,
} from "./map-codec.ts";

export const FACETS: readonly Facet[] = ["seen", "mirrored", "indexed"];

export const SHAPES: Readonly<Record<Facet, TableShape>> = {
  seen: SEEN_TABLE,
  mirrored: MIRRORED_TABLE,
  indexed: INDEXED_TABLE,
};

const NUMBERS = ["sharepoint_listitem_id", "file_size"];

/** The file is damaged: wrong header, wrong number of fields, or truncated. */
export class CorruptMapError extends Error {
  override readonly name: string = "CorruptMapError";
}

/** A store that is not the domain's own has a separate map file. */
export function mapFile(facet: Facet, store: VectorStoreId | "" = ""): string {
  if (facet === "seen") return "sharepoint_map.csv";
  if (facet === "mirrored") return "files_map.csv";
  return store === "" ? "vectorstore_map.csv" : `vectorstore_map_${encodeURIComponent(store)}.csv`;
}

export function rowOf({ itemId, seen, mirrored, indexed }: LedgerEntry, facet: Facet): Row | null {
  if (facet === "seen") return seen && encodeSeen(itemId, seen);
  if (facet === "mirrored") return mirrored && encodeMirrored(itemId, mirrored);
  return indexed && encodeIndexed(itemId, indexed);
}

/** The whole file, a page of entries at a time. */
export async function* encodeMap(
  facet: Facet,
  pages: AsyncIterable<readonly LedgerEntry[]>,
): AsyncGenerator<Buffer, void> {
  yield Buffer.from(`${encodeCsvRow(SHAPES[facet].columns)}\r\n`);
  for await (const page of pages) {
    let text = "";
    for (const entry of page) {
      const row = rowOf(entry, facet);
      if (row) text += `${encodeCsvRow(row)}\r\n`;
    }
    if (text !== "") yield Buffer.from(text);
  }
}

/** In pages. Throws CorruptMapError; an empty file counts as truncated. */
export async function* readMap(path: string, { columns, key }: TableShape): AsyncGenerator<Row[], void> {
  const found = await stat(path);
  if (!found.isFile()) throw new CorruptMapError("it is no file");
  const { size } = found;
  if (size === 0) throw new CorruptMapError("the header is missing");
  for await (const last of createReadStream(path, { start: size - 1 }) as AsyncIterable<Buffer>) {
    if (last.toString() !== "\n") throw new CorruptMapError("the last row is cut");
  }
  let at = 0;
  for await (const page of readCsvPages(createReadStream(path))) {
    const rows: Row[] = [];
    for (const row of page) {
      at += 1;
      if (at === 1) checkHeader(row, columns);
      else rows.push(checkRow(row, at, columns, key));
    }
    yield rows;
  }
}

function checkHeader(row: Row, columns: readonly string[]): void {
  const found = row.map((name, at) => (at === 0 ? name.replace(/^\uFEFF/, "") : name));
  if (found.length === columns.length && found.every((name, i) => name === columns[i])) return;
  throw new CorruptMapError(`the header is not '${encodeCsvRow(columns)}'`);
}

function checkRow(row: Row, at: number, columns: readonly string[], key: number): Row {
  if (row.length !== columns.length) {
    throw new CorruptMapError(`row ${at} has ${row.length} fields instead of ${columns.length}`);
  }
  if (!row[key]) throw new CorruptMapError(`row ${at} has no ${columns[key]}`);
  for (const [i, column] of columns.entries()) {
    const isNumber = column === "sharepoint_listitem_id" ? Number.isSafeInteger : Number.isFinite;
    if (NUMBERS.includes(column) && !isNumber(Number(row[i]))) {
      throw new CorruptMapError(`row ${at} has '${row[i]}' as ${column}`);
    }
  }
  return row;
}
