import type OpenAI from "openai";
import type { App } from "../../app/app.ts";
import { BadInputError } from "../../contracts/errors.ts";
import { withoutAbsent } from "../../lib/without-absent.ts";
import { storeDetail, storesPage } from "../pages/inventory-stores-page.ts";
import { PAGE_ROWS } from "../pages/paged-table.ts";
import { dryRun } from "../routing/dry-run.ts";
import { type Endpoint, endpoint, ok } from "../routing/endpoint.ts";
import { listing } from "../routing/listing.ts";
import { type Arguments, optional, required, withDefault } from "../routing/parameters.ts";
import { oneOf, text, trueOrFalse, wholeNumber } from "../routing/values.ts";
import { asJob, carryOut, type InventoryChange, oneStep } from "./inventory-change.ts";
import { listPart } from "./inventory-listing.ts";
import { domainsOfStores, withUse } from "./inventory-usage.ts";
import {
  backendId,
  backendIds,
  idList,
  jsonObject,
  metadata,
  type StoreExpiry,
  storeExpiry,
} from "./inventory-values.ts";

const ROUTER = "inventory/vector_stores";
const COLUMNS = ["created_at", "name", "usage_bytes", "status", "last_active_at", "used_by_domain"];
export const DELETE_MODES = ["default", "with_files"] as const;

const fields = {
  name: optional(text, "What people call it; need not be unique."),
  metadata: optional(metadata, "Up to 16 texts by name."),
  expires_after: optional(storeExpiry, `{"anchor":"last_active_at","days":30}: when it goes if nobody uses it.`),
  expires_after_days: optional(
    wholeNumber({ from: 1, to: 365 }),
    "The same as a number of days, for forms; instead of 'expires_after'.",
  ),
};

const createFields = {
  ...fields,
  description: optional(text, "What it holds."),
  file_ids: optional(idList, "Files of the backend to begin with, up to 500."),
  chunking_strategy: optional(jsonObject, "How those files are cut, as the OpenAI protocol has it."),
};

export function inventoryVectorStores(app: App): Endpoint[] {
  return [list(app), create(app), get(app), update(app), remove(app), replicateEndpoint(app)];
}

function list(app: App): Endpoint {
  return endpoint({
    path: "/v2/inventory/vector_stores",
    methods: ["GET"],
    formats: ["json", "html", "ui"],
    description: "Lists the vector stores in the backend, newest first, each with the domain that uses it.",
    changes: null,
    query: listing(COLUMNS),
    examples: ["?format=json", "?format=json&limit=20&sort=name&filter=handbook", "?format=ui"],
    async run(args, { format }) {
      const users = await domainsOfStores(app);
      const limit = args.limit ?? (format === "ui" ? PAGE_ROWS : undefined);
      return listPart(
        async function* (wish) {
          for await (const page of app.inventory.stores.pages(wish)) yield page.map((store) => withUse(store, users));
        },
        { ...args, limit },
        { noun: "vector stores", largestPage: 100 },
      );
    },
    ui: storesPage,
  });
}

function create({ inventory }: App): Endpoint {
  const prepare = (body: Arguments<typeof createFields>, dry: boolean): InventoryChange => {
    const { expires_after, expires_after_days, file_ids, chunking_strategy, ...rest } = withoutAbsent(body);
    const expiry = expiryOf(expires_after, expires_after_days);
    const wanted = {
      ...rest,
      ...(expiry && { expires_after: expiry }),
      ...(file_ids && { file_ids: [...file_ids] }),
      // The backend checks what is in it.
      ...(chunking_strategy && { chunking_strategy: chunking_strategy as unknown as OpenAI.FileChunkingStrategyParam }),
    };
    const work = oneStep(`Creating vector store '${body.name ?? ""}'`, { object: "vector_store", ...wanted }, () =>
      inventory.stores.create(wanted),
    );
    return { router: ROUTER, action: "create", object: body.name ?? "", dryRun: dry, work };
  };
  return endpoint({
    path: "/v2/inventory/vector_stores/create",
    methods: ["POST"],
    formats: ["json", "html", "stream"],
    description: "Creates a vector store.",
    changes: "Adds a vector store to the backend.",
    query: { dry_run: dryRun },
    body: createFields,
    examples: [
      `curl '{origin}/v2/inventory/vector_stores/create' -H 'content-type: application/json' -d '{"name":"handbook","metadata":{"team":"HR"}}'`,
      "curl '{origin}/v2/inventory/vector_stores/create' -d name=handbook -d expires_after_days=30",
    ],
    run: async ({ body, dry_run }) => carryOut(prepare(body, dry_run)),
    job: async ({ body, dry_run }) => asJob(prepare(body, dry_run)),
  });
}

function get(app: App): Endpoint {
  return endpoint({
    path: "/v2/inventory/vector_stores/get",
    methods: ["GET"],
    formats: ["json", "html"],
    description: "Returns one vector store, with the domain that uses it.",
    changes: null,
    query: { vector_store_id: required(backendId, "The vector store.") },
    examples: ["?vector_store_id=vs_abc123", "?vector_store_id=vs_abc123&format=html"],
    run: async ({ vector_store_id }) =>
      ok(withUse(await app.inventory.stores.get(vector_store_id), await domainsOfStores(app))),
    html: ({ data }, _args, frame) => storeDetail(data, frame),
  });
}

