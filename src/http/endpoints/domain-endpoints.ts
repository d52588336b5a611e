import { isDeepStrictEqual } from "node:util";
import type { App } from "../../app/app.ts";
import { renameJob } from "../../app/jobs.ts";
import type { Domain, SourceConfig } from "../../contracts/domain.ts";
import { BadInputError, NotFoundError } from "../../contracts/errors.ts";
import type { DomainId, JobId } from "../../contracts/ids.ts";
import type { SourceKinds } from "../../contracts/source-kind.ts";
import { formatDomain } from "../../domains/domain-codec.ts";
import { parseDomainInput } from "../../domains/domain-input.ts";
import { refuseSharedStore } from "../../domains/domain-store.ts";
import type { JobWork } from "../../jobs/job-runner.ts";
import type { JsonObject } from "../../lib/json-object.ts";
import { withoutAbsent } from "../../lib/without-absent.ts";
import { domainPage, domainsUi } from "../pages/domain-pages.ts";
import { PAGE_ROWS } from "../pages/paged-table.ts";
import { type Answer, type Call, type Endpoint, endpoint, ok } from "../routing/endpoint.ts";
import { listing, takePart } from "../routing/listing.ts";
import { type Arguments, dryRun, optional, required, withDefault } from "../routing/parameters.ts";
import { runToEnd } from "../routing/run-to-end.ts";
import { domainId, json, oneOf, text, words } from "../routing/values.ts";

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
      const error = broken.map((other) => `Domain '${other.domainId}' cannot be read: ${other.reason}`).join(" ");
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
      preview: showDomain(app, domain),
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
      preview: { ...shown, would_delete: [...deletion.changes] },
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

const query = { domain_id: optional(domainId, "The domain, here or in the body."), dry_run: dryRun };
const names = {
  domain_id: optional(domainId, "The domain; beside one in the query, its new id: the domain is renamed."),
  name: optional(words, "What people call it."),
};
type Body = typeof names & ReturnType<typeof domainFields>;
type UpdateArguments = Arguments<typeof query> & { readonly body: Arguments<Body> };

function updateDomain(app: App): Endpoint {
  return endpoint({
    path: "/v2/domains/update",
    methods: ["PUT"],
    formats: ["json", "html", "stream"],
    description:
      "Changes a domain. Fields that are not given keep their value. Another 'domain_id' in the body than in the query renames it, with everything it has: the next crawl finds nothing to do. Jobs and reports keep the old name.",
    changes:
      "Rewrites domains/<domain_id>/domain.json; a rename also its folders, map files, metadata and marks in the index.",
    role: "admin",
    query,
    body: { ...names, ...domainFields(app.domains.kinds) },
    examples: [
      `curl -X PUT '{origin}/v2/domains/update?domain_id=DEMO' -H 'content-type: application/json' -d '{"name":"Demo, renamed"}'`,
      `curl -X PUT '{origin}/v2/domains/update?domain_id=DEMO&dry_run=true' -H 'content-type: application/json' -d '{"domain_id":"HANDBOOK"}'`,
    ],
    async run(args, call) {
      const change = await prepare(app, args, call);
      return change.rename && !args.dry_run
        ? runToEnd(app.runner, change.rename, call)
        : carryOut(change, args.dry_run);
    },
    async job(args, call) {
      const change = await prepare(app, args, call);
      return change.rename && !args.dry_run ? change.rename : asJob(change, args.dry_run);
    },
  });
}

/** A rename takes a while and must be visible to others, so it is a job in every format. */
type Update = DomainChange & { readonly rename?: JobWork };

