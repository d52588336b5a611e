import { createPublicKey, generateKeyPair, type KeyObject, randomUUID, sign, verify } from "node:crypto";
import { promisify } from "node:util";
import { decodeJwt, encodeJwtPart } from "./jwt.ts";

export interface TokenRequest {
  readonly audience: string;
  readonly clientId: string;
  readonly tenantId: string;
  readonly roles: readonly string[];
  readonly lifetimeSeconds: number;
  /** How the app proved who it is: "1" by a secret, "2" by a certificate. SharePoint accepts only the latter. */
  readonly appIdAcr: "1" | "2";
}

export type TokenVerdict =
  | { readonly ok: true; readonly audience: string; readonly appIdAcr: string; readonly roles: readonly string[] }
  | { readonly ok: false; readonly reason: "malformed" | "signature" | "expired" };

/** Issues and checks the access tokens of one tenant, with a key of its own. */
export class AccessTokens {
  readonly #privateKey: KeyObject;
  readonly #publicKey: KeyObject;
  readonly keyId: string;
  #revoked = new Set<string>();
  #issued: string[] = [];

  static async create(): Promise<AccessTokens> {
    const { privateKey } = await promisify(generateKeyPair)("rsa", { modulusLength: 2048 });
    return new AccessTokens(privateKey);
  }

  constructor(privateKey: KeyObject) {
    this.#privateKey = privateKey;
    this.#publicKey = createPublicKey(privateKey);
    this.keyId = randomUUID();
  }

  get publicJwk(): Record<string, unknown> {
    const jwk = this.#publicKey.export({ format: "jwk" });
    return { ...jwk, use: "sig", alg: "RS256", kid: this.keyId };
  }

  issue(request: TokenRequest): string {
    const nowSeconds = Math.floor(Date.now() / 1000);
    const tokenId = randomUUID();
    const signed = `${encodeJwtPart({ typ: "JWT", alg: "RS256", kid: this.keyId })}.${encodeJwtPart({
      aud: request.audience,
      iss: `https://sts.windows.net/${request.tenantId}/`,
      iat: nowSeconds,
      nbf: nowSeconds,
      exp: nowSeconds + request.lifetimeSeconds,
      appid: request.clientId,
      appidacr: request.appIdAcr,
      idtyp: "app",
      oid: request.clientId,
      // Without consent to anything there is no such claim.
      ...(request.roles.length === 0 ? {} : { roles: request.roles }),
      tid: request.tenantId,
      uti: tokenId,
      ver: "1.0",
    })}`;
    this.#issued.push(tokenId);
    return `${signed}.${sign("sha256", Buffer.from(signed), this.#privateKey).toString("base64url")}`;
  }

  /** Everything issued so far counts as expired from now on: what a client meets in the middle of a long crawl. */
  revokeAll(): void {
    for (const tokenId of this.#issued) this.#revoked.add(tokenId);
    this.#issued = [];
  }

  judge(token: string): TokenVerdict {
    const jwt = decodeJwt(token);
    if (!jwt) return { ok: false, reason: "malformed" };
    const valid = verify("sha256", Buffer.from(jwt.signed), this.#publicKey, jwt.signature);
    if (!valid || jwt.header["alg"] !== "RS256") return { ok: false, reason: "signature" };
    const { exp, aud, appidacr, roles, uti } = jwt.claims;
    if (typeof exp !== "number" || exp <= Date.now() / 1000 || this.#revoked.has(String(uti))) {
      return { ok: false, reason: "expired" };
    }
    return {
      ok: true,
      audience: String(aud),
      appIdAcr: String(appidacr),
      roles: Array.isArray(roles) ? roles.map(String) : [],
    };
  }
}
