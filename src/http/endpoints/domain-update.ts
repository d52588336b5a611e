import { isDeepStrictEqual } from "node:util";
import type { App } from "../../app/app.ts";
import { renameJob } from "../../app/rename-job.ts";
import type { Domain, SourceConfig } from "../../contracts/domain.ts";
import { BadInputError } from "../../contracts/errors.ts";
import type { DomainId } from "../../contracts/ids.ts";
import { parseDomainInput } from "../../domains/domain-input.ts";
import { refuseSharedStore } from "../../domains/shared-store.ts";
import type { JobWork } from "../../jobs/job-runner.ts";
import { withoutAbsent } from "../../lib/without-absent.ts";
import { dryRun } from "../grammar/dry-run.ts";
import { type Call, type Endpoint, endpoint, ok } from "../grammar/endpoint.ts";
import { type Arguments, optional } from "../grammar/parameters.ts";
import { runToEnd } from "../grammar/run-to-end.ts";
import { domainId, words } from "../grammar/values.ts";
import { asJob, carryOut, type DomainChange, showDomain } from "./domain-change.ts";
import { domainFields } from "./domain-fields.ts";

const query = { domain_id: optional(domainId, "The domain, here or in the body."), dry_run: dryRun };
const names = {
  domain_id: optional(domainId, "The domain; beside one in the query, its new id: the domain is renamed."),
  name: optional(words, "What people call it."),
};
type Body = typeof names & ReturnType<typeof domainFields>;
type UpdateArguments = Arguments<typeof query> & { readonly body: Arguments<Body> };

export function updateDomain(app: App): Endpoint {
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

/** A rename takes its time and has to be seen by others, so it is a job in every format. */
type Update = DomainChange & { readonly rename?: JobWork };

async function prepare(app: App, args: UpdateArguments, { signal }: Call): Promise<Update> {
  const id = args.domain_id ?? args.body.domain_id;
  if (id === undefined) throw new BadInputError("Missing 'domain_id'.");
  const before = await app.domains.get(id);
  const domain = parseDomainInput(withoutAbsent(args.body), app.domains.kinds, before);
  if (domain.vectorStoreId !== before.vectorStoreId && domain.vectorStoreId !== "") {
    // The store refuses it too; asked here as well so that a dry run gets the same answer.
    refuseSharedStore(domain, (await app.domains.list()).domains);
  }
  // What was there before is none of this change's business.
  const isOld = (source: SourceConfig): boolean => before.sources.some((one) => isDeepStrictEqual(one, source));
  await app.checkPlaces(domain.sources.filter((source) => !isOld(source)));
  const to = args.body.domain_id ?? id;
  if (to !== id) return prepareRename(app, { before, domain, to }, signal);
  return {
    action: "update",
    domainId: id,
    foreseen: showDomain(app, domain),
    async apply(log) {
      log(`[ 1 / 1 ] update domain '${id}'...`);
      return showDomain(app, await app.domains.update(domain, before));
    },
  };
}

/** First the rename, then what else is to be changed: what fails first leaves nothing half done. */
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
  const foreseen = { ...showDomain(app, { ...domain, domainId: to }), would_rename: [...changes] };
  return { action: "update", domainId: from, foreseen, apply: async () => foreseen, rename };
}
