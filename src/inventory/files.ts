import type OpenAI from "openai";
import { askBackend } from "./ask-backend.ts";
import type { Files } from "./inventory.ts";
import { readPages } from "./read-pages.ts";

export function createFiles(client: OpenAI): Files {
  const missing = (id: string): string => `File '${id}' does not exist.`;
  return {
    pages: ({ order, pageSize }) =>
      readPages({
        what: "list files",
        read: (after) => client.files.list({ order, limit: pageSize, ...(after !== undefined && { after }) }),
      }),
    get: (id) => askBackend({ what: `get file '${id}'`, missing: missing(id) }, () => client.files.retrieve(id)),
    async delete(id) {
      await askBackend({ what: `delete file '${id}'`, missing: missing(id) }, () => client.files.delete(id));
    },
  };
}
