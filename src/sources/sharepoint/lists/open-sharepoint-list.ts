import { explain, RemoteError } from "../../../contracts/errors.ts";
import type { Completeness, Listing, Sighting, Source, Unreadable } from "../../../contracts/source.ts";
import { isJsonObject } from "../../../lib/json-object.ts";
import type { OnWait } from "../../../lib/pace.ts";
import { TimeSlice } from "../../../lib/time-slice.ts";
import { confirmListing } from "../confirm-listing.ts";
import { diagnoseSource, withAdvice } from "../diagnose-source.ts";
import { fetchFrom } from "../fetch-file.ts";
import { checkWeb } from "../find-library.ts";
import { oncePerPause } from "../http.ts";
import { type ItemsQuery, isThresholdError, readItems, windowFilter } from "../read-items.ts";
import { type CallContext, type RestClient, SharePointError } from "../rest-client.ts";
import type { SharePointConnection } from "../sharepoint-connection.ts";
import type { ListSourceConfig } from "../sharepoint-source-codec.ts";
import { odataLiteral, parseSiteUrl, type SiteAddress } from "../site-url.ts";
import { fieldGroups, SHOWN_TEXTS, TERMS, TOUCH_COUNT } from "./field-groups.ts";
import {
  decodeEmails,
  type FieldDescription,
  findList,
  isMissing,
  type ListRoot,
  listUrl,
  readFields,
  readList,
  text,
} from "./find-list.ts";
import { type Column, chooseColumns } from "./list-columns.ts";
import { encodeTableRow, exportTable, listFileName, RowSpool } from "./list-export.ts";
import {
  decodeItem,
  isFolder,
  listItemIdOf,
  type RawRow,
  type RowContext,
  shownText,
  termNumber,
  uniqueIdOf,
} from "./list-row.ts";

interface SharePointListOptions {
  readonly onWait?: OnWait;
  readonly pageSize?: number;
}

/** Smaller than for files: rows have all their columns, also long notes. */
const DEFAULT_PAGE_SIZE = 500;

/** Opens the items of a list and their attachments as a source. Throws BadInputError for an invalid site URL. */
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
    new RemoteError(`list '${listName}' of ${site.text}: ${withAdvice(error, filter)}`, { cause: error });
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
      listed = { titles: open.context.columns.map((column) => column.heading), spool };
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
      async *export(before, keep, without) {
        if (!listed) throw new Error(`export '${listName}': it was not listed, or is exported already`);
        const { titles, spool } = listed;
        listed = undefined;
        try {
          yield* exportTable(titles, spool, { path: before, keep, without });
        } finally {
          await spool.close();
        }
      },
    },
    diagnose(signal) {
      const find = (call: CallContext): Promise<ListRoot> => findList(rest, site, listName, call);
      return diagnoseSource({
        connection,
        site,
        call: { signal, onWait },
        subject: `List '${listName}'`,
        filter,
        find,
      });
    },
  };
}

interface OpenListOptions {
  readonly rest: RestClient;
  readonly site: SiteAddress;
  readonly listName: string;
  /** OData, "" for none. */
  readonly filter: string;
  readonly pageSize: number;
  readonly call: CallContext;
  /** Adds advice to the error when nothing could be listed. */
  advise(error: RemoteError): RemoteError;
}

/** A found list, and the query of its items. */
interface OpenList {
  readonly list: ListRoot;
  readonly context: RowContext;
  readonly query: Omit<ItemsQuery, "fields">;
  /** E-mail addresses by user id, for rows without them. */
  readonly emails: ReadonlyMap<number, string>;
  readonly pages: AsyncGenerator<unknown[], void>;
  readonly first: IteratorResult<unknown[], void>;
}

/** Throws, with advice, if not even the first page of items arrived. */
async function openList(options: OpenListOptions): Promise<OpenList> {
  const { rest, site, call } = options;
  try {
    await checkWeb(rest, site, call);
    const list = await findList(rest, site, options.listName, call);
    const fields = await readFields(rest, site, list.listId, call);
    const columns = chooseColumns(fields);
    const attachments = fields.some((field) => field.type === "Attachments");
    const context = { origin: site.origin, root: list.path, title: options.listName, columns, attachments };
    const query = { ...options, listId: list.listId };
    const emails = new Map<number, string>();
    const pages = readRows({ query, fields, columns, attachments, emails });
    return { list, context, query, emails, pages, first: await pages.next() };
  } catch (error) {
    throw error instanceof RemoteError ? options.advise(error) : error;
  }
}

/**
 * Lists every item and attachment, page by page, and appends the rows to the spool. At the end, `hidden` has the number of
 * rows that are not shown to us. The listing is no snapshot: an item that appears twice counts once.
 */
