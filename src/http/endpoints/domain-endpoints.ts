import type { App } from "../../app/app.ts";
import type { Domain } from "../../contracts/domain.ts";
import { BadInputError, ConflictError, NotFoundError } from "../../contracts/errors.ts";
import type { DomainId } from "../../contracts/ids.ts";
import { formatDomain } from "../../domains/domain-codec.ts";
import { parseDomainInput } from "../../domains/domain-input.ts";
import { refuseSharedStore } from "../../domains/shared-store.ts";
import { formatOtherStore } from "../../domains/store-succession.ts";
import type { JobWork } from "../../jobs/job-runner.ts";
import { type Answer, type Endpoint, endpoint, ok } from "../grammar/endpoint.ts";
import { optional, required, withDefault } from "../grammar/parameters.ts";
import { domainId, json, text, trueOrFalse, words } from "../grammar/values.ts";

/** A change that was checked and can be told (dry run) or made. */
interface DomainChange {
  readonly domain: Domain;
  readonly apply: () => Promise<Domain>;
}

const dryRun = withDefault(trueOrFalse, false, "true only returns what the domain would be.");

const sourceFields = {
  file_sources: optional(json, "Document libraries: an array of {source_id, site_url, sharepoint_url_part, filter}."),
  list_sources: optional(json, "Lists: an array of {source_id, site_url, list_name, filter}."),
  sitepage_sources: optional(json, "Site pages: an array of {source_id, site_url, sharepoint_url_part, filter}."),
  sources_json: optional(text, "All source arrays in one JSON text, for forms and older clients."),
};

const sharedFields = {
  description: optional(text, "What it holds."),
  vector_store_name: optional(
    text,
    "Name of the vector store that the first crawl creates; the domain id when not given.",
  ),
  vector_store_id: optional(text, "An existing vector store to fill; empty: the next crawl creates one."),
  ...sourceFields,
};

const CREATE_EXAMPLE = `curl '{origin}/v2/domains/create' -H 'content-type: application/json' -d '{"domain_id":"DEMO","name":"Demo","file_sources":[{"source_id":"documents","site_url":"https://example.sharepoint.com/sites/demo","sharepoint_url_part":"/Shared Documents","filter":""}]}'`;

export function domainEndpoints(app: App): Endpoint[] {
  return [list(app), get(app), create(app), update(app), remove(app)];
}

function list({ domains }: App): Endpoint {
  return endpoint({
    path: "/v2/domains",
    methods: ["GET"],
    formats: ["json", "html"],
    description: "Lists the domains: knowledge bases, each with its sources and its vector store.",
    changes: null,
    query: {},
    examples: ["?format=json", "?format=html"],
    async run() {
      const found = await domains.list();
      const error = found.broken.map((one) => `Domain '${one.domainId}' cannot be read: ${one.reason}`).join(" ");
      return { ok: error === "", error, data: found.domains.map(formatDomain) };
    },
  });
}

function get({ domains }: App): Endpoint {
  return endpoint({
    path: "/v2/domains/get",
    methods: ["GET"],
    formats: ["json", "html"],
    description: "Returns one domain.",
    changes: null,
    query: { domain_id: required(domainId, "The domain.") },
    examples: ["?domain_id=DEMO", "?domain_id=DEMO&format=html"],
    async run({ domain_id }) {
      const domain = formatDomain(await domains.get(domain_id));
      const others = await domains.otherStores(domain_id);
      return ok(others.length === 0 ? domain : { ...domain, other_vector_stores: others.map(formatOtherStore) });
    },
  });
}

function create({ domains }: App): Endpoint {
  const prepare = async (body: object): Promise<DomainChange> => {
    const domain = parseDomainInput(withoutAbsent(body));
    if (await exists(domains, domain.domainId)) throw new BadInputError(`Domain '${domain.domainId}' already exists.`);
    await refuseSharedStoreEarly(domains, domain);
    return { domain, apply: () => domains.create(domain) };
  };
  return endpoint({
    path: "/v2/domains/create",
    methods: ["POST"],
    formats: ["json", "html", "stream"],
    description: "Creates a domain.",
    changes: "Adds domains/<domain_id>/domain.json.",
    query: { dry_run: dryRun },
    body: {
      domain_id: required(domainId, "Its id, which becomes a folder name."),
      name: required(words, "What people call it."),
      ...sharedFields,
    },
    examples: [CREATE_EXAMPLE],
    run: async ({ body, dry_run }) => carryOut(await prepare(body), dry_run),
    job: async ({ body, dry_run }) => asJob("create", await prepare(body), dry_run),
  });
}

