import {
  constants,
  createPublicKey,
  generateKeyPair,
  type KeyObject,
  randomUUID,
  sign,
  verify,
  X509Certificate,
} from "node:crypto";
import { promisify } from "node:util";
import type { ClientCertificate } from "../certificates.ts";
import { jsonReply, type Reply, type SandboxRequest } from "../http-reply.ts";
import type { SandboxSettings } from "../sandbox-state.ts";

/** The one app registration of the sandbox, and the tenant it lives in. */
interface AppRegistration {
  readonly tenantId: string;
  readonly clientId: string;
  readonly certificate: ClientCertificate;
  /** Entra gives out tokens for it, too; the REST API of SharePoint refuses them. */
  readonly clientSecret: string;
}

export interface SignIn {
  readonly registration: AppRegistration;
  readonly tokens: AccessTokens;
  readonly settings: SandboxSettings;
  readonly access: AppAccess;
  /** Every spelling of the sandbox's own address: 127.0.0.1, localhost, [::1]. */
  readonly origins: readonly string[];
}

export const GRAPH = "https://graph.microsoft.com";
const ASSERTION_TYPE = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";
const ROUTE =
  /^\/([^/]+)(?:\/v2\.0)?\/(oauth2\/v2\.0\/token|\.well-known\/openid-configuration|discovery\/v2\.0\/keys)$/i;

/** undefined when the path is none of the sign-in's. */
export function answerSignIn(request: SandboxRequest, signIn: SignIn): Reply | undefined {
  const [, tenantId, route] = ROUTE.exec(request.rawPath) ?? [];
  if (tenantId === undefined || route === undefined) return undefined;
  const form = new URLSearchParams(Buffer.from(request.body).toString());
  try {
    if (tenantId.toLowerCase() !== signIn.registration.tenantId) throw new EntraError(90002, tenantId);
    if (route.toLowerCase().endsWith("keys")) return jsonReply(200, { keys: [signIn.tokens.publicJwk] });
    if (!route.toLowerCase().endsWith("token")) return discovery(request.origin, tenantId);
    if (request.method !== "POST") throw new EntraError(70003, "");
    return issueToken(form, signIn);
  } catch (error) {
    if (error instanceof EntraError) return entraErrorReply(error, form.get("client-request-id") ?? randomUUID());
    throw error;
  }
}

function issueToken(form: URLSearchParams, signIn: SignIn): Reply {
  const { registration, settings } = signIn;
  if (form.get("grant_type") !== "client_credentials") throw new EntraError(70003, form.get("grant_type") ?? "");
  const clientId = form.get("client_id") ?? "";
  if (clientId.toLowerCase() !== registration.clientId) throw new EntraError(700016, clientId);
  const audience = resolveResource(form.get("scope") ?? "", signIn.origins);
  const appIdAcr = verifyCredential(form, signIn);
  if (isEntraCode(settings.signInError)) throw new EntraError(settings.signInError);
  const lifetimeSeconds = settings.tokenLifetimeSeconds;
  return jsonReply(
    200,
    {
      token_type: "Bearer",
      expires_in: lifetimeSeconds,
      ext_expires_in: lifetimeSeconds,
      access_token: tokenFor(audience, signIn, appIdAcr),
    },
    { "Cache-Control": "no-store", Pragma: "no-cache" },
  );
}

/** A token for the app with what it is allowed now. Graph and SharePoint are asked for separately, and so is consent. */
export function tokenFor(audience: string, { registration, settings, tokens }: SignIn, appIdAcr: "1" | "2"): string {
  return tokens.issue({
    audience,
    clientId: registration.clientId,
    tenantId: registration.tenantId,
    roles: audience === GRAPH ? settings.graphRoles : settings.roles,
    lifetimeSeconds: settings.tokenLifetimeSeconds,
    appIdAcr,
  });
}

