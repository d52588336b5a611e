import { BadInputError, NotFoundError } from "../../contracts/errors.ts";
import { parseFaultRule } from "../faults.ts";
import { headerOf, jsonReply, type Reply, type SandboxRequest } from "../http-reply.ts";
import type { SandboxState } from "../sandbox-state.ts";
import { entraCodes, GRAPH, isEntraCode, tokenFor } from "../sharepoint/entra.ts";
import { describeLibrary } from "../sharepoint/tenant/describe-library.ts";
import { toSharePointTime } from "../sharepoint/tenant/tenant-clock.ts";
import type { ThrottleLimits } from "../throttle.ts";
import { ControlInput, present } from "./control-input.ts";
import { operationNames, runOperation } from "./operations.ts";

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
    const { match, effect } = parseFaultRule(input);
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
export function answerControl(request: SandboxRequest, state: SandboxState): Reply {
  try {
    refuseForeignPages(request);
    return jsonReply(200, dispatch(request, state));
  } catch (error) {
    if (error instanceof BadInputError) return jsonReply(400, { error: error.message });
    if (error instanceof NotFoundError) return jsonReply(404, { error: error.message });
    throw error;
  }
}

function dispatch(request: SandboxRequest, state: SandboxState): unknown {
  const name = request.rawPath.slice(PREFIX.length + 1);
  const key = `${request.method} ${name}`;
  const input = ControlInput.parse(request.body);
  const route = Object.hasOwn(ROUTES, key) ? ROUTES[key] : undefined;
  if (route) return route(state, input, new URLSearchParams(request.rawQuery));
  if (request.method === "POST" && operationNames.includes(name)) {
    return runOperation(state, { ...JSON.parse(Buffer.from(request.body).toString() || "{}"), operation: name });
  }
  throw new NotFoundError(`There is no '${key}' here; GET ${PREFIX} lists what there is.`);
}

function libraryIn(query: URLSearchParams): string {
  const path = query.get("library");
  if (path !== null) return path;
  throw new BadInputError("'library' is missing, for example ?library=/sites/demo/Shared%20Documents.");
}

/** A web page somebody has open in a browser must not be able to steer the sandbox. */
function refuseForeignPages(request: SandboxRequest): void {
  const origin = headerOf(request, "origin");
  if (origin !== "" && origin !== request.origin) throw new BadInputError("Requests from other web pages are refused.");
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
