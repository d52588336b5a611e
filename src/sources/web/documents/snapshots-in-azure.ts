import type { ContainerClient } from "@azure/storage-blob";
import { RemoteError } from "../../../contracts/errors.ts";
import { type AzureAccount, identityFor } from "../../../lib/azure-account.ts";
import { azureAnswer, explainAzure, withConnectionString } from "../../../lib/azure-trouble.ts";
import { placeBelow, type SnapshotShelf } from "./snapshot-shelf.ts";

/** In a container of their own, which the first of them creates. */
export function snapshotsInAzure(account: AzureAccount, container: string): SnapshotShelf {
  let opened: Promise<ContainerClient> | undefined;
  let isThere = false;
  /** undefined: there is no such container or blob. */
  const using = async <T>(what: string, work: (client: ContainerClient) => Promise<T>): Promise<T | undefined> => {
    opened ??= openContainer(account, container);
    const client = await opened;
    try {
      return await work(client);
    } catch (error) {
      if (azureAnswer(error).status === 404) return undefined;
      throw explainAzure(error, `${what} the container ${container}`);
    }
  };
  const list = async (prefix: string): Promise<readonly Kept[]> =>
    (await using("list", async (client) => {
      const found: Kept[] = [];
      for await (const { name, properties } of client.listBlobsFlat(prefix === "" ? {} : { prefix })) {
        const { contentLength = 0, lastModified } = properties;
        found.push({ key: name, bytes: contentLength, path: `${client.url}/${name}`, lastModified });
      }
      return found;
    })) ?? [];
  const remove = async (kept: readonly Kept[]): Promise<number> => {
    for (const { key } of kept) await using("delete from", (client) => client.deleteBlob(key));
    return kept.length;
  };
  return {
    async put(id, name, bytes, mimeType) {
      // Asked first: to send a body to a container that is not there may cost the connection.
      if (!isThere && !(await using("open", (client) => client.exists()))) {
        await using("create", (client) => client.createIfNotExists());
      }
      isThere = true;
      const kept = await using("write to", (client) => {
        const blob = client.getBlockBlobClient(`${placeBelow(id)}/${name}`);
        return blob.uploadData(Buffer.from(bytes), { blobHTTPHeaders: { blobContentType: mimeType } });
      });
      isThere = kept !== undefined;
      if (!isThere) throw new RemoteError(`write to the container ${container}: it is not there any more`);
    },
    async of(id) {
      const kept = await list(`${placeBelow(id)}/`);
      return kept.map(({ key, bytes, path }) => ({ name: key.slice(key.lastIndexOf("/") + 1), bytes, path }));
    },
    delete: async (id) => void (await remove(await list(`${placeBelow(id)}/`))),
    removeOld: async (before) => remove((await list("")).filter(({ lastModified }) => lastModified < before)),
  };
}

interface Kept {
  /** Its name in the container. */
  readonly key: string;
  readonly bytes: number;
  readonly path: string;
  readonly lastModified: Date;
}

async function openContainer(account: AzureAccount, container: string): Promise<ContainerClient> {
  const { BlobServiceClient } = await import("@azure/storage-blob");
  const service =
    account.kind === "identity"
      ? new BlobServiceClient(account.endpoints.blob, await identityFor(account))
      : withConnectionString(account.connectionString, () =>
          BlobServiceClient.fromConnectionString(account.connectionString),
        );
  return service.getContainerClient(container);
}
