import { randomUUID } from "node:crypto";
import { headerOf, jsonReply, type Reply, type SandboxRequest, textReply } from "../../http-reply.ts";
import type { SignIn } from "../entra.ts";
import { accessDenied, ODataError } from "../odata/odata-error.ts";
import { parseSegments, type Segment } from "../odata/path-segments.ts";
import { compileProjection, listOption, parseQueryOptions, type QueryOptions } from "../odata/projection.ts";
import {
  atomEntry,
  atomError,
  atomFeed,
  atomScalar,
  chooseDialect,
  contentTypeOf,
  type Dialect,
  renderCollection,
  renderError,
  renderScalar,
  renderSingle,
} from "../odata/response.ts";
import type { Library } from "../tenant/library.ts";
import type { Tenant } from "../tenant/tenant.ts";
import { downloadReply } from "./download.ts";
import { changesOf } from "./get-changes.ts";
import { nextLinkOf, pageOf } from "./page-items.ts";
import { renderList } from "./render-list.ts";
import { resolveResource } from "./resolve-resource.ts";
import type { RequestScope, Resource } from "./resource.ts";

const API = /^(.*?)\/_api(?:\/(.*))?$/i;

/** undefined when the path has no `_api` in it. */
export function answerApi(request: SandboxRequest, tenant: Tenant, signIn: SignIn): Reply | undefined {
  const match = API.exec(request.rawPath);
  if (!match) return undefined;
  const reply = withoutStandardHeaders(request, tenant, signIn, { webPath: match[1] ?? "", apiPath: match[2] ?? "" });
  return { ...reply, headers: { ...standardHeaders(), ...reply.headers } };
}

function withoutStandardHeaders(
  request: SandboxRequest,
  tenant: Tenant,
  signIn: SignIn,
  paths: { webPath: string; apiPath: string },
): Reply {
  const dialect = chooseDialect(headerOf(request, "accept"));
  try {
    const site = tenant.site(decodeURIComponent(paths.webPath));
    if (!site) return textReply(404, "404 FILE NOT FOUND");
    const refused = refuseUnauthorized(request, signIn, site.path);
    if (refused) return refused;
    if (!["GET", "HEAD", "POST"].includes(request.method)) throw accessDenied();
    const query = parseQueryOptions(request.rawQuery);
    const scope = {
      origin: request.origin,
      webUrl: request.origin + site.path,
      tenant,
      site,
      settings: signIn.settings,
    };
    const segments = parseSegments(decodeURIComponent(paths.apiPath), query.aliases);
    const resource =
      request.method === "POST" ? performAction(segments, request, scope) : resolveResource(segments, scope);
    if (resource.kind === "content") {
      return downloadReply(resource.file, request, {
        rangeRequests: signIn.settings.rangeRequests,
        disposition: "attachment",
        contentType: "application/octet-stream",
      });
    }
    if (resource.kind === "json") return jsonReply(200, resource.body);
    const body = render(resource, query, scope, { dialect, rawPath: request.rawPath });
    return { status: 200, headers: { "Content-Type": contentTypeOf(dialect) }, body };
  } catch (error) {
    if (error instanceof URIError) return badRequest();
    if (error instanceof ODataError) return errorReply(error, dialect);
    throw error;
  }
}

function render(
  resource: Exclude<Resource, { kind: "content" | "json" }>,
  query: QueryOptions,
  scope: RequestScope,
  { dialect, rawPath }: { dialect: Dialect; rawPath: string },
): string {
  if (resource.kind === "scalar") {
    const { name, value } = resource;
    return dialect === "atom" ? atomScalar(name, value) : JSON.stringify(renderScalar(name, value, dialect));
  }
  const projection = compileProjection(resource.type, listOption(query, "$select"), listOption(query, "$expand"));
  if (resource.kind === "entity") {
    if (dialect === "atom") return atomEntry(resource.value, projection, scope);
    return JSON.stringify(renderSingle(resource.value, projection, scope, dialect));
  }
  const { rows, continueAfter } = pageOf(resource, query);
  const nextLink =
    continueAfter === undefined ? undefined : nextLinkOf({ origin: scope.origin, rawPath }, query, continueAfter);
  if (dialect === "atom") return atomFeed(rows, projection, scope, nextLink);
  return JSON.stringify(renderCollection(rows, projection, scope, { dialect, nextLink }));
}

