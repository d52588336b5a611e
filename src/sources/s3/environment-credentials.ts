import { readFile } from "node:fs/promises";
import { RemoteError } from "../../contracts/errors.ts";
import { isJsonObject, parseJsonObject } from "../../lib/json-object.ts";
import { isLoopbackHost } from "../../lib/loopback.ts";
import { createProxyAgent } from "../../lib/proxy-agent.ts";

export interface AwsCredentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  /** Set for temporary credentials of a role, else "". */
  readonly sessionToken: string;
  readonly expiresAtMs: number;
}

/** Reads an environment variable; undefined when it is not set. */
export type ReadVariable = (name: string) => string | undefined;

interface FoundCredentials {
  /** For messages: `the role of this container`. */
  readonly access: string;
  /** Returns valid credentials; those of a role are renewed before they expire. */
  readonly current: () => Promise<AwsCredentials>;
}

const METADATA_TIMEOUT_MS = 1000;
const TIMEOUT_MS = 10_000;
const RENEWED_BEFORE_MS = 5 * 60_000;
const CONTAINER_HOST = "http://169.254.170.2";
/** Hosts besides loopback where a container's role is requested over HTTP: Amazon ECS and EKS. */
const CONTAINER_HOSTS: ReadonlySet<string> = new Set(["169.254.170.2", "169.254.170.23", "[fd00:ec2::23]"]);

/**
 * Returns the keys or role of the environment, in the order in which AWS tools look for them; undefined if there are none.
 * `mayShowTokens`: whether session tokens may be sent to the service. If not, only permanent keys are returned.
 */
export async function findEnvironmentCredentials(
  variable: ReadVariable,
  mayShowTokens: boolean,
): Promise<FoundCredentials | undefined> {
  const text = (name: string): string => variable(name)?.trim() ?? "";
  const [accessKeyId, secretAccessKey] = [text("AWS_ACCESS_KEY_ID"), text("AWS_SECRET_ACCESS_KEY")];
  const sessionToken = text("AWS_SESSION_TOKEN");
  if (accessKeyId && secretAccessKey && (mayShowTokens || !sessionToken)) {
    const keys = { accessKeyId, secretAccessKey, sessionToken, expiresAtMs: Number.POSITIVE_INFINITY };
    return { access: "the key in AWS_ACCESS_KEY_ID", current: async () => keys };
  }
  if (!mayShowTokens) return undefined;
  if (text("AWS_WEB_IDENTITY_TOKEN_FILE") && text("AWS_ROLE_ARN")) {
    return { access: `the role ${text("AWS_ROLE_ARN")}`, current: cachedUntilExpiry(() => assumeWebIdentity(text)) };
  }
  if (text("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI") || text("AWS_CONTAINER_CREDENTIALS_FULL_URI")) {
    return { access: "the role of this container", current: cachedUntilExpiry(() => requestFromContainer(text)) };
  }
  if (text("AWS_EC2_METADATA_DISABLED").toLowerCase() === "true") return undefined;
  const current = cachedUntilExpiry(() =>
    requestFromInstance(text("AWS_EC2_METADATA_SERVICE_ENDPOINT") || "http://169.254.169.254"),
  );
  return await current().then(
    () => ({ access: "the role of this machine", current }),
    () => undefined,
  );
}

function cachedUntilExpiry(request: () => Promise<AwsCredentials>): () => Promise<AwsCredentials> {
  let pending: Promise<AwsCredentials> | undefined;
  return async () => {
    const known = await pending?.catch(() => undefined);
    if (known && known.expiresAtMs - Date.now() > RENEWED_BEFORE_MS) return known;
    pending = request();
    return await pending;
  };
}

type Text = (name: string) => string;

/** Exchanges a token file (Kubernetes IRSA and others) for credentials at the Security Token Service. */
async function assumeWebIdentity(text: Text): Promise<AwsCredentials> {
  const action = "get credentials for the role in AWS_ROLE_ARN";
  const token = await readFile(text("AWS_WEB_IDENTITY_TOKEN_FILE"), "utf8").catch(() => {
    throw new RemoteError(`${action}: the file that AWS_WEB_IDENTITY_TOKEN_FILE names cannot be read`);
  });
  const region = text("AWS_REGION") || text("AWS_DEFAULT_REGION");
  const host = `sts${region && `.${region}`}.amazonaws.com${region.startsWith("cn-") ? ".cn" : ""}`;
  const { origin, pathname } = new URL(text("AWS_ENDPOINT_URL_STS") || `https://${host}/`);
  const form = new URLSearchParams({
    Action: "AssumeRoleWithWebIdentity",
    Version: "2011-06-15",
    RoleArn: text("AWS_ROLE_ARN"),
    RoleSessionName: text("AWS_ROLE_SESSION_NAME") || "lockstep",
    WebIdentityToken: token.trim(),
  });
  const agent = createProxyAgent({ headersTimeout: TIMEOUT_MS, bodyTimeout: TIMEOUT_MS, connectTimeout: TIMEOUT_MS });
  try {
    const headers = { "content-type": "application/x-www-form-urlencoded", accept: "application/json" };
    const options = { origin, path: pathname, method: "POST", headers, body: form.toString() } as const;
    const { statusCode, body } = await agent.request(options);
    const answer = parseJsonObject(await body.text());
    const response = answer?.["AssumeRoleWithWebIdentityResponse"];
    const result = isJsonObject(response) ? response["AssumeRoleWithWebIdentityResult"] : undefined;
    return readCredentials(isJsonObject(result) ? result["Credentials"] : undefined, action, statusCode);
  } catch (error) {
    throw toRemoteError(error, action);
  } finally {
    await agent.destroy();
  }
}

