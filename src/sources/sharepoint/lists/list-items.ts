import { explain, RemoteError } from "../../../contracts/errors.ts";
import type { Completeness, Listing, Sighting, Unreadable } from "../../../contracts/source.ts";
import { Turn } from "../../../lib/turn.ts";
import { confirmListing } from "../confirm-listing.ts";
import { isObject } from "../error-body.ts";
import { checkWeb } from "../find-library.ts";
import type { ItemsQuery } from "../read-items.ts";
import type { CallContext, RestClient } from "../rest-client.ts";
import type { SiteAddress } from "../site-url.ts";
import { findList, readFields, readList } from "./find-list.ts";
import { learnTerms } from "./learn-texts.ts";
import type { ListRoot } from "./list-codec.ts";
import { chooseColumns } from "./list-columns.ts";
import { decodeItem, isFolder, listItemIdOf, type RowPlace, uniqueIdOf } from "./list-row.ts";
import { readRows } from "./read-rows.ts";
import type { RowSpool } from "./row-spool.ts";
import { encodeTableRow } from "./table-csv.ts";

export interface ListListing {
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
export interface OpenList {
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
