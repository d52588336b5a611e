import { readFile } from "node:fs/promises";
import { RemoteError } from "../../contracts/errors.ts";
import { isJsonObject, parseJsonObject } from "../../lib/json-object.ts";
import { isLoopbackHost } from "../../lib/loopback.ts";
import { createProxyAgent } from "../../lib/proxy-agent.ts";

export interface AwsCredentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  /** Of a role; "" for keys of their own. */
  readonly sessionToken: string;
  readonly expiresAtMs: number;
}

/** Reads an environment variable; undefined when it is not set. */
export type ReadVariable = (name: string) => string | undefined;

interface FoundCredentials {
  /** For people: `the role of this container`. */
  readonly access: string;
  /** As they are now: those of a role are asked for again before they end. */
  readonly current: () => Promise<AwsCredentials>;
}

const METADATA_TIMEOUT_MS = 1000;
const TIMEOUT_MS = 10_000;
const RENEWED_BEFORE_MS = 5 * 60_000;
const CONTAINER_HOST = "http://169.254.170.2";
/** Besides loopback, where a container's role may be asked for without https: Amazon ECS and EKS. */
const CONTAINER_HOSTS: ReadonlySet<string> = new Set(["169.254.170.2", "169.254.170.23", "[fd00:ec2::23]"]);

/**
 * The keys or the role that the environment gave this process, in the order in which the tools of AWS look for them; undefined
 * where it gave none. `mayShowTokens`: the service may be shown session tokens, without which only keys of their own are left.
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

/** What Kubernetes (IRSA) and others give: a token in a file, for which the Security Token Service gives keys. */
async function assumeWebIdentity(text: Text): Promise<AwsCredentials> {
  const what = "get credentials for the role in AWS_ROLE_ARN";
  const token = await readFile(text("AWS_WEB_IDENTITY_TOKEN_FILE"), "utf8").catch(() => {
    throw new RemoteError(`${what}: the file that AWS_WEB_IDENTITY_TOKEN_FILE names cannot be read`);
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
    return readCredentials(isJsonObject(result) ? result["Credentials"] : undefined, what, statusCode);
  } catch (error) {
    throw toRemoteError(error, what);
  } finally {
    await agent.destroy();
  }
}

/** Amazon ECS, EKS Pod Identity and others that follow them. */
async function requestFromContainer(text: Text): Promise<AwsCredentials> {
  const what = "get the credentials of this container's role";
  const relative = text("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI");
  const url = URL.parse(relative ? `${CONTAINER_HOST}${relative}` : text("AWS_CONTAINER_CREDENTIALS_FULL_URI"));
  const isAllowed =
    url?.protocol === "https:" || (url && (isLoopbackHost(url.hostname) || CONTAINER_HOSTS.has(url.hostname)));
  if (!isAllowed) {
    throw new RemoteError(`${what}: AWS_CONTAINER_CREDENTIALS_FULL_URI must be https, or an address of this machine`);
  }
  try {
    const file = text("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE");
    const token = file ? (await readFile(file, "utf8")).trim() : text("AWS_CONTAINER_AUTHORIZATION_TOKEN");
    return readCredentials(await fetchJson(url, token ? { authorization: token } : {}, TIMEOUT_MS), what);
  } catch (error) {
    throw toRemoteError(error, what);
  }
}

/** Answers on every virtual machine of AWS that has a role, and nowhere else. */
async function requestFromInstance(endpoint: string): Promise<AwsCredentials> {
  const what = "get the credentials of this machine's role";
  const at = (path: string): URL => new URL(`/latest/${path}`, endpoint);
  const roles = "meta-data/iam/security-credentials/";
  const life = { "x-aws-ec2-metadata-token-ttl-seconds": "21600" };
  const options = { redirect: "error", signal: AbortSignal.timeout(METADATA_TIMEOUT_MS) } as const;
  const given = await fetch(at("api/token"), { method: "PUT", headers: life, ...options });
  if (!given.ok) throw new RemoteError(`${what}: its metadata service answered ${given.status}`);
  const headers = { "x-aws-ec2-metadata-token": await given.text() };
  const named = await fetch(at(roles), { headers, ...options });
  if (!named.ok) throw new RemoteError(`${what}: its metadata service answered ${named.status}`);
  const role = (await named.text()).trim().split("\n")[0] ?? "";
  return readCredentials(
    await fetchJson(at(`${roles}${encodeURIComponent(role)}`), headers, METADATA_TIMEOUT_MS),
    what,
  );
}

/** Not through a proxy: these are beside us. */
async function fetchJson(url: URL, headers: Record<string, string>, timeoutMs: number): Promise<unknown> {
  const response = await fetch(url, { headers, redirect: "error", signal: AbortSignal.timeout(timeoutMs) });
  return response.ok ? parseJsonObject(await response.text()) : undefined;
}

function readCredentials(value: unknown, what: string, status?: number): AwsCredentials {
  const fields = isJsonObject(value) ? value : {};
  const text = (name: string): string => (typeof fields[name] === "string" ? fields[name] : "");
  const { expiration } = { expiration: fields["Expiration"] };
  // The token service counts seconds, the others write dates.
  const expiresAtMs = typeof expiration === "number" ? expiration * 1000 : Date.parse(text("Expiration"));
  const sessionToken = text("SessionToken") || text("Token");
  const credentials = { accessKeyId: text("AccessKeyId"), secretAccessKey: text("SecretAccessKey"), sessionToken };
  if (!credentials.accessKeyId || !credentials.secretAccessKey) {
    throw new RemoteError(`${what}: there are none in the answer${status ? ` (${status})` : ""}`);
  }
  return { ...credentials, expiresAtMs: Number.isNaN(expiresAtMs) ? Number.POSITIVE_INFINITY : expiresAtMs };
}

/** Without what the network says of it: that may hold an address with a token. */
function toRemoteError(error: unknown, what: string): RemoteError {
  return error instanceof RemoteError ? error : new RemoteError(`${what}: no answer`);
}
