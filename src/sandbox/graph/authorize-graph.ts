import { GRAPH, type SignIn } from "../entra/token-endpoint.ts";
import { type Asked, headerOf } from "../http-reply.ts";
import type { Site } from "../tenant/site.ts";
import { GraphError } from "./graph-error.ts";

const GRAPH_PRINCIPAL = "00000003-0000-0000-c000-000000000000";

/** The permissions of a token that is good for Graph. Throws GraphError for any other. */
export function rolesOf(asked: Asked, signIn: SignIn): readonly string[] {
  const token = /^Bearer\s+(.+)$/i.exec(headerOf(asked, "authorization"))?.[1];
  if (token === undefined) throw invalidToken("Access token is empty.");
  const verdict = signIn.tokens.judge(token);
  if (!verdict.ok) throw invalidToken(REASONS[verdict.reason]);
  if (verdict.audience !== GRAPH && verdict.audience !== GRAPH_PRINCIPAL) {
    throw invalidToken("Access token validation failure. Invalid audience.");
  }
  return verdict.roles;
}

/** How the app proved itself does not matter here, unlike in SharePoint's REST. */
export function requireSite(site: Site, roles: readonly string[], signIn: SignIn): void {
  const mayRead =
    signIn.access.mayRead(site.path, roles) || roles.some((role) => /^Files\.Read(Write)?\.All$/.test(role));
  if (!mayRead) throw new GraphError(403, "accessDenied", "Access denied");
}

const REASONS = {
  malformed: "IDX14100: JWT is not well formed, there are no dots (.).",
  signature: "Access token validation failure. Invalid signature.",
  expired: "Lifetime validation failed, the token is expired.",
} as const;

function invalidToken(message: string): GraphError {
  return new GraphError(401, "InvalidAuthenticationToken", message, {
    "WWW-Authenticate": `Bearer realm="", authorization_uri="https://login.microsoftonline.com/common/oauth2/authorize", client_id="${GRAPH_PRINCIPAL}"`,
  });
}
