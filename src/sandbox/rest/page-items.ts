import { compileFilter } from "../odata/filter.ts";
import { beyondThreshold, invalidExpression, ODataError, unknownField } from "../odata/odata-error.ts";
import type { QueryOptions } from "../odata/query-options.ts";
import type { Resource } from "./resource.ts";

const DEFAULT_PAGE = 100;
const MAX_PAGE = 5000;

export interface Page {
  readonly rows: readonly unknown[];
  /** The id the next page starts after; undefined at the end. */
  readonly continueAfter: number | undefined;
}

type Collection = Resource & { kind: "collection" };

/** `$filter`, `$top` and `$skiptoken` on a collection. Reads no more rows than the page needs. */
export function pageOf(collection: Collection, query: QueryOptions): Page {
  const top = parseTop(query);
  const matches = filterOf(collection, query);
  refuseOrder(query);
  if (!collection.paging) return wholeCollection(collection, matches, top);
  if (top !== undefined && top > MAX_PAGE) throw beyondThreshold();
  return pageById(collection, matches, {
    size: top ?? DEFAULT_PAGE,
    after: parseSkipToken(query),
  });
}

function pageById(
  { rows, paging }: Collection,
  matches: (row: unknown) => boolean,
  page: { size: number; after: number },
): Page {
  const found: unknown[] = [];
  let last: number | undefined;
  for (let at = paging?.positionAfter(page.after) ?? 0; at < rows.length; at++) {
    const row = rows[at];
    if (!matches(row)) continue;
    if (found.length === page.size) return { rows: found, continueAfter: last };
    found.push(row);
    last = paging?.idOf(row);
  }
  return { rows: found, continueAfter: undefined };
}

/** Files and folders of one folder come without paging, and not at all above the threshold, whatever `$top` says. */
function wholeCollection({ rows }: Collection, matches: (row: unknown) => boolean, top: number | undefined): Page {
  if (rows.length > MAX_PAGE) throw beyondThreshold();
  return { rows: rows.filter(matches).slice(0, top), continueAfter: undefined };
}

function parseTop(query: QueryOptions): number | undefined {
  const text = query.system.get("$top");
  if (text === undefined) return undefined;
  if (!/^\d+$/.test(text) || text === "0") throw invalidExpression(`$top=${text}`);
  return Number(text);
}

function parseSkipToken(query: QueryOptions): number {
  const token = new URLSearchParams(query.system.get("$skiptoken") ?? "");
  return Number(token.get("p_ID") ?? 0) || 0;
}

function filterOf({ type }: Collection, query: QueryOptions): (row: unknown) => boolean {
  const filter = query.system.get("$filter");
  if (filter === undefined || filter.trim() === "") return () => true;
  return compileFilter(filter, (name) => {
    const read = type.filterable?.[name];
    if (!read) throw unknownField(name);
    return read;
  });
}

/** Id order is the only one there is here; a silently wrong order would be worse than a refusal. */
function refuseOrder(query: QueryOptions): void {
  const order = query.system.get("$orderby")?.trim();
  if (order === undefined || /^id( asc)?$/i.test(order)) return;
  throw new ODataError(
    400,
    "-1, Microsoft.SharePoint.Client.InvalidClientQueryException",
    `The sandbox sorts by Id only; got '${order}'.`,
  );
}

/** The link as the service spells it: the path as it was asked for, the token first, lower-case hex. */
export function nextLinkOf(url: { origin: string; rawPath: string }, query: QueryOptions, after: number): string {
  const token = `%24skiptoken=Paged%3dTRUE%26p_ID%3d${after}`;
  const others = query.raw
    .map(({ key, value }) => ({ key: key.replace(/^\$/, "%24"), value }))
    .filter(({ key }) => key.toLowerCase() !== "%24skiptoken")
    .map(({ key, value }) => `&${key}=${value}`);
  return `${url.origin}${url.rawPath}?${token}${others.join("")}`;
}
