import type { App } from "../../app/app.ts";
import type { Domain } from "../../contracts/domain.ts";
import { type Answer, type Endpoint, endpoint, ok } from "../routing/endpoint.ts";
import { type Envelope, plainFailure } from "../routing/envelope.ts";

/** What older clients read before their first query. */
interface Description {
  readonly description: string;
  readonly domains: readonly { readonly name: string; readonly description: string }[];
  readonly content_root: string;
}

const describeEnvelope: Envelope = {
  name: "Description",
  answer: ({ data }) => ({ data }),
  ...plainFailure,
  answerSchema: {
    type: "object",
    required: ["data"],
    properties: {
      data: {
        type: "object",
        required: ["description", "domains", "content_root"],
        properties: {
          description: { type: "string" },
          domains: {
            type: "array",
            items: {
              type: "object",
              required: ["name", "description"],
              properties: { name: { type: "string" }, description: { type: "string" } },
            },
          },
          content_root: { type: "string" },
        },
      },
    },
  },
};

const shared = {
  description: "Tells what can be searched here: the domains, and where their documents come from.",
  changes: null,
  unknownParameters: "tolerated",
  query: {},
  envelope: describeEnvelope,
} as const;

export function describeEndpoints(app: App): Endpoint[] {
  const run = (): Promise<Answer<Description>> => describe(app);
  return [
    endpoint({
      ...shared,
      path: "/describe",
      methods: ["POST"],
      formats: ["json"],
      examples: ["curl -X POST '{origin}/describe'"],
      run,
    }),
    endpoint({
      ...shared,
      path: "/describe2",
      methods: ["GET"],
      formats: ["html", "json"],
      examples: ["?format=json", "?format=html"],
      run,
    }),
  ];
}

async function describe({ domains, config: { search } }: App): Promise<Answer<Description>> {
  const shown = (await domains.list()).domains.filter((domain) => isShown(domain, search.defaultVectorStoreId));
  // Clients select by name, so two domains with the same name are shown as one.
  const byName = new Map(shown.map(({ name, description }) => [name, { name, description }]));
  return ok({
    description: "This tool can search the content of SharePoint documents.",
    domains: [...byName.values()],
    content_root: search.contentRoot,
  });
}

/** Hides the default store, which a query without a store uses anyway, and domains that begin with `_`, which are not for clients. */
function isShown({ domainId, vectorStoreId }: Domain, defaultStoreId: string): boolean {
  return !domainId.startsWith("_") && (vectorStoreId === "" || vectorStoreId !== defaultStoreId);
}
