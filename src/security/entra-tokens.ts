import type { FetchImplementation, JWTPayload } from "jose";
import type { RequestInit } from "undici";
import { type Principal, ROLES } from "../contracts/access.ts";
import { RemoteError } from "../contracts/errors.ts";
import { createLimiter } from "../lib/concurrency.ts";
import { later } from "../lib/later.ts";
import { createProxyAgent } from "../lib/proxy-agent.ts";
import { logLine, readUpTo } from "../lib/text.ts";
import type { Identity } from "./access.ts";

export interface EntraOptions {
  readonly tenantId: string;
  /** Client id or application id URI: what a token must be issued for. */
  readonly audience: string;
  /** `https://login.microsoftonline.com`, or where a sovereign cloud or a test has it. */
  readonly authority: string;
}

export interface EntraTokens {
  /** RemoteError when the tenant's keys cannot be had. */
  verify(token: string): Promise<Identity>;
  close(): Promise<void>;
}

/** No algorithm with a shared secret: the public key, which everybody has, would do as one. */
const ALGORITHMS = ["RS256", "PS256", "ES256"];
const jose = later<typeof import("jose")>("jose");
const undici = later<typeof import("undici")>("undici");
const CLOCK_TOLERANCE_SECONDS = 60;
const FETCH_TIMEOUT_MS = 5000;
/** Limits the load of verifying signatures; a flood of tokens has to wait. */
const MOST_AT_ONCE = 16;
const MAX_KEYS_BYTES = 1024 * 1024;
/** Version 1 tokens have another issuer in China. */
const V1_ISSUERS: Readonly<Record<string, string>> = {
  "login.partner.microsoftonline.cn": "https://sts.chinacloudapi.cn",
  "login.chinacloudapi.cn": "https://sts.chinacloudapi.cn",
};

/**
 * Verifies access tokens of one tenant for one application. The tenant's keys are fetched when first needed, and again when a new one is
 * used.
 */
export function createEntraTokens({ tenantId, audience, authority }: EntraOptions): EntraTokens {
  const { createRemoteJWKSet, customFetch, jwtVerify } = jose();
  const agent = createProxyAgent({ headersTimeout: FETCH_TIMEOUT_MS, bodyTimeout: FETCH_TIMEOUT_MS });
  const root = authority.replace(/\/+$/, "");
  const fetchThem: FetchImplementation = (url, { method, signal }) =>
    fetchKeys(url, { method, signal, redirect: "error", dispatcher: agent });
  const keys = createRemoteJWKSet(new URL(`${root}/${tenantId}/discovery/v2.0/keys`), {
    timeoutDuration: FETCH_TIMEOUT_MS,
    [customFetch]: fetchThem,
  });
  const v1Issuer = V1_ISSUERS[new URL(root).hostname] ?? "https://sts.windows.net";
  const expected = {
    issuer: [`${root}/${tenantId}/v2.0`, `${v1Issuer}/${tenantId}/`],
    audience: audienceForms(audience),
    algorithms: ALGORITHMS,
    clockTolerance: CLOCK_TOLERANCE_SECONDS,
    requiredClaims: ["exp", "iat"],
  };
  const atMost = createLimiter(MOST_AT_ONCE);
  return {
    async verify(token) {
      try {
        const { payload } = await atMost(() => jwtVerify(token, keys, expected));
        return isAccessToken(payload, tenantId) ? identify(payload) : { status: "unproved" };
      } catch (error) {
        if (isRefusal(error)) return { status: "unproved" };
        throw new RemoteError("The keys of Entra ID could not be fetched, so the token cannot be checked now.", {
          cause: error,
        });
      }
    },
    close: () => agent.close(),
  };
}

/** true for any problem with the token itself; false if the keys could not be fetched. */
function isRefusal(error: unknown): boolean {
  const { errors } = jose();
  if (error instanceof errors.JWKSTimeout || error instanceof errors.JWKSInvalid) return false;
  // Thrown both for a response without keys and for one that is not 200.
  if (error instanceof errors.JOSEError) return error.code !== "ERR_JOSE_GENERIC";
  return false;
}

/** Entra writes the client id or the URI into tokens, depending on their version; both mean the same application. */
function audienceForms(audience: string): string[] {
  const id = audience.replace(/^api:\/\//, "");
  return /^[0-9a-f-]{36}$/i.test(id) ? [id, `api://${id}`] : [audience];
}

/** An ID token is signed by the same keys for the same client, but does not say to whom it was given. */
function isAccessToken({ tid, azp, appid }: JWTPayload, tenantId: string): boolean {
  return tid === tenantId && (typeof azp === "string" || typeof appid === "string");
}

function identify(payload: JWTPayload): Identity {
  const names = ["preferred_username", "upn", "app_displayname", "azp", "appid"].map((claim) => payload[claim]);
  const name = logLine(names.find((value): value is string => typeof value === "string" && value !== "") ?? "").slice(
    0,
    200,
  );
  const held = (Array.isArray(payload["roles"]) ? payload["roles"] : []).map((role) => String(role).toLowerCase());
  const role = ROLES.findLast((one) => held.includes(`lockstep.${one}`));
  if (role === undefined) return { status: "without-role", name };
  const id = typeof payload["oid"] === "string" ? payload["oid"] : (payload.sub ?? name);
  const principal: Principal = { kind: "entra", id: id.slice(0, 200), name, role };
  return { status: "known", principal };
}

async function fetchKeys(url: string, init: RequestInit): Promise<Response> {
  const response = await undici().fetch(url, init);
  const keys = await readUpTo(response.body ?? [], MAX_KEYS_BYTES);
  if (!keys) throw new Error(`fetch the keys of Entra ID: more than ${MAX_KEYS_BYTES} bytes`);
  return new Response(keys, {
    status: response.status,
    headers: { "content-type": "application/json" },
  });
}