function update({ domains }: App): Endpoint {
  const prepare = async (id: DomainId | undefined, body: object): Promise<DomainChange> => {
    if (id === undefined) throw new BadInputError("Missing 'domain_id'.");
    const before = await domains.get(id);
    const domain = parseDomainInput(withoutAbsent(body), before);
    if (domain.vectorStoreId !== before.vectorStoreId) await refuseSharedStoreEarly(domains, domain);
    return { domain, apply: () => domains.update(domain, before) };
  };
  return endpoint({
    path: "/v2/domains/update",
    methods: ["PUT"],
    formats: ["json", "html", "stream"],
    description: "Changes a domain. Fields that are not given keep their value.",
    changes: "Rewrites domains/<domain_id>/domain.json.",
    query: { domain_id: optional(domainId, "The domain, here or in the body."), dry_run: dryRun },
    body: {
      domain_id: optional(domainId, "The domain, here or in the query; it cannot be renamed."),
      name: optional(words, "What people call it."),
      ...sharedFields,
    },
    examples: [
      `curl -X PUT '{origin}/v2/domains/update?domain_id=DEMO' -H 'content-type: application/json' -d '{"name":"Demo, renamed"}'`,
    ],
    run: async (args) => carryOut(await prepare(args.domain_id ?? args.body.domain_id, args.body), args.dry_run),
    job: async (args) => asJob("update", await prepare(args.domain_id ?? args.body.domain_id, args.body), args.dry_run),
  });
}

function remove(app: App): Endpoint {
  const prepare = async (id: DomainId): Promise<DomainChange> => {
    const domain = await app.domains.get(id);
    await refuseWhileBusy(app, id);
    return { domain, apply: () => app.domains.remove(id) };
  };
  return endpoint({
    path: "/v2/domains/delete",
    methods: ["DELETE", "GET"],
    formats: ["json", "html", "stream"],
    description: "Deletes a domain. Its vector store stays.",
    changes: "Removes domains/<domain_id> and crawler/<domain_id>.",
    query: { domain_id: required(domainId, "The domain."), dry_run: dryRun },
    examples: ["?domain_id=DEMO&dry_run=true", "curl -X DELETE '{origin}/v2/domains/delete?domain_id=DEMO'"],
    run: async ({ domain_id, dry_run }) => carryOut(await prepare(domain_id), dry_run),
    job: async ({ domain_id, dry_run }) => asJob("delete", await prepare(domain_id), dry_run),
  });
}

async function carryOut(change: DomainChange, dry: boolean): Promise<Answer<Record<string, unknown>>> {
  return ok(formatDomain(dry ? change.domain : await change.apply()));
}

function asJob(action: string, change: DomainChange, dry: boolean): JobWork {
  const { domainId: id } = change.domain;
  return {
    start: { router: "domains", action, object: id, dryRun: dry },
    async work(job) {
      job.log(`[ 1 / 1 ] ${action} domain '${id}'...`);
      const answer = await carryOut(change, dry);
      job.log(dry ? "  Dry run: nothing was changed." : "  OK.");
      return answer;
    },
  };
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

/** The store refuses it too; asked here as well so that a dry run gets the same answer. */
async function refuseSharedStoreEarly(domains: App["domains"], domain: Domain): Promise<void> {
  if (domain.vectorStoreId !== "") refuseSharedStore(domain, (await domains.list()).domains);
}

/** A crawl would go on writing into the folders that are being removed. */
async function refuseWhileBusy({ jobs }: App, id: DomainId): Promise<void> {
  const [active] = await jobs.list({
    router: "crawler",
    object: id,
    state: "active",
    matching: (job) => !job.stalled,
    limit: 1,
  });
  if (active) throw new ConflictError(`Domain '${id}' is in use by job '${active.jobId}'. Cancel it first.`);
}

function withoutAbsent(fields: object): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}
