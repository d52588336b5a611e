import type { SignIn } from "../entra/token-endpoint.ts";
import { type Asked, headerOf, jsonReply, type Reply } from "../http-reply.ts";
import { accessDenied } from "../odata/odata-error.ts";

const SHAREPOINT_PRINCIPAL = "00000003-0000-0ff1-ce00-000000000000";

/**
 * undefined when the token may read the site. The auth layer answers before OData does, in forms of its own; a request without
 * any Authorization header passes it as an anonymous visitor and is refused by OData with 403.
 */
export function refuseUnauthorized(asked: Asked, signIn: SignIn, sitePath: string): Reply | undefined {
  const authorization = headerOf(asked, "authorization");
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
