import { randomUUID } from "node:crypto";
import { jsonReply, type Reply } from "../http-reply.ts";

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

export type EntraCode = keyof typeof REFUSALS;

export function isEntraCode(code: number): code is EntraCode {
  return Object.hasOwn(REFUSALS, code);
}

export const entraCodes: readonly number[] = Object.keys(REFUSALS).map(Number);

/** Thrown inside the token endpoint, turned into an answer at its edge. */
export class EntraError extends Error {
  override readonly name: string = "EntraError";
  readonly code: EntraCode;

  constructor(code: EntraCode, detail = "") {
    super(`AADSTS${code}: ${REFUSALS[code].text.replace("{0}", () => detail)}`);
    this.code = code;
  }
}

export function entraErrorReply(error: EntraError, correlationId: string): Reply {
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
