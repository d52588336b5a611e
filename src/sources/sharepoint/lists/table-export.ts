import { isErrno } from "../../../lib/atomic-file.ts";
import type { RowSpool } from "./row-spool.ts";
import { encodeTableRow, readTable, readTableFile } from "./table-csv.ts";
import { MIN_COLUMNS, OWN_FROM, rowId, TAIL } from "./table-layout.ts";

/**
 * The rows of a listing as one file in the order of their ids, those to be kept from an earlier export among them. A row
 * that was listed comes from the listing, whatever is to be kept.
 */
export async function* exportTable(
  titles: readonly string[],
  spool: RowSpool,
  earlier: { readonly path: string | undefined; readonly keep: ReadonlySet<number> },
): AsyncGenerator<Uint8Array, void> {
  yield Buffer.from(encodeTableRow(titles));
  const missing = new Set([...earlier.keep].filter((id) => !spool.has(id)));
  if (earlier.path === undefined || missing.size === 0) {
    yield* spool.read();
    return;
  }
  const kept = keptRows(earlier.path, missing, titles);
  let next = await kept.next();
  for await (const rows of readTable(spool.read())) {
    let text = "";
    for (const cells of rows) {
      for (; !next.done && next.value.id < (rowId(cells) ?? 0); next = await kept.next()) text += next.value.text;
      text += encodeTableRow(cells);
    }
    yield Buffer.from(text);
  }
  for (; !next.done; next = await kept.next()) yield Buffer.from(next.value.text);
}

interface KeptRow {
  readonly id: number;
  readonly text: string;
}

/**
 * The wanted rows of an earlier export, their values below the titles of now. An export that is not there or makes no
 * sense has none: their documents are made already, and processing says so where they are not.
 */
async function* keptRows(path: string, wanted: Set<number>, titles: readonly string[]): AsyncGenerator<KeptRow, void> {
  let before: readonly string[] | undefined;
  let remap = (cells: readonly string[]): readonly string[] => cells;
  try {
    for await (const rows of readTableFile(path)) {
      for (const cells of rows) {
        if (!before) {
          if (cells.length < MIN_COLUMNS) return;
          before = cells;
          remap = remapping(cells, titles);
          continue;
        }
        const id = cells.length === before.length ? rowId(cells) : undefined;
        if (id !== undefined && wanted.delete(id)) yield { id, text: encodeTableRow(remap(cells)) };
      }
    }
  } catch (error) {
    if (!isErrno(error, "ENOENT")) throw error;
  }
}

/** SharePoint's own columns by place, because their titles follow the site's language; the list's own by title. */
function remapping(before: readonly string[], now: readonly string[]): (cells: readonly string[]) => string[] {
  const byTitle = new Map(before.slice(OWN_FROM, -TAIL).map((title, at) => [title, at + OWN_FROM]));
  const places = now.map((title, at) => {
    if (at < OWN_FROM) return at;
    if (at >= now.length - TAIL) return at - now.length + before.length;
    return byTitle.get(title);
  });
  return (cells) => places.map((place) => (place === undefined ? "" : (cells[place] ?? "")));
}
