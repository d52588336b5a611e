import type { Asked, Reply } from "../http-reply.ts";
import type { FaultEffect } from "./fault-effect.ts";

type Json = Record<string, unknown>;

/**
 * A true answer made untrue: rows repeated or missing, a count that is wrong. What is no JSON of a listing or a list
 * stays as it is. `route` answers requests without faults; it is asked for the row that is to come again.
 */
export function bendReply(
  reply: Reply,
  effect: FaultEffect,
  { asked, route }: { asked: Asked; route: (asked: Asked) => Reply },
): Reply {
  const bends = effect.repeatRow || effect.dropRows || effect.emptyListing || effect.itemCount !== undefined;
  const body = bends && reply.status === 200 ? parseObject(reply) : undefined;
  if (!body) return reply;
  // The verbose dialect wraps everything into "d".
  const inner = isObject(body["d"]) ? body["d"] : body;
  // "Row" is how RenderListDataAsStream calls them.
  const key = ["results", "Row"].find((name) => Array.isArray(inner[name])) ?? "value";
  const rows = inner[key];
  if (Array.isArray(rows)) inner[key] = bendRows(rows, inner, effect, () => rowBefore(asked, route));
  if (effect.itemCount !== undefined && "ItemCount" in inner) inner["ItemCount"] = effect.itemCount;
  return { ...reply, body: JSON.stringify(body) };
}

function bendRows(rows: unknown[], page: Json, effect: FaultEffect, before: () => unknown[]): unknown[] {
  if (effect.emptyListing) {
    for (const link of ["odata.nextLink", "__next", "@odata.nextLink", "NextHref"]) delete page[link];
    return [];
  }
  return [...(effect.repeatRow ? before() : []), ...rows.slice(effect.dropRows ?? 0)];
}

/** The token of a page holds the id of the last row before it: one row from just before that id is this very row. */
function rowBefore(asked: Asked, route: (asked: Asked) => Reply): unknown[] {
  const lastId = /(?:%24|\$)skiptoken=[^&]*p_ID(?:%3d|=)(\d+)/i.exec(asked.rawQuery)?.[1];
  // A page in another order than by id has more in its token than the id.
  if (lastId === undefined || /p_(?!ID)/i.test(asked.rawQuery)) return [];
  const kept = asked.rawQuery.split("&").filter((part) => !/^(%24|\$)(skiptoken|top)=/i.test(part));
  const query = [`%24skiptoken=Paged%3dTRUE%26p_ID%3d${Number(lastId) - 1}`, "%24top=1", ...kept].join("&");
  const body = parseObject(route({ ...asked, rawQuery: query }));
  const rows = body?.["value"] ?? (isObject(body?.["d"]) ? body["d"]["results"] : undefined);
  return Array.isArray(rows) ? rows : [];
}

function parseObject(reply: Reply): Json | undefined {
  try {
    const value: unknown = JSON.parse(typeof reply.body === "string" ? reply.body : "");
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function isObject(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
