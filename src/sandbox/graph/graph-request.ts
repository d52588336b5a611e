import type { SignIn } from "../entra/token-endpoint.ts";
import type { Asked, Reply } from "../http-reply.ts";
import type { Tenant } from "../tenant/tenant.ts";
import type { GraphObject, GraphScope } from "./drive-item.ts";

export interface GraphRequest {
  readonly asked: Asked;
  readonly tenant: Tenant;
  readonly signIn: SignIn;
  /** What the token lets its bearer do. */
  readonly roles: readonly string[];
  readonly scope: GraphScope;
  /** Below `/v1.0/`, decoded, without a slash at the end. */
  readonly path: string;
  readonly query: URLSearchParams;
}

export type GraphAnswer = Reply | { readonly body: GraphObject };

/** Only what `$select` names; without it everything but the ids of SharePoint, which come on request only. */
export function selected(value: GraphObject, { query }: GraphRequest): GraphObject {
  const names = query
    .get("$select")
    ?.split(",")
    .map((name) => name.trim());
  const isWanted = ([name]: [string, unknown]): boolean =>
    names ? names.includes(name) || name.startsWith("@") : name !== "sharepointIds";
  return Object.fromEntries(Object.entries(value).filter(isWanted));
}
