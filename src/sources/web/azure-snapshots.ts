import type { ContainerClient } from "@azure/storage-blob";
import { RemoteError } from "../../contracts/errors.ts";
import {
  AZURE_RETRIES,
  type AzureAccount,
  azureAnswer,
  explainAzure,
  identityFor,
  withConnectionString,
} from "../../lib/azure.ts";
import { itemFolder, type SnapshotStore } from "./web-documents.ts";

/** Stores snapshots in a container of their own, created with the first one. */
export function snapshotsInAzure(account: AzureAccount, container: string): SnapshotStore {
  let opened: Promise<ContainerClient> | undefined;
  let containerExists = false;
  const open = (): Promise<ContainerClient> => {
    opened ??= openContainer(account, container);
    return opened;
  };
  /** Returns undefined if there is no such container or blob. */
  const using = async <T>(what: string, work: (client: ContainerClient) => Promise<T>): Promise<T | undefined> => {
    const client = await open();
    try {
      return await work(client);
    } catch (error) {
      if (azureAnswer(error).status === 404) return undefined;
      throw explainAzure(error, `${what} the container ${container}`);
    }
  };
  const pagesOf = async function* (prefix: string): AsyncGenerator<readonly StoredBlob[], void> {
    const client = await open();
    const pages = client.listBlobsFlat({ prefix }).byPage();
    for (;;) {
      const page = await using("list", () => pages.next());
      if (!page || page.done) return;
      yield page.value.segment.blobItems.map(({ name, properties: { contentLength = 0, lastModified } }) => ({
        key: name,
        bytes: contentLength,
        path: `${client.url}/${name}`,
        lastModified,
      }));
    }
  };
  /** Deletes all that match. Throws the first error at the end, so that one failure does not keep the others. */
  const remove = async (prefix: string, isWanted: (blob: StoredBlob) => boolean): Promise<number> => {
    let removed = 0;
    let firstError: unknown;
    for await (const page of pagesOf(prefix)) {
      for (const { key } of page.filter(isWanted)) {
        try {
          await using("delete from", (client) => client.deleteBlob(key));
          removed += 1;
        } catch (error) {
          firstError ??= error;
        }
      }
    }
    if (firstError) throw firstError;
    return removed;
  };
  return {
    async put(id, name, bytes, mimeType) {
      // Checked first: sending a body to a missing container may break the connection.
      if (!containerExists && !(await using("open", (client) => client.exists()))) {
        await using("create", (client) => client.createIfNotExists());
      }
      containerExists = true;
      const stored = await using("write to", (client) => {
        const blob = client.getBlockBlobClient(`${itemFolder(id)}/${name}`);
        return blob.uploadData(Buffer.from(bytes), { blobHTTPHeaders: { blobContentType: mimeType } });
      });
      containerExists = stored !== undefined;
      if (!containerExists) throw new RemoteError(`write to the container ${container}: it is not there any more`);
    },
    async of(id) {
      const stored: StoredBlob[] = [];
      for await (const page of pagesOf(`${itemFolder(id)}/`)) stored.push(...page);
      return stored.map(({ key, bytes, path }) => ({ name: key.slice(key.lastIndexOf("/") + 1), bytes, path }));
    },
    delete: async (id) => void (await remove(`${itemFolder(id)}/`, () => true)),
    removeOld: (before) => remove("", ({ lastModified }) => lastModified < before),
  };
}

interface StoredBlob {
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
      ? new BlobServiceClient(account.endpoints.blob, await identityFor(account), AZURE_RETRIES)
      : withConnectionString(account.connectionString, () =>
          BlobServiceClient.fromConnectionString(account.connectionString, AZURE_RETRIES),
        );
  return service.getContainerClient(container);
}