function errorReply(error: ODataError, dialect: Dialect): Reply {
  if (dialect === "atom") {
    return {
      status: error.status,
      headers: { "Content-Type": "application/xml;charset=utf-8" },
      body: atomError(error),
    };
  }
  return {
    status: error.status,
    headers: { "Content-Type": `application/json;odata=${dialect};charset=utf-8` },
    body: JSON.stringify(renderError(error, dialect)),
  };
}

/** A target the web server in front refuses before SharePoint sees it. */
export function badRequest(): Reply {
  return {
    status: 400,
    headers: { "Content-Type": "text/html; charset=us-ascii" },
    body: "<html><head><title>Bad Request</title></head><body><h2>Bad Request - Invalid URL</h2><hr><p>HTTP Error 400. The request URL is invalid.</p></body></html>",
  };
}

function standardHeaders(): Record<string, string> {
  const requestId = randomUUID();
  return {
    SPRequestGuid: requestId,
    "request-id": requestId,
    "X-SharePointHealthScore": "1",
    SPClientServiceRequestDuration: "9",
    "X-SP-SERVERSTATE": "ReadOnly=0",
    MicrosoftSharePointTeamServices: "16.0.0.27000",
    "Cache-Control": "private, max-age=0",
  };
}

const SHAREPOINT_PRINCIPAL = "00000003-0000-0ff1-ce00-000000000000";

/**
 * undefined when the token may read the site. The auth layer answers before OData does, in forms of its own; a request without
 * any Authorization header passes it as an anonymous visitor and is refused by OData with 403.
 */
function refuseUnauthorized(request: SandboxRequest, signIn: SignIn, sitePath: string): Reply | undefined {
  const authorization = headerOf(request, "authorization");
  if (authorization === "") throw accessDenied();
  const token = /^Bearer\s+(.+)$/i.exec(authorization)?.[1];
  if (token === undefined) return unauthorized(signIn, { error_description: "Invalid JWT token." });
  const verdict = signIn.tokens.judge(token);
  if (!verdict.ok) return unauthorized(signIn, REFUSALS[verdict.reason]);
  if (!signIn.origins.includes(verdict.audience)) return unauthorized(signIn, REFUSALS.signature);
  if (verdict.appIdAcr !== "2") return unauthorized(signIn, { error_description: "Unsupported app only token." });
  if (!signIn.access.mayRead(sitePath, verdict.roles)) throw accessDenied(signIn.settings.missingPermissionStatus);
  return undefined;
}

const REFUSALS = {
  malformed: { error: "invalid_request", error_description: "Token type is not allowed." },
  signature: { error_description: "Invalid issuer or signature." },
  expired: { error_description: "Invalid JWT token. The token is expired." },
} as const;

function unauthorized(signIn: SignIn, body: { error?: string; error_description: string }): Reply {
  const { tenantId } = signIn.registration;
  return jsonReply(401, body, {
    "WWW-Authenticate": `Bearer realm="${tenantId}",client_id="${SHAREPOINT_PRINCIPAL}",trusted_issuers="00000001-0000-0000-c000-000000000000@*,https://sts.windows.net/*/",authorization_uri="https://login.microsoftonline.com/common/oauth2/authorize"`,
    "x-ms-diagnostics": `3000006;reason="${body === REFUSALS.signature ? "Token contains invalid signature." : body.error_description}";category="invalid_client"`,
  });
}

type Action = (value: unknown, request: SandboxRequest, scope: RequestScope) => Resource;

/** What is asked by POST although it only reads, by the type it is asked of. */
const ACTIONS: Readonly<Record<string, Readonly<Record<string, Action>>>> = {
  "SP.List": {
    renderlistdataasstream: (library, { body }, scope) => renderList(library as Library, body, scope),
    getchanges: (library, request) => changesOf(library as Library, request),
  },
};

/** Every other POST would change something, and the app may only read: changes go through the control API. */
function performAction(segments: readonly Segment[], request: SandboxRequest, scope: RequestScope): Resource {
  const name = segments.at(-1)?.name.toLowerCase() ?? "";
  if (!Object.values(ACTIONS).some((actions) => Object.hasOwn(actions, name))) throw accessDenied();
  const target = resolveResource(segments.slice(0, -1), scope);
  const action = target.kind === "entity" ? ACTIONS[target.type.typeName]?.[name] : undefined;
  if (target.kind !== "entity" || !action) throw accessDenied();
  return action(target.value, request, scope);
}
