import { explain, RemoteError } from "../../../contracts/errors.ts";
import type { Completeness, Listing, Sighting, Unreadable } from "../../../contracts/source.ts";
import { Turn } from "../../../lib/turn.ts";
import { confirmListing } from "../confirm-listing.ts";
import { isObject } from "../error-body.ts";
import { checkWeb } from "../find-library.ts";
import { type ItemsQuery, isThresholdError, readItems, windowFilter } from "../read-items.ts";
import { type CallContext, type RestClient, SharePointError } from "../rest-client.ts";
import type { SiteAddress } from "../site-url.ts";
import { fieldGroups, TOUCH_COUNT } from "./field-groups.ts";
import { findList, isMissing, listUrl, readFields, readList } from "./find-list.ts";
import { learnMails, learnTerms } from "./learn-texts.ts";
import type { FieldDescription, ListRoot } from "./list-codec.ts";
import { type Column, chooseColumns } from "./list-columns.ts";
import { decodeItem, isFolder, listItemIdOf, type RawRow, type RowPlace, uniqueIdOf } from "./list-row.ts";
import type { RowSpool } from "./row-spool.ts";
import { encodeTableRow } from "./table-csv.ts";

interface ListListing {
  readonly rest: RestClient;
  readonly site: SiteAddress;
  readonly listName: string;
  /** OData, "" for none. */
  readonly filter: string;
  readonly pageSize: number;
  readonly call: CallContext;
  /** What a person is told when nothing could be listed at all. */
  advise(error: RemoteError): RemoteError;
}

/** A list that was found, and what is asked about its items. */
interface OpenList {
  readonly list: ListRoot;
  readonly place: RowPlace;
  readonly query: Omit<ItemsQuery, "fields">;
  /** By the ids of people, where rows do not tell. */
  readonly mails: ReadonlyMap<number, string>;
  readonly pages: AsyncGenerator<unknown[], void>;
  readonly first: IteratorResult<unknown[], void>;
}

/** Throws, with advice, when not even the first page of items came. */
export async function openList(wanted: ListListing): Promise<OpenList> {
  const { rest, site, call } = wanted;
  try {
    await checkWeb(rest, site, call);
    const list = await findList(rest, site, wanted.listName, call);
    const fields = await readFields(rest, site, list.listId, call);
    const columns = chooseColumns(fields);
    const attachments = fields.some((field) => field.type === "Attachments");
    const place = { origin: site.origin, root: list.path, title: wanted.listName, columns, attachments };
    const query = { ...wanted, listId: list.listId };
    const mails = new Map<number, string>();
    const pages = readRows({ query, fields, columns, attachments, mails });
    return { list, place, query, mails, pages, first: await pages.next() };
  } catch (error) {
    throw error instanceof RemoteError ? wanted.advise(error) : error;
  }
}

/**
 * Every item and attachment of the list, page by page, and their rows into the spool. At the end `hidden` has the number of rows that we are not shown. The listing is no snapshot: an
 * item that shows up twice counts once.
 */
