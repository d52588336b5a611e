import { BadInputError, NotFoundError } from "../../contracts/errors.ts";
import { entraCodes, isEntraCode } from "../entra/entra-error.ts";
import { GRAPH, tokenFor } from "../entra/token-endpoint.ts";
import { type Asked, headerOf, jsonReply, type Reply } from "../http-reply.ts";
import type { SandboxState } from "../sandbox-state.ts";
import { describeLibrary } from "../tenant/describe-library.ts";
import { toSharePointTime } from "../tenant/tenant-clock.ts";
import { ControlInput, present } from "./control-input.ts";
import type { FaultEffect } from "./fault-effect.ts";
import type { FaultMatch } from "./fault-plan.ts";
import { type OperationCall, operationNames, runOperation } from "./operations.ts";
import type { ThrottleLimits } from "./throttle.ts";

const PREFIX = "/_sandbox";

export function isControlPath(rawPath: string): boolean {
  return rawPath === PREFIX || rawPath.startsWith(`${PREFIX}/`);
}

type Route = (state: SandboxState, input: ControlInput, query: URLSearchParams) => unknown;

const ROUTES: Readonly<Record<string, Route>> = {
  "GET ": (state) => ({
    ...state.describe(),
    operations: operationNames,
    routes: Object.keys(ROUTES)
      .map((route) => route.replace(" ", ` ${PREFIX}/`))
      .slice(1),
  }),
  "GET state": ({ tenant }, _input, query) => {
    const path = libraryIn(query);
    return { library: path, items: describeLibrary(tenant, path) };
  },
  "GET changes": ({ tenant }, _input, query) => {
    const path = libraryIn(query);
    return { library: path, changes: tenant.libraryAt(path).changes.since(undefined) };
  },
  "GET libraries": ({ tenant }) => ({
    libraries: tenant.sites.flatMap((site) =>
      site.libraries.map((library) => ({
        path: library.path,
        template: library.template,
        title: library.title,
        id: library.id,
        itemCount: library.rows.length,
      })),
    ),
  }),
  "GET recycle-bin": ({ tenant }) => ({
    items: [...tenant.recycleBin.values()].map(({ item, path, deletedAtMs }) => ({
      path,
      uniqueId: item.uniqueId,
      deletedAt: toSharePointTime(deletedAtMs),
    })),
  }),
  "GET faults": ({ faults }) => ({ faults: faults.list() }),
  "POST faults": ({ faults }, input) => {
    const { match, effect } = readFault(input);
    return faults.add(match, effect);
  },
  "DELETE faults": ({ faults }, _input, query) => {
    const id = query.get("id");
    if (id !== null && !faults.list().some((fault) => String(fault.id) === id)) {
      throw new NotFoundError(`Clear fault '${id}': there is none of this id.`);
    }
    faults.clear(id === null ? undefined : Number(id));
    return { faults: faults.list() };
  },
  "POST token": ({ signIn }, input) => {
    const resource = input.optionalChoice("for", ["sharepoint", "graph"]) ?? "sharepoint";
    input.refuseRest();
    return { accessToken: tokenFor(resource === "graph" ? GRAPH : (signIn.origins[0] ?? ""), signIn, "2") };
  },
  "GET grants": ({ access, settings }) => ({ roles: settings.roles, grants: access.grants() }),
  "GET throttle": ({ throttle }) => throttle.report(),
  "POST throttle": ({ throttle }, input) => {
    throttle.set(readLimits(input));
    return throttle.report();
  },
  "DELETE throttle": ({ throttle }) => {
    throttle.set(null);
    return throttle.report();
  },
  "GET log": ({ log }) => ({ requests: log.entries(), undecorated: log.undecorated }),
  "DELETE log": ({ log }) => {
    log.clear();
    return {};
  },
  "GET clock": ({ tenant }) => ({ now: toSharePointTime(tenant.clock.nowMs()) }),
  "POST clock": (state, input) => setClock(state, input),
  "GET settings": ({ settings }) => settings,
  "POST settings": (state, input) => changeSettings(state, input),
  "POST reset": (state, input) => {
    const seed = input.optionalChoice("seed", ["company", "empty"]);
    input.refuseRest();
    state.reset(seed);
    return state.describe();
  },
};