function update({ inventory }: App): Endpoint {
  const prepare = async (
    id: string | undefined,
    body: Arguments<typeof fields>,
    dry: boolean,
  ): Promise<InventoryChange> => {
    if (id === undefined) throw new BadInputError("Missing 'vector_store_id'.");
    const before = await inventory.stores.get(id);
    const { expires_after, expires_after_days, name, metadata: facts } = withoutAbsent(body);
    const expiry = expiryOf(expires_after, expires_after_days);
    const changes = {
      ...(name !== undefined && { name }),
      ...(facts !== undefined && { metadata: facts }),
      ...(expiry !== undefined && { expires_after: expiry }),
    };
    const work = oneStep(`Updating vector store '${before.name}' (ID='${id}')`, { ...before, ...changes }, () =>
      inventory.stores.update(id, changes),
    );
    return { router: ROUTER, action: "update", object: id, dryRun: dry, work };
  };
  return endpoint({
    path: "/v2/inventory/vector_stores/update",
    methods: ["PUT"],
    formats: ["json", "html", "stream"],
    description: "Changes name, metadata or expiry of a vector store. Fields that are not given keep their value.",
    changes: "The vector store in the backend.",
    query: { vector_store_id: optional(backendId, "The vector store, here or in the body."), dry_run: dryRun },
    body: { vector_store_id: optional(backendId, "The vector store, here or in the query."), ...fields },
    examples: [
      `curl -X PUT '{origin}/v2/inventory/vector_stores/update?vector_store_id=vs_abc123' -H 'content-type: application/json' -d '{"name":"handbook 2026"}'`,
    ],
    run: async ({ vector_store_id: id, body, dry_run }) =>
      carryOut(await prepare(id ?? body.vector_store_id, body, dry_run)),
    job: async ({ vector_store_id: id, body, dry_run }) =>
      asJob(await prepare(id ?? body.vector_store_id, body, dry_run)),
  });
}

function remove(app: App): Endpoint {
  return endpoint({
    path: "/v2/inventory/vector_stores/delete",
    methods: ["DELETE", "GET"],
    formats: ["json", "html", "stream"],
    description:
      "Deletes a vector store, with mode=with_files also all its files, from the backend as a whole. Runs as a job. A store that a domain uses can be deleted: the answer names the domain, whose next crawl then says that its store is gone.",
    changes: "Removes the vector store in the backend, and with mode=with_files its files first, for good.",
    role: "admin",
    query: {
      vector_store_id: required(backendId, "The vector store."),
      mode: withDefault(
        oneOf(DELETE_MODES),
        "default",
        "with_files deletes every file of the store from the backend first, whoever else holds it.",
      ),
      dry_run: dryRun,
    },
    examples: [
      "?vector_store_id=vs_abc123&mode=with_files&dry_run=true",
      "curl -X DELETE '{origin}/v2/inventory/vector_stores/delete?vector_store_id=vs_abc123'",
    ],
    async job({ vector_store_id: id, mode, dry_run }) {
      const store = withUse(await app.inventory.stores.get(id), await domainsOfStores(app));
      return asJob({
        router: ROUTER,
        action: "delete",
        object: id,
        dryRun: dry_run,
        async work(steps) {
          const { used_by_domain: user } = store;
          if (user !== "") steps.log(`WARNING: Vector store '${id}' is the one of domain '${user}'.`);
          return app.inventory.stores.delete(store, mode, steps);
        },
      });
    },
  });
}

function expiryOf(
  given: StoreExpiry | null | undefined,
  days: number | undefined,
): { anchor: "last_active_at"; days: number } | null | undefined {
  if (given !== undefined && days !== undefined) {
    throw new BadInputError("Give either 'expires_after' or 'expires_after_days', not both.");
  }
  return days === undefined ? given : { anchor: "last_active_at", days };
}

function replicateEndpoint(app: App): Endpoint {
  return endpoint({
    path: "/v2/inventory/vector_stores/replicate",
    methods: ["GET"],
    formats: ["json", "html", "stream"],
    description:
      "Collects the files of the source vector stores, each once, and adds to every target what it lacks, with attributes and chunking. Runs as a job that waits until the files can be searched and names every one that fails.",
    changes: "Adds files to the target vector stores; takes others out when asked to.",
    destroys: (args) => args.remove_target_files_not_in_sources,
    query: {
      source_vector_store_ids: required(backendIds, "Where the files come from."),
      target_vector_store_ids: required(backendIds, "Where they are to be."),
      remove_target_files_not_in_sources: withDefault(
        trueOrFalse,
        false,
        "true then takes files out of the targets that no source has, unless a file could not be added or the sources are empty.",
      ),
      dry_run: dryRun,
    },
    examples: [
      "?source_vector_store_ids=vs_1,vs_2&target_vector_store_ids=vs_3&dry_run=true",
      "?source_vector_store_ids=vs_1&target_vector_store_ids=vs_3,vs_4&remove_target_files_not_in_sources=true&format=stream",
    ],
    async job(args) {
      const { source_vector_store_ids: sources, target_vector_store_ids: targets } = args;
      const both = sources.find((id) => targets.includes(id));
      if (both !== undefined) throw new BadInputError(`Vector store '${both}' is both a source and a target.`);
      const request = { sources, targets, removeOthers: args.remove_target_files_not_in_sources };
      await app.inventory.stores.checkReplicate(request);
      const users = await domainsOfStores(app);
      return asJob({
        router: "inventory/vector_stores",
        action: "replicate",
        object: targets.join(","),
        dryRun: args.dry_run,
        async work(steps) {
          for (const id of targets) {
            const user = users.get(id);
            if (user !== undefined) steps.log(warning(id, user));
          }
          return app.inventory.stores.replicate(request, steps);
        },
      });
    },
  });
}

function warning(store: string, domain: string): string {
  return `WARNING: Target '${store}' belongs to domain '${domain}'. Its crawls leave files alone that were added here, and add crawled ones again that were removed.`;
}