export async function* listItems(open: OpenList, spool: RowSpool, hidden: { rows: number }): Listing {
  hidden.rows = 0;
  const seen = new Set<string>();
  const memory = { seen, terms: new Map<number, string>(), mails: open.mails, spool };
  let completeness: Completeness = "complete";
  let step = open.first;
  while (!step.done) {
    try {
      const found = await takePage(step.value, open, memory);
      if (found.some((each) => each.kind === "unreadable" && each.path === "")) completeness = "partial";
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

interface Memory {
  readonly seen: Set<string>;
  readonly terms: Map<number, string>;
  readonly mails: ReadonlyMap<number, string>;
  readonly spool: RowSpool;
}

async function takePage(page: readonly unknown[], open: OpenList, memory: Memory): Promise<(Sighting | Unreadable)[]> {
  const { place, query } = open;
  await learnTerms(page.filter(isObject), place.columns, memory.terms, query);
  const found: (Sighting | Unreadable)[] = [];
  const ids: number[] = [];
  let text = "";
  const turn = new Turn();
  for (const row of page) {
    if (turn.isOver()) await turn.next();
    const item = takeRow(row, place, memory);
    if (Array.isArray(item)) {
      found.push(...item);
    } else {
      found.push(...item.found);
      ids.push(item.id);
      text += encodeTableRow(item.cells);
    }
  }
  await memory.spool.append(text, ids);
  return found;
}

function takeRow(row: unknown, place: RowPlace, memory: Memory): ReturnType<typeof decodeItem> {
  const id = isObject(row) ? listItemIdOf(row) : undefined;
  if (!isObject(row) || id === undefined) {
    return [{ kind: "unreadable", path: "", reason: "a row of the list has no id" }];
  }
  const key = uniqueIdOf(row) || `row ${id}`;
  if (memory.seen.has(key)) return [];
  memory.seen.add(key);
  if (isFolder(row)) return [];
  return decodeItem(id, row, place, memory);
}

/** How many rows are hidden. Throws when rows may be missing. */
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
  /** By the ids of people; filled when rows do not tell. */
  readonly mails: Map<number, string>;
}

/**
 * The rows of a list, asked for in the best way the server bears. It refuses a whole page for one person without a mail
 * address, or for a lookup of an unusual type; then everything is asked again with more care, so rows may come twice.
 */
async function* readRows(wanted: RowsQuery): AsyncGenerator<unknown[], void> {
  const { query, columns, attachments, mails } = wanted;
  const touchCount = wanted.fields.some((field) => field.internalName === TOUCH_COUNT);
  const ways = [
    { touchCount, cautious: false },
    { touchCount, cautious: true },
    { touchCount: false, cautious: true },
  ];
  for (const [at, way] of ways.entries()) {
    try {
      if (way.cautious) await learnMails(query, mails);
      yield* joinRows(query, fieldGroups(columns, { attachments, ...way }));
      return;
    } catch (error) {
      if (at === ways.length - 1 || !dislikesColumns(error)) throw error;
    }
  }
}

/** Also how SharePoint refuses a bad filter: it will say so again. */
function dislikesColumns(error: unknown): boolean {
  if (!(error instanceof SharePointError)) return false;
  const { status, code } = error;
  return !isThresholdError(error) && (status === 400 || (status === 500 && code === GENERAL_FAILURE));
}

const GENERAL_FAILURE = -2146232832;

type Query = Omit<ItemsQuery, "fields">;
type Part = ReadonlyMap<number, RawRow>;

/** More than these do not change between two requests: the server's answers contradict each other. */
const MAX_READ_AGAIN = 20;

/** The rows of a list page by page, each put together from as many requests as its columns need. */
async function* joinRows(query: Query, groups: readonly string[]): AsyncGenerator<unknown[], void> {
  const [first = "", ...more] = groups;
  for await (const rows of readItems({ ...query, fields: first }, (page) => page)) {
    const ids = rows.map(idOf).filter((id) => id !== undefined);
    const parts = ids.length === 0 ? [] : await readParts(query, more, ids);
    const changed = ids.filter((id) => parts.some((part) => !part.has(id)));
    if (changed.length > MAX_READ_AGAIN) {
      throw new RemoteError(`SharePoint told only a part of the columns of ${changed.length} items`);
    }
    const again = new Map<number, RawRow | undefined>();
    for (const id of changed) again.set(id, await readOne(query, groups, id));
    yield rows.map((row) => joinRow(row, parts, again)).filter((row) => row !== GONE);
  }
}

/** The further columns of the rows of one page, by their ids, a map for every request. */
async function readParts(query: Query, groups: readonly string[], ids: readonly number[]): Promise<Part[]> {
  const [low, high] = [ids.reduce((a, b) => Math.min(a, b)), ids.reduce((a, b) => Math.max(a, b))];
  const filter = windowFilter(query.filter, low - 1, high);
  return await Promise.all(
    groups.map(async (fields) => {
      const part = new Map<number, RawRow>();
      for await (const rows of readItems({ ...query, fields, filter }, (page) => page)) {
        for (const row of rows.filter(isObject)) part.set(idOf(row) ?? 0, row);
      }
      return part;
    }),
  );
}

/** One item that was touched between two requests, as it is now; undefined when it is gone. */
async function readOne(query: Query, groups: readonly string[], id: number): Promise<RawRow | undefined> {
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
  if (!isObject(row) || id === undefined) return row;
  if (again.has(id)) return again.get(id) ?? GONE;
  return Object.assign({}, row, ...parts.map((part) => part.get(id)));
}

function idOf(row: unknown): number | undefined {
  return isObject(row) ? listItemIdOf(row) : undefined;
}
