import type { BlobGetPropertiesResponse } from "@azure/storage-blob";
import { BadInputError, NotFoundError, RemoteError } from "../../contracts/errors.ts";
import type { IdentityAccount } from "../../lib/azure.ts";
import { limitBytes } from "../../lib/text.ts";
import { toUtcMicros } from "../../lib/time.ts";
import { decodedPath } from "../../plan/web/item-identity.ts";
import {
  ARCHIVED,
  endpointOf,
  explainBlob,
  isAzureHost,
  isConnectionString,
  type OpenContainer,
  openContainer,
  openWithoutCredential,
  plainAddress,
  type ReadVariable,
} from "../blob/open-container.ts";
import { createIdleTimeout, readBlob } from "../blob/read-blob.ts";
import { bareEtag } from "../tree/create-object-tree.ts";
import { allOf, type FileReader, type FileRequest, type FileResult, tooLarge } from "./file-reader.ts";

export interface SingleBlobsOptions {
  /** Environment variable with the credential; "" for none. */
  readonly credential: string;
  readonly variable: ReadVariable;
  /** Which of several managed identities is used without a credential; "": the default one. */
  readonly identityClientId?: string;
  /** Storage account for which the managed identity is used, whatever its host. */
  readonly account?: IdentityAccount | undefined;
}

/** What the credential opens: an account or one container. It is sent nowhere else. */
interface CredentialScope {
  readonly url: URL;
  readonly isContainer: boolean;
}

const HOW_TO_OPEN =
  "without a credential only public blobs can be read, and those that the managed identity of this machine may read and list: name an environment variable in INGEST_BLOB_CREDENTIAL";

/** Reads Azure blobs by URL: those of one account or container with the credential, others with the managed identity or anonymously. */
export function createSingleBlobs(options: SingleBlobsOptions): FileReader {
  return {
    async refusal(source) {
      const found = await locate(source, options);
      return "reason" in found ? found.reason : "";
    },
    async read(request) {
      try {
        const found = await locate(request.source, options);
        if ("reason" in found) return { kind: "failed", reason: found.reason };
        return await readFile(found.name, await found.open(), request);
      } catch (error) {
        request.signal.throwIfAborted();
        if (error instanceof NotFoundError) return { kind: "missing" };
        if (error instanceof RemoteError || error instanceof BadInputError) {
          return { kind: "failed", reason: error.message };
        }
        throw error;
      }
    },
  };
}

interface LocatedBlob {
  readonly name: string;
  open(): Promise<OpenContainer>;
}

async function locate(source: string, options: SingleBlobsOptions): Promise<LocatedBlob | { readonly reason: string }> {
  const { credential, variable, identityClientId = "" } = options;
  const url = new URL(source);
  const scope = await scopeOf(options);
  const path = decodedPath(url.pathname) ?? "";
  const isInScope = scope !== undefined && url.origin === scope.url.origin && isBelow(path, scope.url.pathname);
  if (!isInScope && !(url.protocol === "https:" && isAzureHost(url.hostname))) {
    return {
      reason: `Blobs of Azure Storage have addresses such as https://{account}.blob.core.windows.net/{container}/{name}, and only those of INGEST_BLOB_CREDENTIAL may be elsewhere. Register other addresses as web pages.`,
    };
  }
  const account = isInScope && !scope.isContainer ? scope.url.pathname : "";
  const depth = isInScope && scope.isContainer ? partsOf(scope.url.pathname).length : partsOf(account).length + 1;
  const parts = partsOf(path);
  const container = parts.slice(0, depth);
  const name = parts.slice(depth).join("/");
  if (!name || container.some((part) => part === "" || part === "." || part === ".."))
    return {
      reason: "This is not the address of a blob: the name of the container comes first, then that of the blob.",
    };
  const containerUrl = plainAddress(new URL(`/${container.map(encodeURIComponent).join("/")}`, url));
  return {
    name,
    open: () =>
      isInScope && credential !== ""
        ? openContainer(containerUrl, credential, variable)
        : openWithoutCredential(containerUrl, identityClientId, HOW_TO_OPEN, scope?.url.origin),
  };
}

/** Returns the account or container of the credential. A bare signature is rejected: it does not name its account, and must not be sent to the account of any registered blob. */
async function scopeOf({ credential, variable, account }: SingleBlobsOptions): Promise<CredentialScope | undefined> {
  if (credential === "") {
    return account && { url: plainAddress(new URL(account.endpoints.blob)), isContainer: false };
  }
  const text = variable(credential)?.trim() ?? "";
  if (isConnectionString(text)) return { url: await endpointOf(text, credential), isContainer: false };
  const address = URL.parse(text);
  if (!address || partsOf(address.pathname).length === 0) {
    throw new BadInputError(
      `INGEST_BLOB_CREDENTIAL names the variable ${credential}, which must hold a connection string or the address of a container with its signature.`,
    );
  }
  return { url: plainAddress(address), isContainer: true };
}

function isBelow(path: string, folder: string): boolean {
  return folder === "/" || path.startsWith(`${folder.replace(/\/$/, "")}/`);
}

/** Splits a path after its first slash. Segments may be empty. */
function partsOf(path: string): readonly string[] {
  return path === "" || path === "/" ? [] : path.slice(1).split("/");
}

async function readFile(name: string, container: OpenContainer, request: FileRequest): Promise<FileResult> {
  const { etag: known, maxBytes, signal } = request;
  const properties = await propertiesOf(name, container, signal);
  const length = properties.contentLength ?? 0;
  const etag = bareEtag(properties.etag ?? "");
  const lastModified = properties.lastModified ? toUtcMicros(properties.lastModified) : "";
  const file = { etag, lastModified, length, contentType: properties.contentType ?? "", device: "" };
  if (length > maxBytes) return tooLarge(length, maxBytes);
  if (known !== "" && known === etag) return { kind: "unchanged", file };
  if (properties.accessTier === "Archive") return { kind: "failed", reason: ARCHIVED };
  return { kind: "read", bytes: await allOf(limitBytes(readBlob(container, name, etag, signal), maxBytes)), file };
}

async function propertiesOf(
  name: string,
  container: OpenContainer,
  signal: AbortSignal,
): Promise<BlobGetPropertiesResponse> {
  const { signal: abortSignal, during } = createIdleTimeout(signal);
  try {
    return await during(() => container.blob(name).getProperties({ abortSignal }));
  } catch (error) {
    abortSignal.throwIfAborted();
    throw explainBlob(error, name, container);
  }
}
