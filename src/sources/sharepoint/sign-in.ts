import { X509Certificate } from "node:crypto";
import type { AuthenticationResult, ConfidentialClientApplication, INetworkModule } from "@azure/msal-node";
import { RemoteError } from "../../contracts/errors.ts";
import { isJsonObject, parseJsonObject } from "../../lib/json-object.ts";
import { createPace, type OnWait } from "../../lib/pace.ts";
import {
  firstValue,
  type HttpTransport,
  type RetryPolicy,
  requestedWaitMs,
  TransientFailure,
  throwIfCancelled,
  unlessCancelled,
  withRetries,
} from "./http.ts";

/** The certificate of the app registration. */
export interface ClientCertificate {
  readonly certificatePem: string;
  /** RSA, not encrypted. */
  readonly privateKeyPem: string;
}

interface SignInOptions {
  readonly tenantId: string;
  readonly clientId: string;
  readonly certificate: ClientCertificate;
  /** Replaces Microsoft's sign-in address; plain http is fine for loopback. */
  readonly tokenEndpoint?: string | undefined;
  readonly transport: HttpTransport;
  readonly policy: RetryPolicy;
}

export interface SignIn {
  /** Returns a token for the resource, shared by concurrent callers. `rejected`: a token that the server refused and that must not be returned again, or "". */
  token(origin: string, rejected: string, call: { signal: AbortSignal; onWait: OnWait }): Promise<string>;
  /** Returns the last token for the resource, or "". */
  cachedToken(origin: string): string;
  close(): void;
}

interface Token {
  readonly text: string;
  readonly renewAtMs: number;
}

/** Tokens are renewed after nine tenths of their lifetime, so that none expires during a request. */
const USABLE_SHARE = 0.9;

export function createSignIn(options: SignInOptions): SignIn {
  const tokens = new Map<string, Token>();
  const pending = new Map<string, { readonly promise: Promise<Token>; readonly listeners: Set<OnWait> }>();
  const closing = new AbortController();

  function acquire(origin: string): { readonly promise: Promise<Token>; readonly listeners: Set<OnWait> } {
    const listeners = new Set<OnWait>();
    const onWait: OnWait = (reason, ms) => {
      for (const listener of listeners) listener(reason, ms);
    };
    const promise = requestToken(options, origin, { signal: closing.signal, onWait })
      .then((token) => {
        tokens.set(origin, token);
        return token;
      })
      .finally(() => pending.delete(origin));
    // If all callers were cancelled, the rejection is unhandled, which would end the process.
    promise.catch(() => undefined);
    return { promise, listeners };
  }

  return {
    async token(origin, rejected, call) {
      const known = tokens.get(origin);
      if (known && known.text !== rejected && performance.now() < known.renewAtMs) return known.text;
      const request = pending.get(origin) ?? acquire(origin);
      pending.set(origin, request);
      request.listeners.add(call.onWait);
      try {
        return (await unlessCancelled(request.promise, call.signal)).text;
      } finally {
        request.listeners.delete(call.onWait);
      }
    },
    cachedToken: (origin) => tokens.get(origin)?.text ?? "",
    close: () => closing.abort(),
  };
}

/** Uses one msal client per token: a client remembers throttling as long as it lives, and we do our own waiting. */
async function requestToken(
  options: SignInOptions,
  origin: string,
  call: { readonly signal: AbortSignal; readonly onWait: OnWait },
): Promise<Token> {
  const network = createSignInNetwork(options.transport, { policy: options.policy, ...call });
  let result: AuthenticationResult | null;
  try {
    const client = await openClient(options, network);
    result = await client.acquireTokenByClientCredential({ scopes: [`${origin}/.default`] });
  } catch (error) {
    throwIfCancelled(call.signal);
    throw signInError(options, network, error);
  }
  if (!result?.accessToken) throw signInError(options, network, new Error("the answer contains no token"));
  const lifetimeMs = (result.expiresOn?.getTime() ?? Date.now()) - Date.now();
  return { text: result.accessToken, renewAtMs: performance.now() + lifetimeMs * USABLE_SHARE };
}

