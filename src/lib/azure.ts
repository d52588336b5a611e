import type { ManagedIdentityApplication } from "@azure/msal-node";
import { BadInputError, RemoteError } from "../contracts/errors.ts";
import { explainNetwork } from "./network-trouble.ts";
import { STORAGE_RETRIES } from "./retry.ts";

export const AZURE_SERVICES = ["blob", "queue", "table"] as const;
type AzureService = (typeof AZURE_SERVICES)[number];

/** Azure's clients wait and ask again by themselves, and heed Retry-After. Blobs and queues count tries, tables those after the first. */
export const AZURE_RETRIES = {
  retryOptions: {
    maxTries: STORAGE_RETRIES.attempts,
    maxRetries: STORAGE_RETRIES.attempts - 1,
    retryDelayInMs: STORAGE_RETRIES.firstMs,
    maxRetryDelayInMs: STORAGE_RETRIES.longestMs,
  },
};

/** A storage account, and how it is opened. */
export type AzureAccount = { readonly kind: "connection string"; readonly connectionString: string } | IdentityAccount;

/** As the identity that Azure gave this machine; `clientId` chooses among several. */
export interface IdentityAccount {
  readonly kind: "identity";
  readonly endpoints: Readonly<Record<AzureService, string>>;
  readonly clientId: string;
}

/** Where the services of an account are, told by one of them, `https://{account}.blob.core.windows.net`; undefined for any other address. */
export function endpointsBeside(url: URL): IdentityAccount["endpoints"] | undefined {
  const [, account, suffix] = /^([a-z0-9-]+(?:\.z\d+)?)\.(?:blob|queue|table|dfs)\.(.+)$/.exec(url.hostname) ?? [];
  if (!account || !suffix || url.protocol !== "https:") return undefined;
  return endpointsOf((service) => `https://${account}.${service}.${suffix}`);
}

/** Where a connection string without key and signature says they are; undefined when it has one of those, or does not say. */
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

/** How often a machine is asked again whether it has an identity. */
const ASKED_AGAIN_MS = 5 * 60_000;
const found = new Map<string, { readonly identity: Promise<IdentityToken | undefined>; readonly atMs: number }>();

/** As findManagedIdentity, remembered: where there is none, finding that out takes a second. */
export async function rememberedIdentity(clientId: string): Promise<IdentityToken | undefined> {
  const known = found.get(clientId);
  const identity = known && (await known.identity);
  if (known && (identity || performance.now() - known.atMs < ASKED_AGAIN_MS)) return identity;
  const asking = findManagedIdentity(clientId);
  found.set(clientId, { identity: asking, atMs: performance.now() });
  return await asking;
}

/** Throws RemoteError where there is none. */
export async function identityFor({ endpoints, clientId }: IdentityAccount): Promise<IdentityToken> {
  const identity = await rememberedIdentity(clientId);
  if (identity) return identity;
  throw new RemoteError(
    `open the storage account at ${new URL(endpoints.blob).host}: this machine has no managed identity that gets a token. Give it one with the roles Storage Table Data Contributor, Storage Queue Data Contributor and Storage Blob Data Contributor, or a connection string with a key.`,
  );
}

const RESOURCE = "https://storage.azure.com";
/** Answers on every virtual machine of Azure, and nowhere else. */
const METADATA_URL = "http://169.254.169.254/metadata/identity/oauth2/token";
const METADATA_TIMEOUT_MS = 1000;

/** As the clients of Azure ask for tokens. */
interface IdentityToken {
  getToken(): Promise<{ readonly token: string; readonly expiresOnTimestamp: number }>;
}

/** The identity that Azure gave this machine; undefined where it gave none. `clientId` chooses among several. */
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

/** Without the header that it wants it refuses, which is answer enough. */
async function isOnVirtualMachine(): Promise<boolean> {
  try {
    const answer = await fetch(METADATA_URL, { signal: AbortSignal.timeout(METADATA_TIMEOUT_MS), redirect: "manual" });
    await answer.body?.cancel();
    return answer.status === 400;
  } catch {
    return false;
  }
}

/** What Azure Storage said: `status` of the answer, if there was one, and its own word for it. */
interface AzureAnswer {
  readonly status: number | undefined;
  /** `PopReceiptMismatch`, `ENOTFOUND`; "" when there is none. */
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
 * For people, with a hint for when it refuses. Made of what is known to be harmless: messages and causes of the library may hold addresses with a signature
 * in them.
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

/** Makes clients of a connection string, without telling it to anybody when it is none. */
export function withConnectionString<T>(connectionString: string, make: (isInsecure: boolean) => T): T {
  try {
    // Emulators speak plain HTTP; whoever writes that into the string means it.
    return make(/\bhttp:\/\/|EndpointsProtocol=http(;|$)|UseDevelopmentStorage=true/i.test(connectionString));
  } catch {
    throw new BadInputError(
      "AZURE_STORAGE_CONNECTION_STRING must be the connection string of a storage account: DefaultEndpointsProtocol=https;AccountName=…;AccountKey=…;EndpointSuffix=core.windows.net, or one with a SharedAccessSignature.",
    );
  }
}