/** Amazon ECS, EKS Pod Identity and compatible services. */
async function requestFromContainer(text: Text): Promise<AwsCredentials> {
  const action = "get the credentials of this container's role";
  const relative = text("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI");
  const url = URL.parse(relative ? `${CONTAINER_HOST}${relative}` : text("AWS_CONTAINER_CREDENTIALS_FULL_URI"));
  const isAllowed =
    url?.protocol === "https:" || (url && (isLoopbackHost(url.hostname) || CONTAINER_HOSTS.has(url.hostname)));
  if (!isAllowed) {
    throw new RemoteError(`${action}: AWS_CONTAINER_CREDENTIALS_FULL_URI must be https, or an address of this machine`);
  }
  try {
    const file = text("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE");
    const token = file ? (await readFile(file, "utf8")).trim() : text("AWS_CONTAINER_AUTHORIZATION_TOKEN");
    return readCredentials(await fetchJson(url, token ? { authorization: token } : {}, TIMEOUT_MS), action);
  } catch (error) {
    throw toRemoteError(error, action);
  }
}

/** Requests the role of an EC2 instance; fails on other machines. */
async function requestFromInstance(endpoint: string): Promise<AwsCredentials> {
  const action = "get the credentials of this machine's role";
  const at = (path: string): URL => new URL(`/latest/${path}`, endpoint);
  const roles = "meta-data/iam/security-credentials/";
  const ttl = { "x-aws-ec2-metadata-token-ttl-seconds": "21600" };
  const options = { redirect: "error", signal: AbortSignal.timeout(METADATA_TIMEOUT_MS) } as const;
  const tokenResponse = await fetch(at("api/token"), { method: "PUT", headers: ttl, ...options });
  if (!tokenResponse.ok) throw new RemoteError(`${action}: its metadata service answered ${tokenResponse.status}`);
  const headers = { "x-aws-ec2-metadata-token": await tokenResponse.text() };
  const rolesResponse = await fetch(at(roles), { headers, ...options });
  if (!rolesResponse.ok) throw new RemoteError(`${action}: its metadata service answered ${rolesResponse.status}`);
  const role = (await rolesResponse.text()).trim().split("\n")[0] ?? "";
  return readCredentials(
    await fetchJson(at(`${roles}${encodeURIComponent(role)}`), headers, METADATA_TIMEOUT_MS),
    action,
  );
}

/** Uses no proxy: these services are local. */
async function fetchJson(url: URL, headers: Record<string, string>, timeoutMs: number): Promise<unknown> {
  const response = await fetch(url, { headers, redirect: "error", signal: AbortSignal.timeout(timeoutMs) });
  return response.ok ? parseJsonObject(await response.text()) : undefined;
}

function readCredentials(value: unknown, action: string, status?: number): AwsCredentials {
  const fields = isJsonObject(value) ? value : {};
  const text = (name: string): string => (typeof fields[name] === "string" ? fields[name] : "");
  const { expiration } = { expiration: fields["Expiration"] };
  // STS returns seconds, the others ISO dates.
  const expiresAtMs = typeof expiration === "number" ? expiration * 1000 : Date.parse(text("Expiration"));
  const sessionToken = text("SessionToken") || text("Token");
  const credentials = { accessKeyId: text("AccessKeyId"), secretAccessKey: text("SecretAccessKey"), sessionToken };
  if (!credentials.accessKeyId || !credentials.secretAccessKey) {
    throw new RemoteError(`${action}: the response has none${status ? ` (${status})` : ""}`);
  }
  return { ...credentials, expiresAtMs: Number.isNaN(expiresAtMs) ? Number.POSITIVE_INFINITY : expiresAtMs };
}

/** Drops the network error, which may contain a URL with a token. */
function toRemoteError(error: unknown, action: string): RemoteError {
  return error instanceof RemoteError ? error : new RemoteError(`${action}: no answer`);
}