async function openClient(options: SignInOptions, network: INetworkModule): Promise<ConfidentialClientApplication> {
  // Loaded on the first sign-in only.
  const msal = await import("@azure/msal-node");
  const { tenantId, clientId, certificate, tokenEndpoint } = options;
  const authority = `https://login.microsoftonline.com/${tenantId}`;
  return new msal.ConfidentialClientApplication({
    auth: {
      clientId,
      authority,
      clientCertificate: {
        thumbprintSha256: new X509Certificate(certificate.certificatePem).fingerprint256.replaceAll(":", ""),
        privateKey: certificate.privateKeyPem,
      },
      ...(tokenEndpoint ? { authorityMetadata: metadataFor(authority, tokenEndpoint) } : {}),
    },
    system: { networkClient: network },
  });
}

/** msal refuses an authority over plain http, but not a token endpoint that the authority's own description names. */
function metadataFor(authority: string, tokenEndpoint: string): string {
  return JSON.stringify({
    token_endpoint: tokenEndpoint,
    authorization_endpoint: `${authority}/oauth2/v2.0/authorize`,
    issuer: `${authority}/v2.0`,
    jwks_uri: `${authority}/discovery/v2.0/keys`,
    end_session_endpoint: `${authority}/oauth2/v2.0/logout`,
  });
}

/** Entra refused the sign-in, or could not be reached. */
export class SignInError extends RemoteError {
  /** AADSTS codes; empty when no answer came. */
  readonly codes: readonly number[];
  /** The reason, without our advice. */
  readonly reason: string;
  constructor(
    message: string,
    details: { readonly codes: readonly number[]; readonly reason: string },
    options?: ErrorOptions,
  ) {
    super(message, options);
    this.codes = details.codes;
    this.reason = details.reason;
  }
}

function signInError(options: SignInOptions, trace: SignInTrace, error: unknown): SignInError {
  const { description, codes } = trace.lastError();
  const failure = trace.failure();
  const reason = firstLineOf(
    description || failure?.message || (error instanceof Error ? error.message : String(error)),
  );
  const advice = adviseOnSignIn(codes, reason);
  return new SignInError(
    `sign in to tenant ${options.tenantId} as app ${options.clientId}: ${reason}${advice ? ` ${advice}` : ""}`,
    { codes, reason },
    { cause: failure },
  );
}

function firstLineOf(text: string): string {
  return (text.split(/[\r\n]/, 1)[0] ?? "").trim();
}

type NetworkResponse = Awaited<ReturnType<INetworkModule["sendPostRequestAsync"]>>;

/** What msal hides behind its own errors: the last error of the sign-in server, or why there was no response. */
interface SignInTrace {
  readonly lastError: () => { readonly description: string; readonly codes: readonly number[] };
  readonly failure: () => Error | undefined;
}

/** Entra's "try again" that comes as an ordinary error: transient fault, throttled. */
const TRANSIENT_CODES: ReadonlySet<number> = new Set([90033, 90055]);

/**
 * msal's way to the network, with our proxies, timeouts and retries. msal sees final answers only: it takes an
 * empty 503 for a success without a token and refuses on its own to ask again after a 429.
 */
function createSignInNetwork(
  transport: HttpTransport,
  context: { readonly policy: RetryPolicy; readonly signal: AbortSignal; readonly onWait: OnWait },
): INetworkModule & SignInTrace {
  const pace = createPace({ concurrency: 1, patienceMs: context.policy.maxWaitMs });
  let failure: Error | undefined;
  let lastBody: Record<string, unknown> = {};

  async function send(
    method: "GET" | "POST",
    url: string,
    options: { readonly headers?: Record<string, string>; readonly body?: string } | undefined,
  ): Promise<NetworkResponse> {
    const request = { method, url, headers: options?.headers ?? {}, ...(options?.body ? { body: options.body } : {}) };
    try {
      return await withRetries({ ...context, pace }, async (slot) => {
        const response = await transport.send(request, context.signal);
        const body = parseBody(await transport.readText(response, context.signal), response.status);
        lastBody = body;
        throwIfTransient(response.status, body, requestedWaitMs(response.headers));
        slot.release();
        return { status: response.status, body, headers: flatten(response.headers) };
      });
    } catch (error) {
      failure = error instanceof Error ? error : new RemoteError(String(error));
      throw error;
    }
  }

  return {
    // msal's interface promises its caller whatever type it asks for; the wire cannot.
    sendGetRequestAsync: (url, options) => send("GET", url, options) as Promise<never>,
    sendPostRequestAsync: (url, options) => send("POST", url, options) as Promise<never>,
    failure: () => failure,
    lastError: () => ({
      description: typeof lastBody["error_description"] === "string" ? lastBody["error_description"] : "",
      codes: errorCodes(lastBody),
    }),
  };
}

