import { constants, createPublicKey, randomUUID, verify, X509Certificate } from "node:crypto";
import type { ClientCertificate } from "../certificates.ts";
import { type Asked, jsonReply, type Reply } from "../http-reply.ts";
import type { SandboxSettings } from "../sandbox-settings.ts";
import type { AccessTokens } from "./access-tokens.ts";
import type { AppAccess } from "./app-access.ts";
import { EntraError, entraErrorReply, isEntraCode } from "./entra-error.ts";
import { type DecodedJwt, decodeJwt } from "./jwt.ts";

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
export function answerSignIn(asked: Asked, signIn: SignIn): Reply | undefined {
  const [, tenantId, route] = ROUTE.exec(asked.rawPath) ?? [];
  if (tenantId === undefined || route === undefined) return undefined;
  const form = new URLSearchParams(Buffer.from(asked.body).toString());
  try {
    if (tenantId.toLowerCase() !== signIn.registration.tenantId) throw new EntraError(90002, tenantId);
    if (route.toLowerCase().endsWith("keys")) return jsonReply(200, { keys: [signIn.tokens.publicJwk] });
    if (!route.toLowerCase().endsWith("token")) return discovery(asked.origin, tenantId);
    if (asked.method !== "POST") throw new EntraError(70003, "");
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
