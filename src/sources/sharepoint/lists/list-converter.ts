import { basename } from "node:path";
import type { Converted, Converter, OriginalItem } from "../../../contracts/converter.ts";
import { explain } from "../../../contracts/errors.ts";
import { throwIfCancelled } from "../cancelled.ts";
import { listTitleOf } from "./list-file-name.ts";
import { rowMarkdown } from "./row-markdown.ts";
import { readTableFile } from "./table-csv.ts";
import { MIN_COLUMNS, rowId } from "./table-layout.ts";

/** Makes a Markdown document of each row of a list's export. */
export function createListConverter(): Converter {
  return {
    documentPath: (item) => item.name,
    originalPath(item, _document, originals) {
      if (item.itemId.includes("/")) return undefined;
      const tables = [...originals].filter((path) => path.endsWith(".csv"));
      return tables.length === 1 ? tables[0] : undefined;
    },
    convert: convertRows,
  };
}

/** Reads the export once, whatever the number of rows that are wanted of it. */
async function* convertRows(
  original: string,
  items: readonly OriginalItem[],
  signal: AbortSignal,
): AsyncGenerator<Converted, void> {
  const list = listTitleOf(basename(original));
  const wanted = Map.groupBy(items, (item) => item.listItemId);
  let titles: readonly string[] | undefined;
  for await (const rows of readRows(original, signal)) {
    for (const cells of rows) {
      if (titles === undefined) {
        titles = checkHeader(cells, original);
        continue;
      }
      const id = rowId(cells);
      const found = id === undefined ? undefined : wanted.get(id);
      if (id === undefined || !found) continue;
      wanted.delete(id);
      for (const { itemId } of found) yield { itemId, ...convertRow(list, titles, cells) };
    }
  }
  if (titles === undefined) throw new Error(`read the export '${basename(original)}': it is empty`);
  for (const { itemId } of [...wanted.values()].flat()) {
    yield { itemId, problem: `the export '${basename(original)}' has no row of this item` };
  }
}

async function* readRows(original: string, signal: AbortSignal): AsyncGenerator<string[][], void> {
  try {
    yield* readTableFile(original, signal);
  } catch (error) {
    throwIfCancelled(signal);
    throw new Error(`read the export '${basename(original)}': ${explain(error)}`, { cause: error });
  }
}

function checkHeader(titles: readonly string[], original: string): readonly string[] {
  if (titles.length >= MIN_COLUMNS) return titles;
  throw new Error(`read the export '${basename(original)}': its first line is not the header of a list`);
}

function convertRow(
  list: string,
  titles: readonly string[],
  cells: readonly string[],
): { readonly document: Uint8Array } | { readonly problem: string } {
  if (cells.length !== titles.length) {
    return { problem: `the row has ${cells.length} values for ${titles.length} columns` };
  }
  return { document: Buffer.from(rowMarkdown(list, titles, cells)) };
}