async function* listItems(open: OpenList, spool: RowSpool, hidden: { rows: number }): Listing {
  hidden.rows = 0;
  const seen = new Set<string>();
  const state = { seen, terms: new Map<number, string>(), emails: open.emails, spool };
  let completeness: Completeness = "complete";
  let step = open.first;
  while (!step.done) {
    try {
      const found = await decodeRows(step.value, open, state);
      if (found.some((entry) => entry.kind === "unreadable" && entry.path === "")) completeness = "partial";
      yield found;
      step = await open.pages.next();
    } catch (error) {
      return yield* endPartial(error, `after ${seen.size} rows`);
    }
  }
  try {
    const rows = await checkNothingMissing(open, seen);
    if (completeness === "complete") hidden.rows = rows;
  } catch (error) {
    return yield* endPartial(error, "although it was read to its end");
  }
  return completeness;
}

async function* endPartial(error: unknown, where: string): AsyncGenerator<Unreadable[], "partial"> {
  if (!(error instanceof RemoteError)) throw error;
  yield [{ kind: "unreadable", path: "", reason: `the listing is incomplete ${where}: ${explain(error)}` }];
  return "partial";
}

interface ListingState {
  readonly seen: Set<string>;
  readonly terms: Map<number, string>;
  readonly emails: ReadonlyMap<number, string>;
  readonly spool: RowSpool;
}

async function decodeRows(
  page: readonly unknown[],
  open: OpenList,
  state: ListingState,
): Promise<(Sighting | Unreadable)[]> {
  const { context, query } = open;
  await loadTerms(page.filter(isJsonObject), context.columns, state.terms, query);
  const found: (Sighting | Unreadable)[] = [];
  const ids: number[] = [];
  let text = "";
  const timeSlice = new TimeSlice();
  for (const row of page) {
    if (timeSlice.isOver()) await timeSlice.next();
    const item = decodeRow(row, context, state);
    if (Array.isArray(item)) {
      found.push(...item);
    } else {
      found.push(...item.found);
      ids.push(item.id);
      text += encodeTableRow(item.cells);
    }
  }
  await state.spool.append(text, ids);
  return found;
}

function decodeRow(row: unknown, context: RowContext, state: ListingState): ReturnType<typeof decodeItem> {
  const id = isJsonObject(row) ? listItemIdOf(row) : undefined;
  if (!isJsonObject(row) || id === undefined) {
    return [{ kind: "unreadable", path: "", reason: "a row of the list has no id" }];
  }
  const key = uniqueIdOf(row) || `row ${id}`;
  if (state.seen.has(key)) return [];
  state.seen.add(key);
  if (isFolder(row)) return [];
  return decodeItem(id, row, context, state);
}

/** Returns how many rows are hidden. Throws if rows may be missing. */
async function checkNothingMissing({ list, query }: OpenList, keys: ReadonlySet<string>): Promise<number> {
  const { rest, site, listId, call } = query;
  return await confirmListing({
    what: "list",
    query,
    keys,
    countBefore: list.itemCount,
    count: async () => (await readList(rest, site, listId, call))?.itemCount,
  });
}

interface RowsQuery {
  readonly query: Omit<ItemsQuery, "fields">;
  readonly fields: readonly FieldDescription[];
  readonly columns: readonly Column[];
  readonly attachments: boolean;
  /** E-mail addresses by user id; filled if rows have none. */
  readonly emails: Map<number, string>;
}

/**
 * Reads the rows of a list with the most detailed query that the server accepts. It rejects a whole page because of one
 * user without e-mail address, or an unusual lookup; then everything is read again with a simpler query, so rows may repeat.
 */
async function* readRows(options: RowsQuery): AsyncGenerator<unknown[], void> {
  const { query, columns, attachments, emails } = options;
  const touchCount = options.fields.some((field) => field.internalName === TOUCH_COUNT);
  const attempts = [
    { touchCount, safe: false },
    { touchCount, safe: true },
    { touchCount: false, safe: true },
  ];
  for (const [at, attempt] of attempts.entries()) {
    try {
      if (attempt.safe) await loadEmails(query, emails);
      yield* joinRows(query, fieldGroups(columns, { attachments, ...attempt }));
      return;
    } catch (error) {
      if (at === attempts.length - 1 || !isColumnError(error)) throw error;
    }
  }
}

/** Whether a column was rejected. A bad filter looks the same; then the next query fails, too. */
function isColumnError(error: unknown): boolean {
  if (!(error instanceof SharePointError)) return false;
  const { status, code } = error;
  return !isThresholdError(error) && (status === 400 || (status === 500 && code === GENERAL_FAILURE));
}

const GENERAL_FAILURE = -2146232832;

type Query = Omit<ItemsQuery, "fields">;
type Part = ReadonlyMap<number, RawRow>;