/** The caller has made sure that the request comes from this machine. */
export function answerControl(asked: Asked, state: SandboxState): Reply {
  try {
    refuseForeignPages(asked);
    return jsonReply(200, dispatch(asked, state));
  } catch (error) {
    if (error instanceof BadInputError) return jsonReply(400, { error: error.message });
    if (error instanceof NotFoundError) return jsonReply(404, { error: error.message });
    throw error;
  }
}

function dispatch(asked: Asked, state: SandboxState): unknown {
  const name = asked.rawPath.slice(PREFIX.length + 1);
  const key = `${asked.method} ${name}`;
  const input = ControlInput.parse(asked.body);
  const route = Object.hasOwn(ROUTES, key) ? ROUTES[key] : undefined;
  if (route) return route(state, input, new URLSearchParams(asked.rawQuery));
  if (asked.method === "POST" && operationNames.includes(name)) {
    return runOperation(state, { ...JSON.parse(Buffer.from(asked.body).toString() || "{}"), operation: name });
  }
  throw new NotFoundError(`There is no '${key}' here; GET ${PREFIX} lists what there is.`);
}

function libraryIn(query: URLSearchParams): string {
  const path = query.get("library");
  if (path !== null) return path;
  throw new BadInputError("'library' is missing, for example ?library=/sites/demo/Shared%20Documents.");
}

/** A web page somebody has open in a browser must not be able to steer the sandbox. */
function refuseForeignPages(asked: Asked): void {
  const origin = headerOf(asked, "origin");
  if (origin !== "" && origin !== asked.origin) throw new BadInputError("Requests from other web pages are refused.");
}

function setClock({ tenant }: SandboxState, input: ControlInput): unknown {
  const [at, advanceSeconds] = [input.optionalText("at"), input.optionalNumber("advanceSeconds")];
  const follow = input.optionalChoice("follow", ["wall-clock"]);
  input.refuseRest();
  if (at !== undefined) tenant.clock.set(at);
  if (advanceSeconds !== undefined) tenant.clock.advanceSeconds(advanceSeconds);
  if (follow !== undefined) tenant.clock.followWallClock();
  return { now: toSharePointTime(tenant.clock.nowMs()) };
}

function readLimits(input: ControlInput): ThrottleLimits {
  const [budget, windowSeconds] = [input.optionalNumber("budget"), input.optionalNumber("windowSeconds") ?? 60];
  const graceMs = input.optionalNumber("graceMs") ?? 200;
  input.refuseRest();
  if (budget === undefined) throw new BadInputError("'budget' is missing: the resource units of a window, e.g. 1200.");
  if (windowSeconds === 0) throw new BadInputError("'windowSeconds' must be more than 0.");
  return { budget, windowSeconds, graceMs };
}

/** Changes what the request names and leaves the rest; answers with all of them. */
function changeSettings({ settings }: SandboxState, input: ControlInput): unknown {
  const changes = present({
    rangeRequests: input.optionalChoice("rangeRequests", ["honoured", "ignored"]),
    tokenLifetimeSeconds: input.optionalNumber("tokenLifetimeSeconds"),
    roles: input.optionalList("roles")?.map(String),
    graphRoles: input.optionalList("graphRoles")?.map(String),
    missingPermissionStatus: readMissingPermissionStatus(input),
    signInError: readSignInError(input),
    drafts: input.optionalChoice("drafts", ["visible", "hidden"]),
    listViewThreshold: input.optionalNumber("listViewThreshold"),
  });
  input.refuseRest();
  return Object.assign(settings, changes);
}

function readMissingPermissionStatus(input: ControlInput): 401 | 403 | undefined {
  const status = input.optionalNumber("missingPermissionStatus");
  if (status === undefined || status === 401 || status === 403) return status;
  throw new BadInputError("'missingPermissionStatus' must be 401 or 403.");
}

function readSignInError(input: ControlInput): number | undefined {
  const code = input.optionalNumber("signInError");
  if (code === undefined || code === 0 || isEntraCode(code)) return code;
  throw new BadInputError(`'signInError' must be 0 for none, or one of ${entraCodes.join(", ")}.`);
}

const MAX_DELAY_MS = 600_000;

/** `{"match": {...}, "effect": {...}}` as the control API takes it. */
function readFault(input: ControlInput): { match: FaultMatch; effect: FaultEffect } {
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