function parseBody(text: string, status: number): Record<string, unknown> {
  const value = parseJsonObject(text);
  if (value) return value;
  throw new TransientFailure(new RemoteError(`the sign-in server answered ${status} without valid JSON`));
}

function throwIfTransient(status: number, body: Record<string, unknown>, retryAfterMs: number | undefined): void {
  const busy = status === 408 || status === 429 || status >= 500;
  if (!busy && !errorCodes(body).some((code) => TRANSIENT_CODES.has(code))) return;
  const error = new RemoteError(`the sign-in server answered ${status}`);
  throw new TransientFailure(error, { throttled: status === 429 || status === 503, retryAfterMs });
}

function errorCodes(body: Record<string, unknown>): readonly number[] {
  const codes: unknown = body["error_codes"];
  return Array.isArray(codes) ? codes.filter((code) => typeof code === "number") : [];
}

function flatten(headers: Readonly<Record<string, string | string[] | undefined>>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, firstValue(value)]));
}

/** What to do when Entra refuses a sign-in, by AADSTS code, and who can do it. */
const ADVICE: Readonly<Record<number, string>> = {
  700027:
    "Upload this certificate to the app registration (Certificates & secrets), or configure the one that is registered there; an owner of the registration can.",
  50027: "Check the certificate: its private key does not sign as the app registration expects.",
  700021: "Check CRAWLER_CLIENT_ID: the sign-in was made out for another app.",
  700023: "Check CRAWLER_TENANT_ID and CRAWLER_TOKEN_ENDPOINT: they belong to different tenants.",
  700016:
    "Check CRAWLER_CLIENT_ID and CRAWLER_TENANT_ID; if both are right, an administrator of that tenant has to consent to the app first.",
  90002: "Check CRAWLER_TENANT_ID: the tenant's id or domain, from the overview of the app registration.",
  700024: "Check the clock of this machine: the sign-in is valid for a few minutes only.",
  500011:
    "Check the host name in 'site_url'; if it is right, the tenant has no SharePoint under that name, or CRAWLER_TENANT_ID is another tenant's.",
  1002012: "Check 'site_url': the address of the site has to begin with the tenant's own host.",
  7000215:
    "Use a certificate: SharePoint accepts no client secret, so lockstep never sends one; check CRAWLER_TOKEN_ENDPOINT.",
  7000218: "Use a certificate: set CRAWLER_CLIENT_CERTIFICATE_PFX_FILE or CRAWLER_CLIENT_CERTIFICATE_PEM_FILE.",
  7000222: "Renew the credential of the app registration, as a certificate; an owner of the registration can.",
  90033: "Wait and try again: the sign-in service has a passing fault.",
  90055: "Wait and try again: the tenant's sign-ins are being throttled.",
  53003: "Ask an Entra administrator: a conditional access policy keeps this app out.",
  7000112: "Ask an Entra administrator to enable the app: it is disabled in the tenant.",
};

const EXPIRED =
  "The certificate has expired: make a new one, upload it to the app registration (Certificates & secrets), and configure it here; an owner of the registration can.";

/** Returns "" when none of the codes is known. */
export function adviseOnSignIn(codes: readonly number[], reason: string): string {
  if (codes.includes(700027) && /\bexpired\b/i.test(reason)) return EXPIRED;
  return codes.map((code) => ADVICE[code]).find((text) => text !== undefined) ?? "";
}

/** What an access token says about the app. For advice only: tokens are the server's to read, and it alone decides. */
interface TokenClaims {
  /** The permissions an administrator consented to. */
  readonly roles: readonly string[];
  /** How the app proved who it is: "1" by a secret, "2" by a certificate; "" when it does not tell. */
  readonly proof: string;
}

/** Returns undefined when the token cannot be decoded; tokens need not be readable for clients. */
export function readTokenClaims(token: string): TokenClaims | undefined {
  try {
    const claims: unknown = JSON.parse(Buffer.from(token.split(".")[1] ?? "", "base64url").toString("utf8"));
    if (!isJsonObject(claims)) return undefined;
    const { roles, appidacr } = claims;
    return {
      roles: Array.isArray(roles) ? roles.map(String) : [],
      proof: typeof appidacr === "string" ? appidacr : "",
    };
  } catch {
    return undefined;
  }
}
