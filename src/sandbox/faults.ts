import { createHash } from "node:crypto";
import { BadInputError } from "../contracts/errors.ts";
import { ControlInput, present } from "./control/control-input.ts";
import { type OperationCall, operationNames } from "./control/operations.ts";
import type { Reply, SandboxRequest } from "./http-reply.ts";

/** What happens to a request that a fault rule matches. Parts combine: operations run first, then the delay, then the rest. */
export interface FaultEffect {
  /** Operations of the control API, carried out just before the answer is made: "meanwhile somebody deleted it". */
  readonly run?: readonly OperationCall[];
  readonly delayMs?: number;
  /** Instead of an answer: "reset" sends RST, "drop" closes. */
  readonly connection?: "reset" | "drop";
  /** Instead of the real answer. */
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** Retry-After, written when the answer is made: as seconds, or as the date they lead to. */
  readonly retryAfter?: { readonly seconds: number; readonly form: "seconds" | "date" };
  readonly body?: string;
  /** The body stops here and the connection stays open. */
  readonly stallAfterBytes?: number;
  /** The body stops here and ends as `ending` says. */
  readonly truncateAfterBytes?: number;
  /**
   * "close" (default) and "reset" break a promised Content-Length; "clean" promises none and ends like a whole body,
   * which only a comparison with the listed size can tell.
   */
  readonly ending?: "close" | "reset" | "clean";
  /** On a next page of list items: the last row of the page before appears again. */
  readonly repeatRow?: boolean;
  /** A page silently lacks this many rows, the first ones; its link to the next page stays. */
  readonly dropRows?: number;
  /** A listing comes empty, with 200 and no next page. */
  readonly emptyListing?: boolean;
  /** What the list says it holds, whatever is in it. */
  readonly itemCount?: number;
  /** One of these, chosen by the seed, the address and how often it was asked. */
  readonly oneOf?: readonly Omit<FaultEffect, "oneOf">[];
}

export interface FaultMatch {
  readonly method?: string;
  /** A regular expression without flags, tried on the address as sent and decoded, case ignored. */
  readonly url?: string;
  /** The first matching request that fails, from 1. */
  readonly nth?: number;
  /** From then on, every n-th matching request. */
  readonly every?: number;
  /** 1 unless said otherwise; "always" with a share. */
  readonly times?: number | "always";
  /** Instead of nth and every: this part of the matching requests, from 0 to 1, spread by the seed. */
  readonly share?: number;
  /** Another seed selects other requests, and other effects of `oneOf`. */
  readonly seed?: number;
}

interface Fault {
  readonly id: number;
  readonly match: FaultMatch;
  readonly effect: FaultEffect;
  /** Requests that matched so far, and how many of them got the effect. */
  readonly seen: number;
  readonly struck: number;
}

interface Planned extends Fault {
  readonly pattern: RegExp;
  /** Requests per address: with the seed, this count decides about a request. */
  readonly requestCounts: Map<string, number>;
  seen: number;
  struck: number;
}

/**
 * Faults by plan, never by chance: the same requests in the same order meet the same faults. With a share not even the
 * order between different addresses matters, so workers may overtake each other and the history still repeats.
 */
export class FaultInjector {
  #faults: Planned[] = [];
  #nextId = 1;

  /** Throws SyntaxError when `url` is no regular expression. */
  add(match: FaultMatch, effect: FaultEffect): Fault {
    const fault = {
      id: this.#nextId++,
      match,
      effect,
      seen: 0,
      struck: 0,
      pattern: new RegExp(match.url ?? "", "i"),
      requestCounts: new Map<string, number>(),
    };
    this.#faults.push(fault);
    return describe(fault);
  }

  list(): Fault[] {
    return this.#faults.map(describe);
  }

  clear(id?: number): void {
    this.#faults = id === undefined ? [] : this.#faults.filter((fault) => fault.id !== id);
  }

  /** Counts the request in each matching rule; returns the first effect that is due. */
  match(request: SandboxRequest): { id: number; effect: FaultEffect } | undefined {
    let struck: { id: number; effect: FaultEffect } | undefined;
    for (const fault of this.#faults.filter((each) => isMatch(each, request))) {
      const { chance, choice } = isSeeded(fault) ? rollFor(fault, addressOf(request)) : { chance: 0, choice: 0 };
      fault.seen++;
      if (struck || !isDue(fault, chance)) continue;
      fault.struck++;
      const { oneOf, ...effect } = fault.effect;
      const chosen = oneOf?.[Math.floor(choice * oneOf.length)];
      struck = { id: fault.id, effect: { ...effect, ...chosen } };
    }
    return struck;
  }
}

function describe({ pattern: _, requestCounts: __, ...fault }: Planned): Fault {
  return { ...fault };
}

function isMatch({ match, pattern }: Planned, request: SandboxRequest): boolean {
  if (match.method !== undefined && match.method.toUpperCase() !== request.method) return false;
  const url = urlOf(request);
  return pattern.test(url) || pattern.test(decodeLoosely(url));
}

