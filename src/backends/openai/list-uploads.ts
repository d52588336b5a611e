import type { Connection } from "./connection.ts";
import { readPages } from "./read-pages.ts";
import { readUploadPage, type UploadedFile } from "./wire-codec.ts";

/** All files of the account that were uploaded to be searched, ten thousand a page. */
export function listUploads({ client, calls }: Connection, signal?: AbortSignal): Promise<UploadedFile[]> {
  const what = "list uploads";
  return readPages({
    what,
    idOf: (file: UploadedFile) => file.fileId,
    read(after) {
      const query = { purpose: "assistants", ...(after ? { after } : {}) };
      return calls.run(
        what,
        async () => readUploadPage(await client.get<unknown>("/files", { query, signal })),
        signal,
      );
    },
  });
}
