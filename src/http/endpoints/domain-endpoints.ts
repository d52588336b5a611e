import type { App } from "../../app/app.ts";
import { BadInputError, NotFoundError } from "../../contracts/errors.ts";
import type { DomainId } from "../../contracts/ids.ts";
import { parseDomainInput } from "../../domains/domain-input.ts";
import { refuseSharedStore } from "../../domains/shared-store.ts";
import type { JsonObject } from "../../lib/json-object.ts";
import { withoutAbsent } from "../../lib/without-absent.ts";
import { dryRun } from "../grammar/dry-run.ts";
import { type Endpoint, endpoint, ok } from "../grammar/endpoint.ts";
import { listing, takePart } from "../grammar/listing.ts";
import { required, withDefault } from "../grammar/parameters.ts";
import { domainId, oneOf, words } from "../grammar/values.ts";
import { domainPage } from "../pages/domain-page.ts";
import { domainsUi } from "../pages/domains-page.ts";
import { PAGE_ROWS } from "../pages/paged-table.ts";
import { asJob, carryOut, type DomainChange, showDomain } from "./domain-change.ts";
import { domainFields } from "./domain-fields.ts";
import { updateDomain } from "./domain-update.ts";

const CREATE_EXAMPLE = `curl '{origin}/v2/domains/create' -H 'content-type: application/json' -d '{"domain_id":"DEMO","name":"Demo","file_sources":[{"source_id":"documents","site_url":"https://example.sharepoint.com/sites/demo","sharepoint_url_part":"/Shared Documents","filter":""}]}'`;

const COLUMNS = [
  "domain_id",
  "name",
  "description",
  "vector_store_name",
  "vector_store_id",
  "schedule",
  "next_run_utc",
];

export function domainEndpoints(app: App): Endpoint[] {
  return [listDomains(app), getDomain(app), createDomain(app), updateDomain(app), deleteDomain(app)];
}

function listDomains(app: App): Endpoint {
  return endpoint({
    path: "/v2/domains",
    methods: ["GET"],
    formats: ["json", "html", "ui"],
    description: "Lists the domains: knowledge bases, each with its sources and its vector store.",
    changes: null,
    query: listing(COLUMNS),
    examples: ["?format=json", "?format=html", "?format=ui", "?format=json&sort=-name&limit=20"],
    async run(args, { format }) {
      const { domains, broken } = await app.domains.list();
      const error = broken.map((one) => `Domain '${one.domainId}' cannot be read: ${one.reason}`).join(" ");
      const { rows, page } = takePart(
        domains.map((domain) => showDomain(app, domain)),
        { ...args, limit: args.limit ?? (format === "ui" ? PAGE_ROWS : undefined) },
      );
      return { ok: error === "", error, data: rows, page };
    },
    ui: (answer, args, frame) => domainsUi(app, answer, args, frame),
  });
}

function getDomain(app: App): Endpoint {
  return endpoint({
    path: "/v2/domains/get",
    methods: ["GET"],
    formats: ["json", "html"],
    description: "Returns one domain, with the time of its next scheduled crawl.",
    changes: null,
    query: { domain_id: required(domainId, "The domain.") },
    examples: ["?domain_id=DEMO", "?domain_id=DEMO&format=html"],
    async run({ domain_id }) {
      const domain = showDomain(app, await app.domains.get(domain_id));
      const others = await app.otherStores(domain_id);
      const shown = others.map(({ vectorStoreId, state, since }) => ({
        vector_store_id: vectorStoreId,
        state,
        since_utc: since,
      }));
      return ok(shown.length === 0 ? domain : { ...domain, other_vector_stores: shown });
    },
    html: (answer, { domain_id }, frame) => domainPage(app, answer, domain_id, frame),
  });
}

function createDomain(app: App): Endpoint {
  const { domains } = app;
  const prepare = async (body: object): Promise<DomainChange> => {
    const domain = parseDomainInput(withoutAbsent(body), app.domains.kinds);
    const id = domain.domainId;
    if (await exists(domains, id)) throw new BadInputError(`Domain '${id}' already exists.`);
    if (domain.vectorStoreId !== "") refuseSharedStore(domain, (await domains.list()).domains);
    await app.checkPlaces(domain.sources);
    return {
      action: "create",
      domainId: id,
      foreseen: showDomain(app, domain),
      async apply(log) {
        log(`[ 1 / 1 ] create domain '${id}'...`);
        return showDomain(app, await domains.create(domain));
      },
    };
  };
  return endpoint({
    path: "/v2/domains/create",
    methods: ["POST"],
    formats: ["json", "html", "stream"],
    description: "Creates a domain.",
    changes: "Adds domains/<domain_id>/domain.json.",
    role: "admin",
    query: { dry_run: dryRun },
    body: {
      domain_id: required(domainId, "Its id, which becomes a folder name."),
      name: required(words, "What people call it."),
      ...domainFields(app.domains.kinds),
    },
    examples: [CREATE_EXAMPLE],
    run: async ({ body, dry_run }) => carryOut(await prepare(body), dry_run),
    job: async ({ body, dry_run }) => asJob(await prepare(body), dry_run),
  });
}

const DELETE_MODES = ["default", "with_vector_store"] as const;

function deleteDomain(app: App): Endpoint {
  const prepare = async (id: DomainId, mode: (typeof DELETE_MODES)[number]): Promise<DomainChange> => {
    const deletion = await app.planDeletion(id, { withVectorStore: mode === "with_vector_store" });
    const shown: JsonObject = showDomain(app, deletion.domain);
    return {
      action: "delete",
      domainId: id,
      foreseen: { ...shown, would_delete: [...deletion.changes] },
      async apply(log, jobId) {
        await deletion.apply(log, jobId);
        return shown;
      },
    };
  };
  return endpoint({
    path: "/v2/domains/delete",
    methods: ["DELETE", "GET"],
    formats: ["json", "html", "stream"],
    description: "Deletes a domain. Its vector store stays, unless mode=with_vector_store.",
    changes: "Removes domains/<domain_id> and crawler/<domain_id>, and with mode=with_vector_store its vector stores.",
    role: "admin",
    query: {
      domain_id: required(domainId, "The domain."),
      mode: withDefault(
        oneOf(DELETE_MODES),
        "default",
        "with_vector_store also deletes its vector store, and those that were swapped for it and are still kept.",
      ),
      dry_run: dryRun,
    },
    examples: [
      "?domain_id=DEMO&dry_run=true",
      "?domain_id=DEMO&mode=with_vector_store&dry_run=true",
      "curl -X DELETE '{origin}/v2/domains/delete?domain_id=DEMO'",
    ],
    run: async ({ domain_id, mode, dry_run }) => carryOut(await prepare(domain_id, mode), dry_run),
    job: async ({ domain_id, mode, dry_run }) => asJob(await prepare(domain_id, mode), dry_run),
  });
}

async function exists(domains: App["domains"], id: DomainId): Promise<boolean> {
  try {
    await domains.get(id);
    return true;
  } catch (error) {
    if (error instanceof NotFoundError) return false;
    throw error;
  }
}
