import { RemoteError } from "../../../contracts/errors.ts";
import type { Listing, Source } from "../../../contracts/source.ts";
import { adviseOn } from "../advise-on.ts";
import { odataLiteral } from "../escaping.ts";
import { examineSource } from "../examine-source.ts";
import { fetchFrom } from "../fetch-file.ts";
import { oncePerPause } from "../once-per-pause.ts";
import type { CallContext } from "../rest-client.ts";
import type { SharePointConnection } from "../sharepoint-connection.ts";
import type { ListSourceConfig } from "../sharepoint-source-codec.ts";
import { parseSiteUrl } from "../site-url.ts";
import type { OnWait } from "../throttle-gate.ts";
import { findList } from "./find-list.ts";
import type { ListRoot } from "./list-codec.ts";
import { listFileName } from "./list-file-name.ts";
import { listItems, openList } from "./list-items.ts";
import { RowSpool } from "./row-spool.ts";
import { exportTable } from "./table-export.ts";

export interface SharePointListOptions {
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
