import type { ListKey, PageRequest } from "../catalog/read-page.ts";
import { asOneOf } from "./read-fields.ts";
import { badRequest } from "./wire-error.ts";

export interface ListParams {
  readonly limit: number;
  readonly order: "asc" | "desc";
  readonly after: string | undefined;
  readonly before: string | undefined;
}

export function readListParams(
  query: URLSearchParams,
  limits: { readonly max: number; readonly usual: number },
): ListParams {
  return {
    limit: readLimit(query.get("limit"), limits),
    order: asOneOf(query.get("order") ?? "desc", "order", ["asc", "desc"]),
    after: query.get("after") || undefined,
    before: query.get("before") || undefined,
  };
}

function readLimit(text: string | null, limits: { readonly max: number; readonly usual: number }): number {
  if (text === null) return limits.usual;
  const limit = /^\d{1,6}$/.test(text) ? Number(text) : 0;
  if (limit >= 1 && limit <= limits.max) return limit;
  throw badRequest(`Invalid value for 'limit': expected an integer from 1 to ${limits.max}.`, "limit");
}

/** Cursors are ids of listed objects; one that is not in the list has no place to go on from. */
export async function toPageRequest(
  params: ListParams,
  keyOf: (id: string) => Promise<ListKey | undefined>,
): Promise<PageRequest> {
  const place = async (id: string | undefined, param: "after" | "before"): Promise<ListKey | undefined> => {
    if (id === undefined) return undefined;
    return (await keyOf(id)) ?? unknownCursor(id, param);
  };
  return {
    limit: params.limit,
    order: params.order,
    after: await place(params.after, "after"),
    before: await place(params.before, "before"),
  };
}

export function unknownCursor(id: string, param: "after" | "before"): never {
  throw badRequest(`Invalid value for '${param}': '${id}' is not in this list.`, param);
}
