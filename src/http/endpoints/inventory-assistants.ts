import type { App } from "../../app/app.ts";
import { BadInputError, NotFoundError } from "../../contracts/errors.ts";
import { RETIRED, storesOf } from "../../inventory/assistants.ts";
import { withoutAbsent } from "../../lib/without-absent.ts";
import { assistantDetail, assistantsPage } from "../pages/inventory-assistants-page.ts";
import { PAGE_ROWS } from "../pages/paged-table.ts";
import { dryRun } from "../routing/dry-run.ts";
import { type Endpoint, endpoint, ok } from "../routing/endpoint.ts";
import { listing } from "../routing/listing.ts";
import { type Arguments, optional, required, withDefault } from "../routing/parameters.ts";
import { oneOf, text, words } from "../routing/values.ts";
import { asJob, carryOut, type InventoryChange, oneStep } from "./inventory-change.ts";
import { listPart } from "./inventory-listing.ts";
import { domainsOfStores } from "./inventory-usage.ts";
import { backendId, decimal, jsonArray, jsonObject, metadata } from "./inventory-values.ts";
import { DELETE_MODES } from "./inventory-vector-stores.ts";

const ROUTER = "inventory/assistants";
const COLUMNS = ["created_at", "name", "model"];

const fields = {
  name: optional(text, "What people call it."),
  description: optional(text, "What it is for."),
  instructions: optional(text, "What it is told before every question."),
  vector_store_id: optional(backendId, "The vector store it searches; instead of 'tools' and 'tool_resources'."),
  tools: optional(jsonArray, "Its tools, as the OpenAI protocol has them."),
  tool_resources: optional(jsonObject, "What the tools use, as the OpenAI protocol has it."),
  metadata: optional(metadata, "Up to 16 texts by name."),
  temperature: optional(decimal({ from: 0, to: 2 }), "How freely it answers."),
  top_p: optional(decimal({ from: 0, to: 1 }), "Another way to say how freely."),
};

export function inventoryAssistants(app: App): Endpoint[] {
  return [list(app), create(app), get(app), update(app), remove(app)];
}

function list({ inventory }: App): Endpoint {
  return endpoint({
    path: "/v2/inventory/assistants",
    methods: ["GET"],
    formats: ["json", "html", "ui"],
    description:
      "Lists the assistants in the backend, newest first. OpenAI retired them in August 2026: a backend without them answers an empty list, and 'error' says so.",
    changes: null,
    query: listing(COLUMNS),
    examples: ["?format=json", "?format=ui"],
    async run(args, { format }) {
      const limit = args.limit ?? (format === "ui" ? PAGE_ROWS : undefined);
      const options = { noun: "assistants", largestPage: 100 };
      try {
        return await listPart((wish) => inventory.assistants.pages(wish), { ...args, limit }, options);
      } catch (error) {
        if (error instanceof NotFoundError) return { ok: false, error: RETIRED, data: [] };
        throw error;
      }
    },
    ui: assistantsPage,
  });
}

function create({ inventory }: App): Endpoint {
  const prepare = (model: string, body: Arguments<typeof fields>, dry: boolean): InventoryChange => {
    const wanted = { model, ...settingsOf(body) };
    const work = oneStep(`Creating assistant '${body.name ?? ""}'`, { object: "assistant", ...wanted }, () =>
      inventory.assistants.create(wanted),
    );
    return { router: ROUTER, action: "create", object: body.name ?? "", dryRun: dry, work };
  };
  return endpoint({
    path: "/v2/inventory/assistants/create",
    methods: ["POST"],
    formats: ["json", "html", "stream"],
    description: "Creates an assistant, where the backend still has them.",
    changes: "Adds an assistant to the backend.",
    query: { dry_run: dryRun },
    body: { model: required(words, "The model that answers."), ...fields },
    examples: [
      `curl '{origin}/v2/inventory/assistants/create' -H 'content-type: application/json' -d '{"model":"gpt-4o","name":"Help desk","vector_store_id":"vs_abc123"}'`,
    ],
    run: async ({ body, dry_run }) => carryOut(prepare(body.model, body, dry_run)),
    job: async ({ body, dry_run }) => asJob(prepare(body.model, body, dry_run)),
  });
}

