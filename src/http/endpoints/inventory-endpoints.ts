import type { App } from "../../app/app.ts";
import { explain } from "../../contracts/errors.ts";
import type { Pages } from "../../inventory/inventory.ts";
import type { PageWish } from "../../inventory/read-pages.ts";
import { inventoryPage, type ResourceCount } from "../pages/inventory-page.ts";
import { type Endpoint, endpoint, ok } from "../routing/endpoint.ts";
import { inventoryAssistants } from "./inventory-assistants.ts";
import { inventoryFiles } from "./inventory-files.ts";
import { inventoryResponses } from "./inventory-responses.ts";
import { inventoryStoreFiles } from "./inventory-store-files.ts";
import { inventoryVectorStores } from "./inventory-vector-stores.ts";

export function inventoryEndpoints(app: App): Endpoint[] {
  return [
    overview(app),
    ...inventoryFiles(app),
    ...inventoryVectorStores(app),
    ...inventoryStoreFiles(app),
    ...inventoryAssistants(app),
    ...inventoryResponses(app),
  ];
}

function overview({ inventory }: App): Endpoint {
  return endpoint({
    path: "/v2/inventory",
    methods: ["GET"],
    formats: ["ui"],
    description: "What the backend holds, as pages: files, vector stores, assistants and responses.",
    changes: null,
    query: {},
    examples: ["?format=ui"],
    async run(_args, { principal }) {
      const [files, stores, assistants] = await Promise.all([
        count((wish) => inventory.files.pages(wish)),
        count((wish) => inventory.stores.pages(wish)),
        count((wish) => inventory.assistants.pages(wish)),
      ]);
      const responses: ResourceCount = {
        found: (await inventory.responses.list(principal)).length,
        more: false,
        error: "",
      };
      return ok({ files, stores, assistants, responses });
    },
    ui: ({ data }, _args, frame) => inventoryPage(data, frame),
  });
}

/** What one request of the backend tells; trouble with one kind is no trouble for the others. */
async function count(pages: (wish: PageWish) => Pages<unknown>): Promise<ResourceCount> {
  try {
    let found = 0;
    for await (const page of pages({ order: "desc", pageSize: 100 })) {
      if (found > 0) return { found, more: true, error: "" };
      found = page.length;
    }
    return { found, more: false, error: "" };
  } catch (error) {
    return { found: 0, more: false, error: explain(error) };
  }
}