async function prepare(app: App, args: UpdateArguments, { signal }: Call): Promise<Update> {
  const id = args.domain_id ?? args.body.domain_id;
  if (id === undefined) throw new BadInputError("Missing 'domain_id'.");
  const before = await app.domains.get(id);
  const domain = parseDomainInput(withoutAbsent(args.body), app.domains.kinds, before);
  if (domain.vectorStoreId !== before.vectorStoreId && domain.vectorStoreId !== "") {
    // The domain store refuses it, too; checked here so that a dry run returns the same error.
    refuseSharedStore(domain, (await app.domains.list()).domains);
  }
  // Only new and changed sources are checked.
  const isOld = (source: SourceConfig): boolean => before.sources.some((other) => isDeepStrictEqual(other, source));
  await app.checkPlaces(domain.sources.filter((source) => !isOld(source)));
  const to = args.body.domain_id ?? id;
  if (to !== id) return prepareRename(app, { before, domain, to }, signal);
  return {
    action: "update",
    domainId: id,
    preview: showDomain(app, domain),
    async apply(log) {
      log(`[ 1 / 1 ] update domain '${id}'...`);
      return showDomain(app, await app.domains.update(domain, before));
    },
  };
}

/** Renames first, then changes the rest: if the rename fails, nothing is half done. */
async function prepareRename(
  app: App,
  { before, domain, to }: { readonly before: Domain; readonly domain: Domain; readonly to: DomainId },
  signal: AbortSignal,
): Promise<Update> {
  const from = before.domainId;
  const { changes } = await app.planRename({ from, to }, signal);
  const { start, work } = renameJob(app, { from, to }, { dryRun: false });
  const rename: JobWork = {
    start,
    async work(job) {
      await work(job);
      return ok(showDomain(app, await app.domains.update({ ...domain, domainId: to }, { ...before, domainId: to })));
    },
  };
  const preview = { ...showDomain(app, { ...domain, domainId: to }), would_rename: [...changes] };
  return { action: "update", domainId: from, preview, apply: async () => preview, rename };
}

/** A checked change that can be shown (dry run) or made. */
export interface DomainChange {
  readonly action: "create" | "update" | "delete";
  /** The job's object. */
  readonly domainId: DomainId;
  /** Result of a dry run. */
  readonly preview: JsonObject;
  /** Makes the change and returns its result; `jobId` if it runs as a job. */
  apply(log: (line: string) => void, jobId?: JobId): Promise<JsonObject>;
}

/** Returns a domain as every endpoint shows it. */
function showDomain({ schedule, domains }: Pick<App, "schedule" | "domains">, domain: Domain): JsonObject {
  return { ...formatDomain(domain, domains.kinds), next_run_utc: schedule.nextRunAt(domain) };
}

export async function carryOut(change: DomainChange, dry: boolean): Promise<Answer<JsonObject>> {
  return ok(dry ? change.preview : await change.apply(() => undefined));
}

function asJob(change: DomainChange, dry: boolean): JobWork {
  const { action, domainId } = change;
  return {
    start: { router: "domains", action, object: domainId, dryRun: dry },
    async work(job) {
      if (dry) {
        job.log(`[ 1 / 1 ] ${action} domain '${domainId}'...`);
        job.log("  Dry run: nothing was changed.");
        return ok(change.preview);
      }
      const data = await change.apply((line) => job.log(line), job.jobId);
      job.log("  OK.");
      return ok(data);
    },
  };
}

const PLAIN = {
  description: optional(text, "What it holds."),
  vector_store_name: optional(
    text,
    "Name of the vector store that the first crawl creates; the domain id when not given.",
  ),
  vector_store_id: optional(text, "An existing vector store to fill; empty: the next crawl creates one."),
  schedule: optional(
    text,
    "When it is crawled unattended: a cron expression of five fields in UTC, like '0 2 * * *' for 02:00 every day; empty: never.",
  ),
  max_age: optional(
    text,
    "How old its last certificate may be before the domain is late: whole hours or days, like 36h or 7d; empty: any age.",
  ),
};

const SOURCES_JSON = optional(text, "All source arrays in one JSON text, for forms and older clients.");

type Fields = typeof PLAIN & { readonly sources_json: typeof SOURCES_JSON };

/** Fields of a new or changed domain, except its id and name. */
export function domainFields({ all }: SourceKinds): Fields {
  const arrays = Object.fromEntries(all.map(({ type, words }) => [type, optional(json, words.array)]));
  return { ...PLAIN, ...arrays, sources_json: SOURCES_JSON };
}
