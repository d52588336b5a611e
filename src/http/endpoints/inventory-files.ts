import type { App } from "../../app/app.ts";
import { fileDetail, filesPage } from "../pages/inventory-files-page.ts";
import { PAGE_ROWS } from "../pages/paged-table.ts";
import { dryRun } from "../routing/dry-run.ts";
import { type Endpoint, endpoint, ok } from "../routing/endpoint.ts";
import { listing } from "../routing/listing.ts";
import { required } from "../routing/parameters.ts";
import { asJob, carryOut, type InventoryChange, oneStep } from "./inventory-change.ts";
import { listPart } from "./inventory-listing.ts";
import { backendId } from "./inventory-values.ts";

const fileId = required(backendId, "The file.");
const COLUMNS = ["created_at", "filename", "bytes", "purpose"];

export function inventoryFiles(app: App): Endpoint[] {
  return [list(app), get(app), remove(app)];
}

function list({ inventory }: App): Endpoint {
  return endpoint({
    path: "/v2/inventory/files",
    methods: ["GET"],
    formats: ["json", "html", "ui"],
    description: "Lists the files in the backend, newest first: uploaded ones and crawled documents.",
    changes: null,
    query: listing(COLUMNS),
    examples: ["?format=json", "?format=json&limit=20&sort=-created_at&filter=handbook", "?format=ui"],
    run: (args, { format }) => {
      const limit = args.limit ?? (format === "ui" ? PAGE_ROWS : undefined);
      return listPart(
        (wish) => inventory.files.pages(wish),
        { ...args, limit },
        { noun: "files", largestPage: 10_000 },
      );
    },
    ui: filesPage,
  });
}

function get({ inventory }: App): Endpoint {
  return endpoint({
    path: "/v2/inventory/files/get",
    methods: ["GET"],
    formats: ["json", "html"],
    description: "Returns what the backend says of one file.",
    changes: null,
    query: { file_id: fileId },
    examples: ["?file_id=file-abc123", "?file_id=file-abc123&format=html"],
    run: async ({ file_id }) => ok(await inventory.files.get(file_id)),
    html: ({ data }, _args, frame) => fileDetail(data, frame),
  });
}

function remove({ inventory }: App): Endpoint {
  const prepare = async (id: string, dry: boolean): Promise<InventoryChange> => {
    const file = await inventory.files.get(id);
    const apply = async () => {
      await inventory.files.delete(id);
      return file;
    };
    const work = oneStep(`Deleting file '${file.filename}' (ID='${id}')`, file, apply);
    return { router: "inventory/files", action: "delete", object: id, dryRun: dry, work };
  };
  return endpoint({
    path: "/v2/inventory/files/delete",
    methods: ["DELETE", "GET"],
    formats: ["json", "html", "stream"],
    description: "Deletes a file from the backend, and with that from every vector store. Returns what it was.",
    changes: "Removes the file in the backend, for good.",
    role: "admin",
    query: { file_id: fileId, dry_run: dryRun },
    examples: [
      "?file_id=file-abc123&dry_run=true",
      "curl -X DELETE '{origin}/v2/inventory/files/delete?file_id=file-abc123'",
    ],
    run: async ({ file_id, dry_run }) => carryOut(await prepare(file_id, dry_run)),
    job: async ({ file_id, dry_run }) => asJob(await prepare(file_id, dry_run)),
  });
}
