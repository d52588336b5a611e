import type { Site } from "../tenant/site.ts";
import { toSharePointTime } from "../tenant/tenant-clock.ts";
import { requireSite } from "./authorize-graph.ts";
import { driveOf, type GraphObject, type GraphScope, hostOf, urlOf } from "./drive-item.ts";
import { itemNotFound } from "./graph-error.ts";
import { siteIdOf } from "./graph-ids.ts";
import { type GraphAnswer, type GraphRequest, selected } from "./graph-request.ts";

const BY_ID = /^sites\/([^/,]+),([0-9a-f-]{36}),([0-9a-f-]{36})(\/.+)?$/i;
/** `contoso.sharepoint.com`, `…:/sites/demo`, `…:/sites/demo:/drives`; here the host has a port. */
const BY_PATH = /^sites\/((?:[^/:,[\]]+|\[[0-9a-f:]+\])(?::\d+)?)(?::(\/[^:]*)(?::(\/.+))?)?$/i;
const DOCUMENT_LIBRARY = 101;

/** undefined when the path does not lead to a site. */
export function answerSite(request: GraphRequest): GraphAnswer | undefined {
  const found = findSite(request);
  if (!found) return undefined;
  const { site, rest } = found;
  if (!site) throw itemNotFound("Requested site could not be found");
  requireSite(site, request.roles, request.signIn);
  if (rest === "") return { body: selected(describeSite(site, request.scope), request) };
  const drives = site.libraries.filter(({ template }) => template === DOCUMENT_LIBRARY);
  if (rest === "/drives") {
    const value = drives.map((library) => selected(driveOf(library, request.scope), request));
    return { body: { "@odata.context": `${request.scope.origin}/v1.0/$metadata#drives`, value } };
  }
  const [first] = drives;
  if (rest !== "/drive") return undefined;
  if (!first) throw itemNotFound();
  return { body: selected(driveOf(first, request.scope), request) };
}

function findSite({ path, tenant, signIn }: GraphRequest): { site: Site | undefined; rest: string } | undefined {
  if (/^sites\/root(\/|$)/i.test(path)) return { site: tenant.site(""), rest: path.slice("sites/root".length) };
  const [, , siteId, webId, rest = ""] = BY_ID.exec(path) ?? [];
  if (siteId !== undefined) {
    const isMeant = (site: Site) => site.id === siteId.toLowerCase() && site.webId === webId?.toLowerCase();
    return { site: tenant.sites.find(isMeant), rest };
  }
  const [, host, sitePath = "", below = ""] = BY_PATH.exec(path) ?? [];
  if (host === undefined) return undefined;
  const isOurs = signIn.origins.some((origin) => new URL(origin).host === host.toLowerCase());
  return { site: isOurs ? tenant.site(sitePath) : undefined, rest: below };
}

function describeSite(site: Site, scope: GraphScope): GraphObject {
  return {
    id: siteIdOf(site, hostOf(scope)),
    name: site.path.slice(site.path.lastIndexOf("/") + 1),
    displayName: site.title,
    webUrl: urlOf(site.path, scope),
    createdDateTime: toSharePointTime(site.createdAtMs),
    siteCollection: { hostname: hostOf(scope) },
  };
}