function isDue({ match, seen, struck }: Planned, chance: number): boolean {
  const { nth = 1, every = 1, share } = match;
  const times = match.times ?? (share === undefined ? 1 : "always");
  if (times !== "always" && struck >= times) return false;
  return share === undefined ? seen >= nth && (seen - nth) % every === 0 : chance < share;
}

/** The sign-in library puts a random id into the URL: leave it out, or runs would differ. */
function addressOf(request: SandboxRequest): string {
  return `${request.method} ${urlOf(request).replace(/([?&])client-request-id=[^&]*/i, "$1")}`;
}

function isSeeded({ match, effect }: Planned): boolean {
  return match.share !== undefined || effect.oneOf !== undefined;
}

function rollFor({ requestCounts: counts, match }: Planned, address: string): { chance: number; choice: number } {
  const count = (counts.get(address) ?? 0) + 1;
  counts.set(address, count);
  return decide(match.seed ?? 0, address, count);
}

function urlOf(request: SandboxRequest): string {
  return request.rawQuery === "" ? request.rawPath : `${request.rawPath}?${request.rawQuery}`;
}

function decodeLoosely(url: string): string {
  try {
    return decodeURIComponent(url.replaceAll("+", " "));
  } catch {
    return url;
  }
}

/** Two numbers from 0 up to, not including, 1: whether the request is struck, and which of several effects it meets. */
function decide(seed: number, address: string, count: number): { chance: number; choice: number } {
  const digest = createHash("sha256").update(`${seed}\n${address}\n${count}`).digest();
  return { chance: digest.readUInt32BE(0) / 2 ** 32, choice: digest.readUInt32BE(4) / 2 ** 32 };
}

const THROTTLED = JSON.stringify({
  "odata.error": {
    code: "-2147429894, Microsoft.SharePoint.SPException",
    message: { lang: "en-US", value: "The request has been throttled." },
  },
});

/** The reply of a fault that sets the status. Without a body of its own, 429 and 503 have SharePoint's. */
export function faultReply(status: number, effect: FaultEffect): Reply {
  const body = effect.body ?? (status === 429 || status === 503 ? THROTTLED : "");
  const type = body.startsWith("<") ? "text/html" : body.startsWith("{") ? "application/json" : "text/plain";
  return { status, headers: { "Content-Type": `${type}; charset=utf-8` }, body };
}

export function retryAfterOf({ retryAfter: wait }: FaultEffect): Record<string, string> {
  if (!wait) return {};
  const date = new Date(Date.now() + wait.seconds * 1000).toUTCString();
  return { "Retry-After": wait.form === "date" ? date : String(wait.seconds) };
}

type Json = Record<string, unknown>;

/**
 * Makes a true reply untrue: repeated or missing rows, a wrong count. A body that is not the JSON of a listing or a list
 * is left alone. `route` answers requests without faults; it is called for the row that is repeated.
 */
export function applyFault(
  reply: Reply,
  effect: FaultEffect,
  { request, route }: { request: SandboxRequest; route: (request: SandboxRequest) => Reply },
): Reply {
  const alters = effect.repeatRow || effect.dropRows || effect.emptyListing || effect.itemCount !== undefined;
  const body = alters && reply.status === 200 ? parseObject(reply) : undefined;
  if (!body) return reply;
  // The verbose dialect wraps everything into "d".
  const inner = isObject(body["d"]) ? body["d"] : body;
  // "Row" is how RenderListDataAsStream calls them.
  const key = ["results", "Row"].find((name) => Array.isArray(inner[name])) ?? "value";
  const rows = inner[key];
  if (Array.isArray(rows)) inner[key] = alterRows(rows, inner, effect, () => rowBefore(request, route));
  if (effect.itemCount !== undefined && "ItemCount" in inner) inner["ItemCount"] = effect.itemCount;
  return { ...reply, body: JSON.stringify(body) };
}

function alterRows(rows: unknown[], page: Json, effect: FaultEffect, before: () => unknown[]): unknown[] {
  if (effect.emptyListing) {
    for (const link of ["odata.nextLink", "__next", "@odata.nextLink", "NextHref"]) delete page[link];
    return [];
  }
  return [...(effect.repeatRow ? before() : []), ...rows.slice(effect.dropRows ?? 0)];
}

