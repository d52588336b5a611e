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
  /** Names the variable with which they are read; "" for none. */
  readonly credential: string;
  readonly variable: ReadVariable;
  /** Which of several managed identities of this machine reads them where there is no credential; "": the one it has. */
  readonly identityClientId?: string;
  /** The account that is opened with it whatever host it is on. */
  readonly account?: IdentityAccount | undefined;
}

/** What the credential opens: an account, or one container of it. Nobody else is shown it. */
interface Home {
  readonly place: URL;
  readonly isContainer: boolean;
}

const HOW_TO_OPEN =
  "without a credential only public blobs can be read, and those that the managed identity of this machine may read and list: name an environment variable in INGEST_BLOB_CREDENTIAL";

/** Blobs of Azure by their addresses: those of one account or container with a credential, any other as the managed identity of this machine, or as anybody reads them. */
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
        return await readOne(found.name, await found.open(), request);
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
  const home = await homeOf(options);
  const path = decodedPath(url.pathname) ?? "";
  const isAtHome = home !== undefined && url.origin === home.place.origin && isBelow(path, home.place.pathname);
  if (!isAtHome && !(url.protocol === "https:" && isAzureHost(url.hostname))) {
    return {
      reason: `Blobs of Azure Storage have addresses such as https://{account}.blob.core.windows.net/{container}/{name}, and only those of INGEST_BLOB_CREDENTIAL may be elsewhere. Register other addresses as web pages.`,
    };
  }
  const account = isAtHome && !home.isContainer ? home.place.pathname : "";
  const depth = isAtHome && home.isContainer ? partsOf(home.place.pathname).length : partsOf(account).length + 1;
  const parts = partsOf(path);
  const container = parts.slice(0, depth);
  const name = parts.slice(depth).join("/");
  if (!name || container.some((part) => part === "" || part === "." || part === ".."))
    return {
      reason: "This is not the address of a blob: the name of the container comes first, then that of the blob.",
    };
  const place = plainAddress(new URL(`/${container.map(encodeURIComponent).join("/")}`, url));
  return {
    name,
    open: () =>
      isAtHome && credential !== ""
        ? openContainer(place, credential, variable)
        : openWithoutCredential(place, identityClientId, HOW_TO_OPEN, home?.place.origin),
  };
}

/** A signature alone does not say whose it is, and must not be shown to whichever account somebody registers a blob of. */
async function homeOf({ credential, variable, account }: SingleBlobsOptions): Promise<Home | undefined> {
  if (credential === "") {
    return account && { place: plainAddress(new URL(account.endpoints.blob)), isContainer: false };
  }
  const text = variable(credential)?.trim() ?? "";
  if (isConnectionString(text)) return { place: await endpointOf(text, credential), isContainer: false };
  const address = URL.parse(text);
  if (!address || partsOf(address.pathname).length === 0) {
    throw new BadInputError(
      `INGEST_BLOB_CREDENTIAL names the variable ${credential}, which must hold a connection string or the address of a container with its signature.`,
    );
  }
  return { place: plainAddress(address), isContainer: true };
}

function isBelow(path: string, folder: string): boolean {
  return folder === "/" || path.startsWith(`${folder.replace(/\/$/, "")}/`);
}

/** The first slash is none between names; the others may have nothing between them. */
function partsOf(path: string): readonly string[] {
  return path === "" || path === "/" ? [] : path.slice(1).split("/");
}

async function readOne(name: string, container: OpenContainer, request: FileRequest): Promise<FileResult> {
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
