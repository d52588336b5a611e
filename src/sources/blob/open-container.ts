import type { BlobClient, ContainerClient } from "@azure/storage-blob";
import { BadInputError, NotFoundError, RemoteError } from "../../contracts/errors.ts";
import { AZURE_RETRIES, azureAnswer, explainAzure, rememberedIdentity } from "../../lib/azure.ts";
import { isLoopbackHost } from "../../lib/loopback.ts";
import { objectUrl } from "../tree/create-object-tree.ts";

export interface OpenContainer {
  readonly client: ContainerClient;
  /** `name` as in the container, unescaped. */
  blob(name: string): BlobClient;
  readonly url: URL;
  /** The credential in use, for messages: `the signature in REPORTS_SAS`. */
  readonly access: string;
  /** What to do when the service refuses. */
  readonly hint: string;
}

/** Reads an environment variable; undefined when it is not set. */
export type ReadVariable = (name: string) => string | undefined;

const NO_CREDENTIAL_HINT =
  "without a credential only public containers can be read: name an environment variable in 'credential'";

/** Opens a container with the value of the variable `credential`; without one with the managed identity, or anonymously. */
export async function openContainer(
  url: URL,
  credential: string,
  variable: ReadVariable,
  identityClientId = "",
): Promise<OpenContainer> {
  if (url.protocol !== "https:" && !isLoopbackHost(url.hostname)) {
    throw new BadInputError(`The container ${url.href} needs https: without it, a key would be sent unencrypted.`);
  }
  if (credential === "") return await openWithoutCredential(url, identityClientId, NO_CREDENTIAL_HINT);
  const text = variable(credential)?.trim();
  if (!text) {
    throw new BadInputError(
      `The environment variable ${credential}, which the source names as its credential, is not set.`,
    );
  }
  return isConnectionString(text)
    ? await openByConnectionString(url, credential, text)
    : await openBySignature(url, credential, text);
}

export function isConnectionString(text: string): boolean {
  return /(^|;)\s*(AccountName|BlobEndpoint|UseDevelopmentStorage)=/i.test(text);
}

/** Returns the blob endpoint of a connection string's account. */
export async function endpointOf(text: string, credential: string): Promise<URL> {
  const { pathname, origin } = new URL((await clientOf(text, "any", credential)).url);
  return new URL(origin + pathname.slice(0, pathname.lastIndexOf("/")));
}

/** Opens it anonymously. */
async function openPublicContainer(url: URL, hint: string): Promise<OpenContainer> {
  const { AnonymousCredential, ContainerClient } = await import("@azure/storage-blob");
  const client = new ContainerClient(url.href, new AnonymousCredential(), AZURE_RETRIES);
  return await withBlobClient(client, url, { access: "no credential", hint });
}

async function openByConnectionString(url: URL, credential: string, text: string): Promise<OpenContainer> {
  const client = await clientOf(text, containerNameOf(url), credential);
  const accountUrl = plainAddress(new URL(client.url));
  if (!isSameAddress(accountUrl, url)) {
    throw new BadInputError(
      `The connection string in ${credential} is that of ${accountUrl.origin}, and the container is ${url.href}.`,
    );
  }
  const hint = `check the key, or the rights and the end of the signature, in ${credential}`;
  return await withBlobClient(client, url, { access: `the connection string in ${credential}`, hint });
}

async function clientOf(text: string, container: string, credential: string): Promise<ContainerClient> {
  const { BlobServiceClient } = await import("@azure/storage-blob");
  try {
    return BlobServiceClient.fromConnectionString(text, AZURE_RETRIES).getContainerClient(container);
  } catch {
    // The message of the library may contain the string.
    throw new BadInputError(
      `${credential} holds no connection string of a storage account: DefaultEndpointsProtocol=https;AccountName=…;AccountKey=…;EndpointSuffix=core.windows.net.`,
    );
  }
}

async function openBySignature(url: URL, credential: string, text: string): Promise<OpenContainer> {
  const address = URL.parse(text);
  if (address && !isSameAddress(address, url)) {
    throw new BadInputError(`The address in ${credential} is not that of the container ${url.href}.`);
  }
  if (!address && !isAzureHost(url.hostname) && !isLoopbackHost(url.hostname)) {
    throw new BadInputError(
      `${credential} holds a signature alone, and ${url.host} is no host of Azure Storage: a signature is shown to another host only if ${credential} holds the whole address of the container with it.`,
    );
  }
  const query = address ? address.search.slice(1) : text.replace(/^\?/, "");
  const parameters = new URLSearchParams(query);
  if (!parameters.get("sig") || /\s/.test(query)) {
    throw new BadInputError(
      `${credential} must hold a shared access signature (sv=…&sig=…) or a connection string (DefaultEndpointsProtocol=…).`,
    );
  }
  const { AnonymousCredential, ContainerClient } = await import("@azure/storage-blob");
  const client = new ContainerClient(`${url.href}?${query}`, new AnonymousCredential(), AZURE_RETRIES);
  const hint = adviseOn(parameters.get("se"), credential);
  return await withBlobClient(client, url, { access: `the signature in ${credential}`, hint });
}

