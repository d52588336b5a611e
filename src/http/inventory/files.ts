import type { FileObject } from "../../inventory/inventory.ts";
import { listPart } from "./list-part.ts";
import { detailAddress, resource } from "./resource.ts";
import { oneStep } from "./resource-endpoints.ts";
import { named, sizeOf, timeOf } from "./resource-pages.ts";

export const files = resource({
  path: "files",
  noun: "file",
  title: "Files",
  idParameter: "file_id",
  list: {
    description: "Lists the files in the backend, newest first: uploaded ones and crawled documents.",
    examples: ["?format=json", "?format=json&limit=20&sort=-created_at&filter=handbook", "?format=ui"],
    pageFormat: "ui",
    sortable: ["created_at", "filename", "bytes", "purpose"],
    run: ({ inventory }, listing) =>
      listPart((query) => inventory.files.pages(query), listing, { noun: "files", largestPage: 10_000 }),
  },
  get: {
    description: "Returns what the backend says of one file.",
    examples: ["?file_id=file-abc123", "?file_id=file-abc123&format=html"],
    read: ({ inventory }, { id }) => inventory.files.get(id),
  },
  remove: {
    description: "Deletes a file from the backend, and with that from every vector store. Returns what it was.",
    changes: "Removes the file in the backend, for good.",
    role: "admin",
    runsAs: "either",
    examples: [
      "?file_id=file-abc123&dry_run=true",
      "curl -X DELETE '{origin}/v2/inventory/files/delete?file_id=file-abc123'",
    ],
    async prepare({ inventory }, { id }) {
      const file = await inventory.files.get(id);
      return oneStep(`Deleting file '${file.filename}' (ID='${id}')`, file, async () => {
        await inventory.files.delete(id);
        return file;
      });
    },
  },
  page: {
    lede: "Everything that was uploaded to the backend, and every crawled document.",
    tableId: "files",
    empty: "No files yet: crawl a domain, or upload one over the OpenAI protocol.",
    name: ({ filename }: FileObject) => filename,
    columns: [
      {
        sort: "filename",
        title: "Name",
        cell: ({ id, filename }) => named(filename, id, detailAddress("files", { file_id: id })),
      },
      { sort: "purpose", title: "Purpose", cell: ({ purpose }) => purpose },
      { sort: "bytes", title: "Size", align: "end", cell: ({ bytes }) => sizeOf(bytes) },
      { sort: "created_at", title: "Created", cell: ({ created_at }) => timeOf(created_at) },
    ],
    facts: ({ bytes, purpose, created_at, expires_at }) => [
      ["Size", sizeOf(bytes)],
      ["Purpose", purpose],
      ["Created", timeOf(created_at)],
      ...(expires_at ? [["Expires", timeOf(expires_at)] as const] : []),
    ],
  },
});
