import { RemoteError } from "../../../contracts/errors.ts";
import type { Listing, Source } from "../../../contracts/source.ts";
import { isErrno } from "../../../lib/atomic-file.ts";
import type { OnWait } from "../../../lib/pace.ts";
import { adviseOn } from "../advise-on.ts";
import { odataLiteral } from "../escaping.ts";
import { examineSource } from "../examine-source.ts";
import { fetchFrom } from "../fetch-file.ts";
import { oncePerPause } from "../once-per-pause.ts";
import type { CallContext } from "../rest-client.ts";
import type { SharePointConnection } from "../sharepoint-connection.ts";
import type { ListSourceConfig } from "../sharepoint-source-codec.ts";
import { parseSiteUrl } from "../site-url.ts";
import { findList } from "./find-list.ts";
import type { ListRoot } from "./list-codec.ts";
import { listFileName } from "./list-file-name.ts";
import { listItems, openList } from "./list-items.ts";
import { RowSpool } from "./row-spool.ts";
import { encodeTableRow, readTable, readTableFile } from "./table-csv.ts";
import { MIN_COLUMNS, OWN_FROM, rowId, TAIL } from "./table-layout.ts";

interface SharePointListOptions {
  readonly onWait?: OnWait;
  readonly pageSize?: number;
}

/** Rows come with all their columns, long notes among them: fewer at a time than files. */
const DEFAULT_PAGE_SIZE = 500;

/** The items of a list and their attachments as a source. Throws BadInputError when the site's address is none. */
export function openSharePointList(
  config: ListSourceConfig,
  connection: SharePointConnection,
  options: SharePointListOptions = {},
): Source {
  const { rest } = connection;
  const site = parseSiteUrl(config.siteUrl);
  const listName = config.listName.trim();
  const filter = config.filter.trim();
  const pageSize = options.pageSize ?? DEFAULT_PAGE_SIZE;
  const onWait = oncePerPause(options.onWait);
  const advise = (error: RemoteError): RemoteError =>
    new RemoteError(`list '${listName}' of ${site.text}: ${adviseOn(error, filter)}`, { cause: error });
  const hidden = { rows: 0 };
  let listed: { readonly titles: readonly string[]; readonly spool: RowSpool } | undefined;

  async function* list(signal: AbortSignal): Listing {
    await listed?.spool.close();
    listed = undefined;
    const open = await openList({ rest, site, listName, filter, pageSize, call: { signal, onWait }, advise });
    const spool = await RowSpool.open();
    let ended = false;
    try {
      const completeness = yield* listItems(open, spool, hidden);
      listed = { titles: open.place.columns.map((column) => column.heading), spool };
      ended = true;
      return completeness;
    } finally {
      if (!ended) await spool.close();
    }
  }

  return {
    id: config.sourceId,
    list,
    hiddenRows: () => hidden.rows,
    fetch(item, signal) {
      const url = `${site.api}web/GetFileByServerRelativePath(decodedUrl=@p)/$value?@p=${odataLiteral(item.serverPath)}`;
      return fetchFrom(url, rest, item, { signal, onWait });
    },
    table: {
      path: listFileName(listName),
      async *export(before, keep) {
        if (!listed) throw new Error(`export '${listName}': it was not listed, or is exported already`);
        const { titles, spool } = listed;
        listed = undefined;
        try {
          yield* exportTable(titles, spool, { path: before, keep });
        } finally {
          await spool.close();
        }
      },
    },
    examine(signal) {
      const find = (call: CallContext): Promise<ListRoot> => findList(rest, site, listName, call);
      return examineSource({ connection, site, call: { signal, onWait }, subject: `List '${listName}'`, filter, find });
    },
  };
}

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
