import { NotFoundError, RemoteError } from "../../contracts/errors.ts";
import { azureAnswer, explainAzure } from "../../lib/azure-trouble.ts";
import type { OpenedContainer } from "./open-container.ts";

/** Anonymous callers are told that there is no such container when it is only not for them. */
const NOT_PUBLIC: ReadonlySet<string> = new Set([
  "ResourceNotFound",
  "PublicAccessNotPermitted",
  "NoAuthenticationInformation",
]);

/** For people, without anything that the library says: that may hold the signature. */
export function explainContainer(error: unknown, { place, hint }: OpenedContainer): RemoteError {
  const what = `Cannot read the container ${place.href}`;
  const { code } = azureAnswer(error);
  if (code === "ContainerNotFound") return new RemoteError(`${what}: there is no such container`);
  if (code === "ContainerBeingDeleted") return new RemoteError(`${what}: it is being deleted`);
  if (NOT_PUBLIC.has(code)) return new RemoteError(`${what}: ${hint}`);
  return explainAzure(error, what, hint);
}

/** Only the blob's own absence is one: everything else says nothing about it. */
export function explainBlob(error: unknown, name: string, container: OpenedContainer): Error {
  const { status, code } = azureAnswer(error);
  if (code === "BlobNotFound") return new NotFoundError(`There is no blob '${name}' in ${container.place.href}.`);
  if (status === 412) return new RemoteError(`'${name}' was changed while it was looked at; the next run takes it.`);
  if (code === "BlobArchived" || code === "BlobBeingRehydrated") return new RemoteError(ARCHIVED);
  return explainContainer(error, container);
}

export const ARCHIVED = "It lies in the archive tier, where it cannot be read before it is rehydrated.";
