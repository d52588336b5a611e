import type { ManagedIdentityApplication } from "@azure/msal-node";
import { BadInputError, RemoteError } from "../contracts/errors.ts";
import { explainNetwork } from "./explain-network.ts";
import { STORAGE_RETRIES } from "./retry.ts";

export const AZURE_SERVICES = ["blob", "queue", "table"] as const;
type AzureService = (typeof AZURE_SERVICES)[number];

/** Azure's clients retry by themselves, with Retry-After. Blobs and queues count all tries, tables only those after the first. */
export const AZURE_RETRIES = {
  retryOptions: {
    maxTries: STORAGE_RETRIES.attempts,
    maxRetries: STORAGE_RETRIES.attempts - 1,
    retryDelayInMs: STORAGE_RETRIES.firstMs,
    maxRetryDelayInMs: STORAGE_RETRIES.longestMs,
  },
};

/** A storage account and how to open it. */
export type AzureAccount = { readonly kind: "connection string"; readonly connectionString: string } | IdentityAccount;

/** Opened with the managed identity of this machine; `clientId` selects one of several. */
export interface IdentityAccount {
  readonly kind: "identity";
  readonly endpoints: Readonly<Record<AzureService, string>>;
  readonly clientId: string;
}

/**
 * Derives the endpoints of all services of an account from one of them, `https://{account}.blob.core.windows.net`; undefined for any other
 * address.
 */
export function endpointsBeside(url: URL): IdentityAccount["endpoints"] | undefined {
  const [, account, suffix] = /^([a-z0-9-]+(?:\.z\d+)?)\.(?:blob|queue|table|dfs)\.(.+)$/.exec(url.hostname) ?? [];
  if (!account || !suffix || url.protocol !== "https:") return undefined;
  return endpointsOf((service) => `https://${account}.${service}.${suffix}`);
}

/** Returns the endpoints of a connection string without key and signature; undefined if it has either, or names no endpoints. */
export function endpointsIn(connectionString: string): IdentityAccount["endpoints"] | undefined {
  const parts = new Map(
    connectionString.split(";").map((part): [string, string] => {
      const at = part.indexOf("=");
      return [part.slice(0, at).trim().toLowerCase(), part.slice(at + 1).trim()];
    }),
  );
  if (["accountkey", "sharedaccesssignature", "usedevelopmentstorage"].some((name) => parts.get(name)))
    return undefined;
  const account = parts.get("accountname");
  const suffix = parts.get("endpointsuffix") || "core.windows.net";
  const endpoints = endpointsOf(
    (service) => parts.get(`${service}endpoint`) || (account ? `https://${account}.${service}.${suffix}` : ""),
  );
  return AZURE_SERVICES.every((service) => endpoints[service] !== "") ? endpoints : undefined;
}

function endpointsOf(of: (service: AzureService) => string): IdentityAccount["endpoints"] {
  return { blob: of("blob"), queue: of("queue"), table: of("table") };
}

/** How often the machine is checked again for an identity. */
const CHECK_AGAIN_MS = 5 * 60_000;
const found = new Map<string, { readonly identity: Promise<IdentityToken | undefined>; readonly atMs: number }>();

/** Like findManagedIdentity, but cached: finding out that there is none takes a second. */
export async function rememberedIdentity(clientId: string): Promise<IdentityToken | undefined> {
  const known = found.get(clientId);
  const identity = known && (await known.identity);
  if (known && (identity || performance.now() - known.atMs < CHECK_AGAIN_MS)) return identity;
  const asking = findManagedIdentity(clientId);
  found.set(clientId, { identity: asking, atMs: performance.now() });
  return await asking;
}

/** Throws RemoteError if there is none. */
export async function identityFor({ endpoints, clientId }: IdentityAccount): Promise<IdentityToken> {
  const identity = await rememberedIdentity(clientId);
  if (identity) return identity;
  throw new RemoteError(
    `open the storage account at ${new URL(endpoints.blob).host}: this machine has no managed identity that gets a token. Give it one with the roles Storage Table Data Contributor, Storage Queue Data Contributor and Storage Blob Data Contributor, or a connection string with a key.`,
  );
}

const RESOURCE = "https://storage.azure.com";
/** Responds on every virtual machine of Azure, and nowhere else; clusters have one elsewhere, and name it in this variable. */
const METADATA_HOST = "http://169.254.169.254";
const METADATA_HOST_VARIABLE = "AZURE_POD_IDENTITY_AUTHORITY_HOST";
const METADATA_PATH = "/metadata/identity/oauth2/token";
const METADATA_TIMEOUT_MS = 1000;