/** How the app proved who it is. */
function verifyCredential(form: URLSearchParams, { registration, origins, access }: SignIn): "1" | "2" {
  const assertion = form.get("client_assertion");
  if (assertion === null || form.get("client_assertion_type") !== ASSERTION_TYPE) {
    if (form.get("client_secret") === registration.clientSecret) return "1";
    throw form.has("client_secret") ? new EntraError(7000215, registration.clientId) : new EntraError(7000218);
  }
  verifyClientAssertion(assertion, {
    certificate: registration.certificate,
    clientId: registration.clientId,
    audiences: acceptedAudiences(registration.tenantId, origins),
  });
  if (access.certificateExpired || new X509Certificate(registration.certificate.pem).validToDate < new Date())
    throw new EntraError(700027, "expired on application. [Reason - The key used is expired.]");
  return "2";
}

function resolveResource(scope: string, origins: readonly string[]): string {
  if (!scope.endsWith("/.default")) throw new EntraError(1002012, scope);
  const resource = scope.slice(0, -"/.default".length);
  const known = [...origins, GRAPH].includes(resource.toLowerCase().replace(/\/$/, ""));
  if (!known) throw new EntraError(500011, resource);
  return resource.toLowerCase().replace(/\/$/, "");
}

/** An assertion may name the token endpoint or the issuer. */
function acceptedAudiences(tenantId: string, origins: readonly string[]): string[] {
  return [...origins, "https://login.microsoftonline.com"].flatMap((origin) => [
    `${origin}/${tenantId}/oauth2/v2.0/token`,
    `${origin}/${tenantId}/v2.0`,
    `${origin}/${tenantId}/`,
  ]);
}

function discovery(origin: string, tenantId: string): Reply {
  const base = `${origin}/${tenantId}`;
  return jsonReply(200, {
    token_endpoint: `${base}/oauth2/v2.0/token`,
    token_endpoint_auth_methods_supported: ["private_key_jwt"],
    authorization_endpoint: `${base}/oauth2/v2.0/authorize`,
    end_session_endpoint: `${base}/oauth2/v2.0/logout`,
    jwks_uri: `${base}/discovery/v2.0/keys`,
    issuer: `${base}/v2.0`,
    response_types_supported: ["token"],
    subject_types_supported: ["pairwise"],
    id_token_signing_alg_values_supported: ["RS256"],
  });
}

const CLOCK_SKEW_SECONDS = 300;

/**
 * Throws EntraError unless the assertion is signed by the registered certificate, made for this endpoint by this app,
 * and within its time. An assertion may be used again until it expires: clients keep one and do.
 */
function verifyClientAssertion(
  assertion: string,
  expected: { certificate: ClientCertificate; clientId: string; audiences: readonly string[] },
): void {
  const jwt = decodeJwt(assertion);
  if (!jwt) throw new EntraError(50027);
  verifySignature(jwt, expected.certificate);
  const { aud, iss, sub, jti } = jwt.claims;
  if (typeof aud !== "string" || !expected.audiences.includes(aud.toLowerCase())) throw new EntraError(700023);
  if (iss !== expected.clientId || sub !== expected.clientId) throw new EntraError(700021);
  if (typeof jti !== "string" || jti === "") throw new EntraError(50027);
  verifyTimes(jwt.claims);
}

function verifySignature(jwt: DecodedJwt, certificate: ClientCertificate): void {
  const usesSha256 = jwt.header["alg"] === "PS256";
  if (!usesSha256 && jwt.header["alg"] !== "RS256") throw new EntraError(50027);
  const named = usesSha256 ? jwt.header["x5t#S256"] : jwt.header["x5t"];
  const registered = usesSha256 ? certificate.thumbprintSha256 : certificate.thumbprint;
  if (typeof named !== "string" || Buffer.from(named, "base64url").toString("hex").toUpperCase() !== registered) {
    throw new EntraError(700027, "not registered on application. [Reason - The key was not found.]");
  }
  const key = createPublicKey(certificate.pem.slice(certificate.pem.indexOf("-----BEGIN CERTIFICATE")));
  const options = usesSha256 ? { key, padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: 32 } : key;
  if (!verify("sha256", Buffer.from(jwt.signed), options, jwt.signature)) {
    throw new EntraError(
      700027,
      "not valid. [Reason - The provided signature value did not match the expected signature value.]",
    );
  }
}

