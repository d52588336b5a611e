import type { App } from "../../app/app.ts";
import { NotFoundError } from "../../contracts/errors.ts";
import { requireRole } from "../middleware/require-role.ts";
import { storeFileDetail, storeFilesPage } from "../pages/inventory-store-files-page.ts";
import { PAGE_ROWS } from "../pages/paged-table.ts";
import { dryRun } from "../routing/dry-run.ts";
import { type Call, type Endpoint, endpoint, ok } from "../routing/endpoint.ts";
import { listing } from "../routing/listing.ts";
import { required, withDefault } from "../routing/parameters.ts";
import { oneOf } from "../routing/values.ts";
import { asJob, carryOut, type InventoryChange, oneStep } from "./inventory-change.ts";
import { listPart } from "./inventory-listing.ts";
import { domainsOfStores, withUse } from "./inventory-usage.ts";
import { backendId } from "./inventory-values.ts";

const vectorStoreId = required(backendId, "The vector store.");
const fileId = required(backendId, "The file.");
const COLUMNS = ["created_at", "filename", "usage_bytes", "status"];

export function inventoryStoreFiles(app: App): Endpoint[] {
  return [list(app), get(app), remove(app)];
}

function list(app: App): Endpoint {
  return endpoint({
    path: "/v2/inventory/vector_stores/files",
    methods: ["GET"],
    formats: ["json", "html"],
    description: "Lists the files of one vector store, newest first, with their names and how their embedding went.",
    changes: null,
    query: { vector_store_id: vectorStoreId, ...listing(COLUMNS) },
    examples: ["?vector_store_id=vs_abc123", "?vector_store_id=vs_abc123&format=html&filter=failed"],
    run: ({ vector_store_id, ...args }, { format }) => {
      const limit = args.limit ?? (format === "html" ? PAGE_ROWS : undefined);
      return listPart(
        (wish) => app.inventory.storeFiles.pages(vector_store_id, wish),
        { ...args, limit },
        { noun: "files", largestPage: 100 },
      );
    },
    async html(answer, { vector_store_id, ...args }, frame) {
      const store = withUse(await app.inventory.stores.get(vector_store_id), await domainsOfStores(app));
      return storeFilesPage(answer, args, store, frame);
    },
  });
}

function get({ inventory }: App): Endpoint {
  return endpoint({
    path: "/v2/inventory/vector_stores/files/get",
    methods: ["GET"],
    formats: ["json", "html"],
    description: "Returns one file of a vector store: status, attributes, chunking, and why its embedding failed.",
    changes: null,
    query: { vector_store_id: vectorStoreId, file_id: fileId },
    examples: ["?vector_store_id=vs_abc123&file_id=file-abc123"],
    run: async ({ vector_store_id, file_id }) => ok(await inventory.storeFiles.get(vector_store_id, file_id)),
    html: ({ data }, _args, frame) => storeFileDetail(data, frame),
  });
}

interface Wish {
  readonly vector_store_id: string;
  readonly file_id: string;
  readonly mode: "default" | "delete_globally";
  readonly dry_run: boolean;
}

function remove(app: App): Endpoint {
  return endpoint({
    path: "/v2/inventory/vector_stores/files/delete",
    methods: ["DELETE", "GET"],
    formats: ["json", "html", "stream"],
    description:
      "Takes a file out of a vector store, with mode=delete_globally also out of the backend. A crawled file that is taken out of its domain's store comes back with the next crawl.",
    changes:
      "Removes the file from the vector store, and with mode=delete_globally, which takes the role admin, the file itself, for good.",
    query: {
      vector_store_id: vectorStoreId,
      file_id: fileId,
      mode: withDefault(
        oneOf(["default", "delete_globally"]),
        "default",
        "delete_globally then deletes the file in the backend, and with that from every store; for admins.",
      ),
      dry_run: dryRun,
    },
    examples: [
      "?vector_store_id=vs_abc123&file_id=file-abc123&dry_run=true",
      "curl -X DELETE '{origin}/v2/inventory/vector_stores/files/delete?vector_store_id=vs_abc123&file_id=file-abc123&mode=delete_globally'",
    ],
    run: async (args, call) => carryOut(await prepareRemoval(app, args, call)),
    job: async (args, call) => asJob(await prepareRemoval(app, args, call)),
  });
}

async function prepareRemoval(app: App, wish: Wish, { principal }: Pick<Call, "principal">): Promise<InventoryChange> {
  const { vector_store_id, file_id, mode, dry_run } = wish;
  if (mode === "delete_globally") requireRole(principal, "admin");
  const { files, storeFiles } = app.inventory;
  const users = await domainsOfStores(app);
  const { held, ...found } = await findRemoved(app, wish);
  const file = { ...found, mode, used_by_domain: users.get(vector_store_id) ?? "" };
  const verb = mode === "default" ? "Removing" : held ? "Removing and deleting" : "Deleting";
  const label = `${verb} file '${file.filename}' (ID='${file_id}') of vector store '${vector_store_id}'`;
  const work = oneStep(label, file, async () => {
    if (held) await storeFiles.detach(vector_store_id, file_id);
    // A name is only there while the file itself is.
    if (mode === "delete_globally" && file.filename !== "") await files.delete(file_id);
    return file;
  });
  return { router: "inventory/vector_stores", action: "delete_file", object: file_id, dryRun: dry_run, work };
}

/** A file that an earlier attempt took out of the store, and then could not delete, is still there to be deleted. */
async function findRemoved(
  { inventory: { files, stores, storeFiles } }: App,
  { vector_store_id, file_id, mode }: Wish,
): Promise<{ readonly held: boolean; readonly filename: string }> {
  try {
    return { held: true, ...(await storeFiles.get(vector_store_id, file_id)) };
  } catch (error) {
    if (mode === "default" || !(error instanceof NotFoundError)) throw error;
    await stores.get(vector_store_id);
    return { held: false, ...(await files.get(file_id)) };
  }
}
