import { RemoteError } from "../../../contracts/errors.ts";
import { isObject } from "../error-body.ts";
import { type ItemsQuery, readItems, windowFilter } from "../read-items.ts";
import { isMissing, listUrl } from "./find-list.ts";
import { listItemIdOf, type RawRow } from "./list-row.ts";

type Query = Omit<ItemsQuery, "fields">;
type Part = ReadonlyMap<number, RawRow>;

/** More than these do not change between two requests: the server's answers contradict each other. */
const MAX_READ_AGAIN = 20;

/** The rows of a list page by page, each put together from as many requests as its columns need. */
export async function* joinRows(query: Query, groups: readonly string[]): AsyncGenerator<unknown[], void> {
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