function verifyTimes({ exp, nbf }: Readonly<Record<string, unknown>>): void {
  const nowSeconds = Date.now() / 1000;
  const tooLate = typeof exp !== "number" || exp + CLOCK_SKEW_SECONDS < nowSeconds;
  const tooEarly = nbf !== undefined && (typeof nbf !== "number" || nbf - CLOCK_SKEW_SECONDS > nowSeconds);
  if (tooLate || tooEarly) {
    throw new EntraError(700024, `Current time: ${new Date().toISOString()}, not before: ${nbf}, expires: ${exp}.`);
  }
}

/** What an administrator may grant an app on one site. Each of them includes reading. */
export const SITE_ROLES = ["read", "write", "owner", "fullcontrol"] as const;
type SiteRole = (typeof SITE_ROLES)[number];

const READ_EVERY_SITE = ["Sites.Read.All", "Sites.ReadWrite.All", "Sites.Manage.All", "Sites.FullControl.All"];
const READ_GRANTED_SITES = "Sites.Selected";

/**
 * What the app may see. The permission in the token is what was consented to; with `Sites.Selected` that alone opens
 * nothing, and every site needs a grant of its own, which counts from the moment it is given.
 */
export class AppAccess {
  #grants = new Map<string, { site: string; role: SiteRole }>();
  /** Whether the certificate of the registration counts as expired. */
  certificateExpired = false;

  /** `sitePath` is server-relative, "" for the root site; compared without case. */
  grant(sitePath: string, role: SiteRole): void {
    this.#grants.set(sitePath.toLowerCase(), { site: sitePath || "/", role });
  }

  /** false when there was nothing to revoke. */
  revoke(sitePath: string): boolean {
    return this.#grants.delete(sitePath.toLowerCase());
  }

  grants(): { site: string; role: SiteRole }[] {
    return [...this.#grants.values()];
  }

  mayRead(sitePath: string, roles: readonly string[]): boolean {
    if (roles.some((role) => READ_EVERY_SITE.includes(role))) return true;
    return roles.includes(READ_GRANTED_SITES) && this.#grants.has(sitePath.toLowerCase());
  }

  reset(): void {
    this.#grants.clear();
    this.certificateExpired = false;
  }
}

interface TokenRequest {
  readonly audience: string;
  readonly clientId: string;
  readonly tenantId: string;
  readonly roles: readonly string[];
  readonly lifetimeSeconds: number;
  /** How the app proved who it is: "1" by a secret, "2" by a certificate. SharePoint accepts only the latter. */
  readonly appIdAcr: "1" | "2";
}

type TokenVerdict =
  | { readonly ok: true; readonly audience: string; readonly appIdAcr: string; readonly roles: readonly string[] }
  | { readonly ok: false; readonly reason: "malformed" | "signature" | "expired" };

let signingKey: Promise<KeyObject> | undefined;

async function makeSigningKey(): Promise<KeyObject> {
  return (await promisify(generateKeyPair)("rsa", { modulusLength: 2048 })).privateKey;
}

/**
 * Issues and checks the access tokens of one tenant, under a key id of its own. The tenants of a process share the key: to make one
 * takes longer than to start the sandbox.
 */
export class AccessTokens {
  readonly #privateKey: KeyObject;
  readonly #publicKey: KeyObject;
  readonly keyId: string;
  #revoked = new Set<string>();
  #issued: string[] = [];