/** If more rows differ between two requests, the server's responses are inconsistent. */
const MAX_REREAD = 20;

/** Yields the rows of a list page by page, each joined from as many requests as its columns need. */
async function* joinRows(query: Query, groups: readonly string[]): AsyncGenerator<unknown[], void> {
  const [first = "", ...more] = groups;
  for await (const rows of readItems({ ...query, fields: first }, (page) => page)) {
    const ids = rows.map(idOf).filter((id) => id !== undefined);
    const parts = ids.length === 0 ? [] : await readParts(query, more, ids);
    const changed = ids.filter((id) => parts.some((part) => !part.has(id)));
    if (changed.length > MAX_REREAD) {
      throw new RemoteError(`SharePoint returned only a part of the columns of ${changed.length} items`);
    }
    const again = new Map<number, RawRow | undefined>();
    for (const id of changed) again.set(id, await readItem(query, groups, id));
    yield rows.map((row) => joinRow(row, parts, again)).filter((row) => row !== GONE);
  }
}

/** Returns the further columns of one page of rows, by id: a map per request. */
async function readParts(query: Query, groups: readonly string[], ids: readonly number[]): Promise<Part[]> {
  const [low, high] = [ids.reduce((a, b) => Math.min(a, b)), ids.reduce((a, b) => Math.max(a, b))];
  const filter = windowFilter(query.filter, low - 1, high);
  return await Promise.all(
    groups.map(async (fields) => {
      const part = new Map<number, RawRow>();
      for await (const rows of readItems({ ...query, fields, filter }, (page) => page)) {
        for (const row of rows.filter(isJsonObject)) part.set(idOf(row) ?? 0, row);
      }
      return part;
    }),
  );
}

/** Reads an item again that changed between two requests; undefined if it is gone. */
async function readItem(query: Query, groups: readonly string[], id: number): Promise<RawRow | undefined> {
  const { rest, site, listId, call } = query;
  const row: Record<string, unknown> = {};
  for (const fields of groups) {
    try {
      Object.assign(row, await rest.getJson(`${listUrl(site, listId)}/items(${id})?${fields}`, call));
    } catch (error) {
      if (isMissing(error)) return undefined;
      throw error;
    }
  }
  return row;
}

const GONE = Symbol("gone");

function joinRow(row: unknown, parts: readonly Part[], again: ReadonlyMap<number, RawRow | undefined>): unknown {
  const id = idOf(row);
  if (!isJsonObject(row) || id === undefined) return row;
  if (again.has(id)) return again.get(id) ?? GONE;
  return Object.assign({}, row, ...parts.map((part) => part.get(id)));
}

function idOf(row: unknown): number | undefined {
  return isJsonObject(row) ? listItemIdOf(row) : undefined;
}

/** Loads the e-mail addresses of all users of the site. If the app may not read them, people appear by name alone. */
async function loadEmails({ rest, site, call }: Query, emails: Map<number, string>): Promise<void> {
  try {
    const response = await rest.getJson(`${site.api}web/siteusers?$select=Id,Email`, call);
    for (const [id, mail] of decodeEmails(response)) emails.set(id, mail);
  } catch (error) {
    if (!(error instanceof SharePointError) || ![401, 403, 404].includes(error.status)) throw error;
  }
}

/** Loads the labels of terms on these rows. Most are in the rows; others are requested, once per term. */
async function loadTerms(
  rows: readonly RawRow[],
  columns: readonly Column[],
  terms: Map<number, string>,
  query: Query,
): Promise<void> {
  for (const row of rows) for (const [number, term] of termsIn(row)) terms.set(number, term);
  const single = columns.filter(({ type }) => type === "TaxonomyFieldType");
  for (const row of rows) {
    for (const { property, internalName } of single) {
      const number = termNumber(row[property]);
      if (number === undefined || terms.has(number)) continue;
      terms.set(number, await readShownText(query, listItemIdOf(row) ?? 0, internalName));
    }
  }
}

function termsIn(row: RawRow): [number, string][] {
  const value = row[TERMS];
  const listedTerms: unknown = isJsonObject(value) ? value["results"] : value;
  if (!Array.isArray(listedTerms)) return [];
  return listedTerms.filter(isJsonObject).flatMap((term): [number, string][] => {
    const number = term["ID"] ?? term["Id"];
    return typeof number === "number" && text(term["Term"]) ? [[number, text(term["Term"])]] : [];
  });
}

/** Returns the text SharePoint displays for the value; slow, but always available. */
async function readShownText({ rest, site, listId, call }: Query, id: number, internalName: string): Promise<string> {
  return shownText(await rest.getJson(`${listUrl(site, listId)}/items(${id})/${SHOWN_TEXTS}`, call), internalName);
}
