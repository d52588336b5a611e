import { NotFoundError } from "../../contracts/errors.ts";
import { SITE_ROLES } from "../entra/app-access.ts";
import type { Tenant } from "../tenant/tenant.ts";
import type { ControlInput } from "./control-input.ts";
import type { Operation } from "./operations.ts";

/** What administrators do, to the app and to the tenant's memory of changes. */
export const accessOperations: Readonly<Record<string, Operation>> = {
  "grant-site": ({ tenant, access }, input) => {
    const [path, role] = [sitePathOf(tenant, input), input.optionalChoice("role", SITE_ROLES) ?? "read"];
    input.refuseRest();
    access.grant(path, role);
    return { grants: access.grants() };
  },
  "revoke-site": ({ tenant, access }, input) => {
    const path = sitePathOf(tenant, input);
    input.refuseRest();
    if (!access.revoke(path)) throw new NotFoundError(`Revoke site '${path || "/"}': it was not granted.`);
    return { grants: access.grants() };
  },
  "remove-consent": ({ settings }, input) => {
    const from = input.optionalChoice("from", ["sharepoint", "graph"]);
    input.refuseRest();
    if (from !== "graph") settings.roles = [];
    if (from !== "sharepoint") settings.graphRoles = [];
    return { roles: settings.roles, graphRoles: settings.graphRoles };
  },
  "expire-certificate": ({ access }, input) => {
    input.refuseRest();
    access.certificateExpired = true;
    return {};
  },
  "revoke-tokens": (target, input) => {
    input.refuseRest();
    target.revokeTokens();
    return {};
  },
  "expire-change-log": ({ tenant }, input) => {
    input.refuseRest();
    for (const site of tenant.sites) for (const library of site.libraries) library.changes.expire();
    return {};
  },
};

/** `/sites/demo`, or `/` for the root site. */
function sitePathOf(tenant: Tenant, input: ControlInput): string {
  const path = input.text("site");
  const site = tenant.site(path);
  if (!site) throw new NotFoundError(`Find site '${path}': there is none; a site looks like '/sites/demo'.`);
  return site.path;
}