/** The token of a page holds the id of the last row before it: one row from just before that id is this very row. */
function rowBefore(request: SandboxRequest, route: (request: SandboxRequest) => Reply): unknown[] {
  const lastId = /(?:%24|\$)skiptoken=[^&]*p_ID(?:%3d|=)(\d+)/i.exec(request.rawQuery)?.[1];
  // A page in another order than by id has more in its token than the id.
  if (lastId === undefined || /p_(?!ID)/i.test(request.rawQuery)) return [];
  const kept = request.rawQuery.split("&").filter((part) => !/^(%24|\$)(skiptoken|top)=/i.test(part));
  const query = [`%24skiptoken=Paged%3dTRUE%26p_ID%3d${Number(lastId) - 1}`, "%24top=1", ...kept].join("&");
  const body = parseObject(route({ ...request, rawQuery: query }));
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

const MAX_DELAY_MS = 600_000;

/** `{"match": {...}, "effect": {...}}` as the control API takes it. */
export function parseFaultRule(input: ControlInput): { match: FaultMatch; effect: FaultEffect } {
  const match = readMatch(new ControlInput(input.optionalObject("match") ?? {}));
  const given = input.optionalObject("effect");
  if (!given) throw new BadInputError("'effect' is missing: it says what happens to the request.");
  const effect = readEffect(given);
  input.refuseRest();
  return { match, effect };
}

function readMatch(input: ControlInput): FaultMatch {
  const match = present({
    method: input.optionalText("method"),
    url: input.optionalText("url"),
    nth: input.optionalNumber("nth"),
    every: input.optionalNumber("every"),
    times: readTimes(input),
    share: input.optionalNumber("share"),
    seed: input.optionalNumber("seed"),
  });
  input.refuseRest();
  for (const [name, value] of Object.entries({ nth: match.nth ?? 1, every: match.every ?? 1 })) {
    if (!Number.isInteger(value) || value < 1) throw new BadInputError(`'${name}' must be a whole number from 1.`);
  }
  if ((match.share ?? 0) > 1) throw new BadInputError("'share' is a part of the requests, from 0 to 1.");
  if (match.share !== undefined && (match.nth ?? match.every) !== undefined) {
    throw new BadInputError("'share' stands in place of 'nth' and 'every': give the one or the others.");
  }
  try {
    new RegExp(match.url ?? "");
  } catch (error) {
    throw new BadInputError(`'url' is no regular expression: ${match.url}`, { cause: error });
  }
  return match;
}

function readEffect(given: Record<string, unknown>): FaultEffect {
  const { oneOf, ...rest } = given;
  if (oneOf === undefined) return readSingleEffect(new ControlInput(rest));
  if (!Array.isArray(oneOf) || oneOf.length === 0) throw new BadInputError("'oneOf' must be a list of effects.");
  const effects = oneOf.map((each: unknown) => readSingleEffect(new ControlInput(each)));
  return { ...(Object.keys(rest).length === 0 ? {} : readSingleEffect(new ControlInput(rest))), oneOf: effects };
}

function readSingleEffect(input: ControlInput): Omit<FaultEffect, "oneOf"> {
  const effect = present({
    run: readRun(input),
    delayMs: input.optionalNumber("delayMs"),
    connection: input.optionalChoice("connection", ["reset", "drop"]),
    status: input.optionalNumber("status"),
    ...readHeaders(input),
    body: input.optionalText("body"),
    stallAfterBytes: input.optionalNumber("stallAfterBytes"),
    truncateAfterBytes: input.optionalNumber("truncateAfterBytes"),
    ending: input.optionalChoice("ending", ["close", "reset", "clean"]),
    repeatRow: input.optionalFlag("repeatRow"),
    dropRows: input.optionalNumber("dropRows"),
    emptyListing: input.optionalFlag("emptyListing"),
    itemCount: input.optionalNumber("itemCount"),
  });
  input.refuseRest();
  if (Object.keys(effect).length === 0) throw new BadInputError("'effect' says nothing.");
  if ((effect.delayMs ?? 0) > MAX_DELAY_MS) throw new BadInputError(`'delayMs' is at most ${MAX_DELAY_MS}.`);
  if (effect.status !== undefined && (effect.status < 200 || effect.status > 599)) {
    throw new BadInputError("'status' must be from 200 to 599.");
  }
  if (effect.body !== undefined && effect.status === undefined) {
    throw new BadInputError("'body' needs a 'status' beside it, 200 too.");
  }
  return effect;
}

function readTimes(input: ControlInput): number | "always" | undefined {
  const times = input.optionalTextOrNumber("times");
  if (typeof times !== "string" || times === "always") return times;
  throw new BadInputError(`'times' must be a number or "always"; got '${times}'.`);
}

/** `retryAfter` is a short way to write the header: a text as it stands, a number in the form asked for. */
function readHeaders(input: ControlInput): Pick<FaultEffect, "headers" | "retryAfter"> {
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(input.optionalObject("headers") ?? {})) headers[name] = String(value);
  const retryAfter = input.optionalTextOrNumber("retryAfter");
  const form = input.optionalChoice("retryAfterForm", ["seconds", "date"]) ?? "seconds";
  if (typeof retryAfter === "string") headers["Retry-After"] = retryAfter;
  return {
    ...(Object.keys(headers).length === 0 ? {} : { headers }),
    ...(typeof retryAfter === "number" ? { retryAfter: { seconds: retryAfter, form } } : {}),
  };
}

function readRun(input: ControlInput): OperationCall[] | undefined {
  return input.optionalList("run")?.map((each) => {
    const call = typeof each === "object" && each !== null ? (each as Record<string, unknown>) : {};
    const operation = call["operation"];
    if (typeof operation !== "string" || !operationNames.includes(operation)) {
      throw new BadInputError(`Each of 'run' names an 'operation'; there are ${operationNames.join(", ")}.`);
    }
    return { ...call, operation };
  });
}
