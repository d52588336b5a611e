import type { App } from "../../app/app.ts";
import type { Domain } from "../../contracts/domain.ts";
import type { DomainId } from "../../contracts/ids.ts";
import { describedPage } from "../pages/certificate-pages.ts";
import { type Answer, type Endpoint, endpoint, ok } from "../routing/endpoint.ts";
import { type Envelope, plainFailure } from "../routing/envelope.ts";
import { optional } from "../routing/parameters.ts";
import { domainId } from "../routing/values.ts";
import { type ProofJson, toProofJson } from "./certificate-codec.ts";

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
    endpoint({
      path: "/v2/describe",
      methods: ["GET"],
      formats: ["json", "html"],
      description:
        "Tells what can be searched here, and how far that is proved: each domain with its latest certificate, which says whether index and source said the same, and whether it is older than the domain allows.",
      changes: null,
      query: { domain_id: optional(domainId, "Only this domain.") },
      examples: ["?format=json", "?domain_id=DEMO", "?format=html"],
      run: ({ domain_id }) => describeWithProof(app, domain_id),
      html: ({ data }, _args, frame) => describedPage(data.domains, frame),
    }),
  ];
}

async function describe({ domains, config: { search } }: App): Promise<Answer<Description>> {
  const shown = (await domains.list()).domains.filter((domain) => isShown(domain, search.defaultVectorStoreId));
  // Clients select by name, so two domains with the same name are shown as one.
  const byName = new Map(shown.map(({ name, description }) => [name, { name, description }]));
  return ok({
    description: "This tool can search the content of documents.",
    domains: [...byName.values()],
    content_root: search.contentRoot,
  });
}

export interface ProvedDomain {
  readonly domain_id: string;
  readonly name: string;
  readonly description: string;
  readonly vector_store_id: string;
  /** Without a certificate, too. */
  readonly late: boolean;
  readonly certificate: ProofJson | null;
}

interface ProvedDescription extends Omit<Description, "domains"> {
  readonly domains: readonly ProvedDomain[];
}

async function describeWithProof(app: App, only: DomainId | undefined): Promise<Answer<ProvedDescription>> {
  const { data } = await describe(app);
  const { domains } = only === undefined ? await app.domains.list() : { domains: [await app.domains.get(only)] };
  const shown = domains.filter(({ domainId: id }) => id === only || !id.startsWith("_"));
  const proved = shown.map(async (domain) => {
    const { domainId: domain_id, name, description, vectorStoreId: vector_store_id } = domain;
    const status = await app.certificates.status(domain);
    const certificate = toProofJson(domain_id, status);
    return { domain_id, name, description, vector_store_id, late: status.isLate, certificate };
  });
  return ok({ ...data, domains: await Promise.all(proved) });
}

/** Hides the default store, which a query without a store uses anyway, and domains that begin with `_`, which are not for clients. */
function isShown({ domainId, vectorStoreId }: Domain, defaultStoreId: string): boolean {
  return !domainId.startsWith("_") && (vectorStoreId === "" || vectorStoreId !== defaultStoreId);
}