/** The interface that Azure's clients expect. */
interface IdentityToken {
  getToken(): Promise<{ readonly token: string; readonly expiresOnTimestamp: number }>;
}

/** Returns the machine's managed identity; undefined if it has none. `clientId` selects one of several. */
export async function findManagedIdentity(clientId: string): Promise<IdentityToken | undefined> {
  const { ManagedIdentityApplication, ManagedIdentitySourceNames } = await import("@azure/msal-node");
  const identity = new ManagedIdentityApplication({
    ...(clientId && { managedIdentityIdParams: { userAssignedClientId: clientId } }),
    system: { disableInternalRetries: true },
  });
  const isGuess = identity.getManagedIdentitySource() === ManagedIdentitySourceNames.DEFAULT_TO_IMDS;
  if (isGuess && !(await isOnVirtualMachine())) return undefined;
  const getToken = (): ReturnType<IdentityToken["getToken"]> => acquire(identity);
  return await getToken().then(
    () => ({ getToken }),
    () => undefined,
  );
}

async function acquire(identity: ManagedIdentityApplication): ReturnType<IdentityToken["getToken"]> {
  const { accessToken, expiresOn } = await identity.acquireToken({ resource: RESOURCE });
  if (!accessToken) throw new RemoteError("The managed identity of this machine got no token for Azure Storage.");
  return { token: accessToken, expiresOnTimestamp: expiresOn?.getTime() ?? Date.now() + 60_000 };
}

/** Without the required header the service refuses, which is enough to know that it is there. */
async function isOnVirtualMachine(): Promise<boolean> {
  const host = process.env[METADATA_HOST_VARIABLE] || METADATA_HOST;
  try {
    const answer = await fetch(`${host}${METADATA_PATH}`, {
      signal: AbortSignal.timeout(METADATA_TIMEOUT_MS),
      redirect: "manual",
    });
    await answer.body?.cancel();
    return answer.status === 400;
  } catch {
    return false;
  }
}

/** The response of Azure Storage: HTTP status, if there was one, and error code. */
interface AzureAnswer {
  readonly status: number | undefined;
  /** `PopReceiptMismatch`, `ENOTFOUND`; "" for none. */
  readonly code: string;
}

export function azureAnswer(error: unknown): AzureAnswer {
  const { statusCode, code, details } = (error ?? {}) as {
    statusCode?: unknown;
    code?: unknown;
    details?: { errorCode?: unknown };
  };
  const word = [details?.errorCode, code].find((one) => typeof one === "string");
  return { status: typeof statusCode === "number" ? statusCode : undefined, code: (word as string | undefined) ?? "" };
}

const CHECK_STORAGE =
  "check the key, or the rights and the end of the signature, in AZURE_STORAGE_CONNECTION_STRING, or the roles of the managed identity (Storage Table, Queue and Blob Data Contributor)";

/**
 * Returns an error for people, with a hint if access was refused. It contains only harmless parts: messages and causes of the library may
 * hold addresses with a signature.
 */
export function explainAzure(error: unknown, what: string, hint = CHECK_STORAGE): RemoteError {
  const { status, code } = azureAnswer(error);
  if (status === 401 || status === 403) {
    return new RemoteError(`${what}: Azure Storage refuses (${[status, code].filter(Boolean).join(" ")}); ${hint}`);
  }
  const answer = [status, code].filter((one) => one).join(" ");
  return new RemoteError(
    `${what}: ${explainNetwork(code) ?? (answer ? `Azure Storage answered ${answer}` : "no answer")}`,
  );
}

/** Creates clients from a connection string. The error for an invalid one does not repeat it. */
export function withConnectionString<T>(connectionString: string, make: (isInsecure: boolean) => T): T {
  try {
    // Emulators use plain HTTP; it must be written into the string explicitly.
    return make(/\bhttp:\/\/|EndpointsProtocol=http(;|$)|UseDevelopmentStorage=true/i.test(connectionString));
  } catch {
    throw new BadInputError(
      "AZURE_STORAGE_CONNECTION_STRING must be the connection string of a storage account: DefaultEndpointsProtocol=https;AccountName=…;AccountKey=…;EndpointSuffix=core.windows.net, or one with a SharedAccessSignature.",
    );
  }
}