function get({ inventory }: App): Endpoint {
  return endpoint({
    path: "/v2/inventory/assistants/get",
    methods: ["GET"],
    formats: ["json", "html"],
    description: "Returns one assistant.",
    changes: null,
    query: { assistant_id: required(backendId, "The assistant.") },
    examples: ["?assistant_id=asst_abc123", "?assistant_id=asst_abc123&format=html"],
    run: async ({ assistant_id }) => ok(await inventory.assistants.get(assistant_id)),
    html: ({ data }, _args, frame) => assistantDetail(data, frame),
  });
}

const updateFields = { model: optional(words, "The model that answers."), ...fields };

function update({ inventory }: App): Endpoint {
  const prepare = async (
    id: string | undefined,
    { model, ...body }: Arguments<typeof updateFields>,
    dry: boolean,
  ): Promise<InventoryChange> => {
    if (id === undefined) throw new BadInputError("Missing 'assistant_id'.");
    const before = await inventory.assistants.get(id);
    const changes = { ...(model !== undefined && { model }), ...settingsOf(body) };
    const label = `Updating assistant '${before.name ?? ""}' (ID='${id}')`;
    const work = oneStep(label, { ...before, ...changes }, () => inventory.assistants.update(id, changes));
    return { router: ROUTER, action: "update", object: id, dryRun: dry, work };
  };
  return endpoint({
    path: "/v2/inventory/assistants/update",
    methods: ["PUT"],
    formats: ["json", "html", "stream"],
    description: "Changes an assistant. Fields that are not given keep their value.",
    changes: "The assistant in the backend.",
    query: { assistant_id: optional(backendId, "The assistant, here or in the body."), dry_run: dryRun },
    body: { assistant_id: optional(backendId, "The assistant, here or in the query."), ...updateFields },
    examples: [
      `curl -X PUT '{origin}/v2/inventory/assistants/update?assistant_id=asst_abc123' -H 'content-type: application/json' -d '{"name":"Help desk 2"}'`,
    ],
    run: async ({ assistant_id, body: { assistant_id: inBody, ...body }, dry_run }) =>
      carryOut(await prepare(assistant_id ?? inBody, body, dry_run)),
    job: async ({ assistant_id, body: { assistant_id: inBody, ...body }, dry_run }) =>
      asJob(await prepare(assistant_id ?? inBody, body, dry_run)),
  });
}

function remove(app: App): Endpoint {
  return endpoint({
    path: "/v2/inventory/assistants/delete",
    methods: ["DELETE", "GET"],
    formats: ["json", "html", "stream"],
    description:
      "Deletes an assistant, with mode=with_files also the vector store it searches and all files of that store. Runs as a job.",
    changes: "Removes the assistant in the backend, and with mode=with_files first the files, then the vector store.",
    role: "admin",
    query: {
      assistant_id: required(backendId, "The assistant."),
      mode: withDefault(
        oneOf(DELETE_MODES),
        "default",
        "with_files deletes the files of its vector store and the store first, whoever else uses them.",
      ),
      dry_run: dryRun,
    },
    examples: ["?assistant_id=asst_abc123&mode=with_files&dry_run=true"],
    async job({ assistant_id: id, mode, dry_run }) {
      const assistant = await app.inventory.assistants.get(id);
      const users = await domainsOfStores(app);
      return asJob({
        router: ROUTER,
        action: "delete",
        object: id,
        dryRun: dry_run,
        async work(steps) {
          const used = mode === "with_files" ? storesOf(assistant).filter((store) => users.has(store)) : [];
          for (const store of used) {
            steps.log(`WARNING: Vector store '${store}' is the one of domain '${users.get(store)}'.`);
          }
          const told = { ...assistant, used_by_domain: users.get(used[0] ?? "") ?? "" };
          return app.inventory.assistants.delete(told, mode, steps);
        },
      });
    },
  });
}

/** The backend checks what is in tools and resources: it knows which it has. */
function settingsOf(body: Arguments<typeof fields>): Record<never, never> {
  const { vector_store_id: store, ...rest } = withoutAbsent(body);
  if (store === undefined) return rest;
  if (rest.tools !== undefined || rest.tool_resources !== undefined) {
    throw new BadInputError("Give either 'vector_store_id' or 'tools' and 'tool_resources', not both.");
  }
  return {
    ...rest,
    tools: [{ type: "file_search" }],
    tool_resources: { file_search: { vector_store_ids: [store] } },
  };
}
