import { isObject } from "./error-body.ts";

/** What an access token says about the app. For advice only: tokens are the server's to read, and it alone decides. */
export interface TokenClaims {
  /** The permissions an administrator consented to. */
  readonly roles: readonly string[];
  /** How the app proved who it is: "1" by a secret, "2" by a certificate; "" when it does not tell. */
  readonly proof: string;
}

/** undefined: the token cannot be read, which is its right. */
export function readTokenClaims(token: string): TokenClaims | undefined {
  try {
    const claims: unknown = JSON.parse(Buffer.from(token.split(".")[1] ?? "", "base64url").toString("utf8"));
    if (!isObject(claims)) return undefined;
    const { roles, appidacr } = claims;
    return {
      roles: Array.isArray(roles) ? roles.map(String) : [],
      proof: typeof appidacr === "string" ? appidacr : "",
    };
  } catch {
    return undefined;
  }
}
