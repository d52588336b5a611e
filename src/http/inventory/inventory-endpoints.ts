import { html } from "hono/html";
import type { App } from "../../app/app.ts";
import { explain } from "../../contracts/errors.ts";
import type { PageQuery, Pages } from "../../inventory/inventory.ts";
import { type Frame, type Html, layout } from "../pages/layout.ts";
import { type Endpoint, endpoint, ok } from "../routing/endpoint.ts";
import { assistants } from "./assistants.ts";
import { files } from "./files.ts";
import { listAddress, type ResourceIdentity } from "./resource.ts";
import { resourceEndpoints } from "./resource-endpoints.ts";
import { responses } from "./responses.ts";
import { replicateEndpoint, storeFiles, vectorStores } from "./vector-stores.ts";

export function inventoryEndpoints(app: App): Endpoint[] {
  return [
    overview(app),
    ...resourceEndpoints(app, files),
    ...resourceEndpoints(app, vectorStores),
    replicateEndpoint(app),
    ...resourceEndpoints(app, storeFiles),
    ...resourceEndpoints(app, assistants),
    ...resourceEndpoints(app, responses),
  ];
}

interface ResourceSummary {
  readonly resource: Pick<ResourceIdentity, "path" | "title">;
  readonly lede: string;
  readonly count: ResourceCount;
}

/** The number of objects, as far as one request to the backend says. */
interface ResourceCount {
  readonly found: number;
  /** true: at least this many. */
  readonly more: boolean;
  /** Why it is unknown; "" if it is known. */
  readonly error: string;
}

function overview(app: App): Endpoint {
  return endpoint({
    path: "/v2/inventory",
    methods: ["GET"],
    formats: ["ui"],
    description: "What the backend holds, as pages: files, vector stores, assistants and responses.",
    changes: null,
    query: {},
    examples: ["?format=ui"],
    async run(_args, { principal }) {
      // Read here: it loads the client of the wire protocol, a quarter of all modules, which a server would load to start.
      const { inventory } = app;
      const [stores, all, older] = await Promise.all([
        count((query) => inventory.stores.pages(query)),
        count((query) => inventory.files.pages(query)),
        count((query) => inventory.assistants.pages(query)),
      ]);
      const found = (await inventory.responses.list(principal)).length;
      const summaries: readonly ResourceSummary[] = [
        {
          resource: vectorStores,
          lede: "Embedded files, ready to be searched. Each domain fills one of its own.",
          count: stores,
        },
        {
          resource: files,
          lede: "Uploaded files and crawled documents. A file can be in several vector stores.",
          count: all,
        },
        {
          resource: assistants,
          lede: "Model, instructions and vector store under one name. Kept for older applications.",
          count: older,
        },
        {
          resource: responses,
          lede: "Answers of a model that were created through this server.",
          count: { found, more: false, error: "" },
        },
      ];
      return ok(summaries);
    },
    ui: ({ data }, _args, frame) => overviewPage(data, frame),
  });
}

/** Reads one page. A failure of one resource does not keep the others from being counted. */
async function count(pages: (query: PageQuery) => Pages<unknown>): Promise<ResourceCount> {
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

function overviewPage(summaries: readonly ResourceSummary[], frame: Frame): Html {
  return layout({
    frame,
    title: "Inventory · lockstep",
    body: html`<header class="page-head"><h1>Inventory</h1>
<p class="lede">What the ${frame.product.backend} backend holds, whoever put it there.</p></header>
<ul class="inventory-cards">
${summaries.map((summary) => html`${card(summary)}\n`)}</ul>`,
  });
}

function card({ resource: { path, title }, lede, count: { found, more, error } }: ResourceSummary): Html {
  return html`<li class="panel inventory-card">
<h2><a href="${listAddress(path)}">${title}</a></h2>
${error === "" ? html`<p class="inventory-count">${found}${more ? "+" : ""}</p>` : html`<p class="notice warn">${error}</p>`}
<p class="quiet">${lede}</p></li>`;
}