function adviseOn(end: string | null, credential: string): string {
  const endsAt = Date.parse(end ?? "");
  return endsAt < Date.now()
    ? `the signature in ${credential} ended at ${new Date(endsAt).toISOString()}: put a new one there`
    : `check that the signature in ${credential} allows to read and to list this container`;
}

/** Opens it with the managed identity if that may list it, else anonymously. Sends the token only to Azure hosts and to `trusted`. */
export async function openWithoutCredential(
  url: URL,
  identityClientId: string,
  hint: string,
  trusted = "",
): Promise<OpenContainer> {
  const isTrusted = isAzureHost(url.hostname) || url.origin === trusted;
  const identity = isTrusted && url.protocol === "https:" ? await rememberedIdentity(identityClientId) : undefined;
  if (!identity) return await openPublicContainer(url, hint);
  const { ContainerClient } = await import("@azure/storage-blob");
  const role = "give the managed identity of this machine the role Storage Blob Data Reader";
  const client = new ContainerClient(url.href, identity, AZURE_RETRIES);
  return (await mayList(client))
    ? await withBlobClient(client, url, { access: "the managed identity of this machine", hint: role })
    : await openPublicContainer(url, `${hint}, or ${role}`);
}

async function mayList(client: ContainerClient): Promise<boolean> {
  try {
    await client.listBlobsFlat().byPage({ maxPageSize: 1 }).next();
    return true;
  } catch {
    return false;
  }
}

async function withBlobClient(
  client: ContainerClient,
  url: URL,
  labels: Pick<OpenContainer, "access" | "hint">,
): Promise<OpenContainer> {
  const { BlobClient, newPipeline } = await import("@azure/storage-blob");
  const pipeline = newPipeline(client.credential, AZURE_RETRIES);
  const { search } = new URL(client.url);
  // The library's own client would resolve `..` in a blob name and leave the container.
  return { client, url, ...labels, blob: (name) => new BlobClient(objectUrl(url.href, name) + search, pipeline) };
}

/** Azure's responses to anonymous requests for a container that exists but is not public. */
const NOT_PUBLIC: ReadonlySet<string> = new Set([
  "ResourceNotFound",
  "PublicAccessNotPermitted",
  "NoAuthenticationInformation",
]);

/** Explains an error without the library's message, which may contain the signature. */
export function explainContainer(error: unknown, { url, hint }: OpenContainer): RemoteError {
  const message = `Cannot read the container ${url.href}`;
  const { code } = azureAnswer(error);
  if (code === "ContainerNotFound") return new RemoteError(`${message}: there is no such container`);
  if (code === "ContainerBeingDeleted") return new RemoteError(`${message}: it is being deleted`);
  if (NOT_PUBLIC.has(code)) return new RemoteError(`${message}: ${hint}`);
  return explainAzure(error, message, hint);
}

/** Only BlobNotFound means that the blob is missing; other errors say nothing about it. */
export function explainBlob(error: unknown, name: string, container: OpenContainer): Error {
  const { status, code } = azureAnswer(error);
  if (code === "BlobNotFound") return new NotFoundError(`There is no blob '${name}' in ${container.url.href}.`);
  if (status === 412) return new RemoteError(`'${name}' was changed while it was read; the next run reads it again.`);
  if (code === "BlobArchived" || code === "BlobBeingRehydrated") return new RemoteError(ARCHIVED);
  return explainContainer(error, container);
}

export const ARCHIVED = "It lies in the archive tier, where it cannot be read before it is rehydrated.";

/** Blob hosts of all Azure clouds. Tokens of the managed identity are sent nowhere else. */
const AZURE_HOST =
  /^[a-z0-9-]+(\.z\d+)?\.blob\.(core\.(windows\.net|chinacloudapi\.cn|usgovcloudapi\.net)|storage\.azure\.net)$/;

export function isAzureHost(host: string): boolean {
  return AZURE_HOST.test(host.toLowerCase());
}

/** Returns the URL without query, fragment, user and trailing slashes. */
export function plainAddress(url: URL): URL {
  const plain = new URL(url.origin);
  plain.pathname = url.pathname.replace(/\/+$/, "");
  return plain;
}

function isSameAddress(first: URL, other: URL): boolean {
  const normalized = (url: URL): string => url.origin + decoded(plainAddress(url).pathname);
  return normalized(first) === normalized(other);
}

function containerNameOf(url: URL): string {
  return decoded(url.pathname.slice(url.pathname.lastIndexOf("/") + 1));
}

function decoded(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}