  static async create(): Promise<AccessTokens> {
    signingKey ??= makeSigningKey();
    return new AccessTokens(await signingKey);
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
    const { alg, kid } = jwt.header;
    const isOurs = alg === "RS256" && kid === this.keyId;
    if (!isOurs || !verify("sha256", Buffer.from(jwt.signed), this.#publicKey, jwt.signature)) {
      return { ok: false, reason: "signature" };
    }
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

/** A JSON Web Token taken apart, nothing about it verified. */
interface DecodedJwt {
  readonly header: Readonly<Record<string, unknown>>;
  readonly claims: Readonly<Record<string, unknown>>;
  /** What the signature is over. */
  readonly signed: string;
  readonly signature: Uint8Array;
}

/** undefined when the text has not the form of a token. */
function decodeJwt(token: string): DecodedJwt | undefined {
  const [header, claims, signature, ...rest] = token.split(".");
  if (header === undefined || claims === undefined || signature === undefined || rest.length > 0) return undefined;
  const [decodedHeader, decodedClaims] = [decodeObject(header), decodeObject(claims)];
  if (!decodedHeader || !decodedClaims) return undefined;
  return {
    header: decodedHeader,
    claims: decodedClaims,
    signed: `${header}.${claims}`,
    signature: Buffer.from(signature, "base64url"),
  };
}

function decodeObject(part: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(Buffer.from(part, "base64url").toString());
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

function encodeJwtPart(value: unknown): string {
  return Buffer.from(JSON.stringify(value)).toString("base64url");
}

interface Refusal {
  readonly status: number;
  readonly error: string;
  readonly text: string;
}

/** The AADSTS errors a client of ours can meet, with the status and OAuth error that go with each. */
const REFUSALS = {
  50027: { status: 401, error: "invalid_client", text: "JWT token is invalid or malformed." },
  70003: {
    status: 400,
    error: "unsupported_grant_type",
    text: "The app requested an unsupported grant type '{0}'.",
  },
  90002: {
    status: 400,
    error: "invalid_request",
    text: "Tenant '{0}' not found. Check to make sure you have the correct tenant ID and are signing into the correct cloud.",
  },
  90033: {
    status: 503,
    error: "temporarily_unavailable",
    text: "A transient error has occurred. Please try again.",
  },
  90055: {
    status: 429,
    error: "temporarily_unavailable",
    text: "The tenant is throttled because of too many requests. Please try again later.",
  },
  500011: {
    status: 400,
    error: "invalid_resource",
    text: "The resource principal named {0} was not found in the tenant named Sandbox.",
  },
  700016: {
    status: 400,
    error: "unauthorized_client",
    text: "Application with identifier '{0}' was not found in the directory 'Sandbox'.",
  },
  700021: {
    status: 401,
    error: "invalid_client",
    text: "Client assertion application identifier doesn't match 'client_id' parameter.",
  },
  700023: {
    status: 401,
    error: "invalid_client",
    text: "Client assertion audience claim does not match Realm issuer.",
  },
  700024: {
    status: 401,
    error: "invalid_client",
    text: "Client assertion is not within its valid time range. {0}",
  },
  700027: {
    status: 401,
    error: "invalid_client",
    text: "The certificate with identifier used to sign the client assertion is {0}",
  },
  1002012: {
    status: 400,
    error: "invalid_scope",
    text: "The provided value for scope {0} is not valid. Client credential flows must have a scope value with /.default suffixed to the resource identifier (application ID URI).",
  },
  7000215: {
    status: 401,
    error: "invalid_client",
    text: "Invalid client secret provided. Ensure the secret being sent in the request is the client secret value, not the client secret ID, for a secret added to app '{0}'.",
  },
  7000218: {
    status: 401,
    error: "invalid_client",
    text: "The request body must contain the following parameter: 'client_assertion' or 'client_secret'.",
  },
  7000222: {
    status: 401,
    error: "invalid_client",
    text: "The provided client secret keys for the app are expired. Visit the Azure portal to create new keys for your app, or consider using certificate credentials for added security.",
  },
} as const satisfies Record<number, Refusal>;

type EntraCode = keyof typeof REFUSALS;

export function isEntraCode(code: number): code is EntraCode {
  return Object.hasOwn(REFUSALS, code);
}

export const entraCodes: readonly number[] = Object.keys(REFUSALS).map(Number);

/** Thrown inside the token endpoint, turned into an answer at its edge. */
class EntraError extends Error {
  override readonly name: string = "EntraError";
  readonly code: EntraCode;

  constructor(code: EntraCode, detail = "") {
    super(`AADSTS${code}: ${REFUSALS[code].text.replace("{0}", () => detail)}`);
    this.code = code;
  }
}

function entraErrorReply(error: EntraError, correlationId: string): Reply {
  const { status, error: oauthError } = REFUSALS[error.code];
  const traceId = randomUUID();
  const timestamp = `${new Date().toISOString().slice(0, 19).replace("T", " ")}Z`;
  return jsonReply(status, {
    error: oauthError,
    error_description: `${error.message} Trace ID: ${traceId} Correlation ID: ${correlationId} Timestamp: ${timestamp}`,
    error_codes: [error.code],
    timestamp,
    trace_id: traceId,
    correlation_id: correlationId,
    error_uri: `https://login.microsoftonline.com/error?code=${error.code}`,
  });
}
