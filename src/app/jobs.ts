import { createReadStream } from "node:fs";
import { dirname } from "node:path";
import { BadInputError, explain, NotFoundError } from "../contracts/errors.ts";
import { type DomainId, parseDomainId } from "../contracts/ids.ts";
import type { JobContext, Result } from "../contracts/job.ts";
import type { NewTask } from "../contracts/queue.ts";
import type { DomainRename } from "../domains/domain-rename.ts";
import { type CrawlRequest, crawlRequest, STEPS } from "../engine/crawl-request.ts";
import type { MaintenanceRequest } from "../engine/maintain/maintain.ts";
import { folderSourcesOf, type MigrateRequest } from "../engine/migrate/migrate.ts";
import { newPlanId } from "../engine/stored-plans.ts";
import type { JobWork } from "../jobs/job-runner.ts";
import { isErrno, writeFileAtomic } from "../lib/atomic-file.ts";
import { pathExists } from "../lib/file-system.ts";
import type { App } from "./app.ts";

/** Returns a crawl, or one step of it, as a job. The job is ok if the crawl had no problems. */
export function crawlJob(
  app: Pick<App, "crawl">,
  request: CrawlRequest,
  options: { readonly dryRun: boolean },
): JobWork {
  return {
    start: { router: "crawler", action: actionOf(request), object: request.domainId, dryRun: options.dryRun },
    async work(job) {
      const result = await app.crawl(request, job);
      return { ok: result.problems.length === 0, error: result.problems.join(" "), data: result };
    },
  };
}

/** Returns a dry run whose plan becomes a file, which must not exist yet, and is stored nowhere else. */
export async function planFileJob(
  app: Pick<App, "crawl" | "checkCrawl" | "plans">,
  request: CrawlRequest,
  path: string,
): Promise<JobWork> {
  if (path === "") throw new BadInputError("Name the file that is to hold the plan.");
  if (await pathExists(path)) throw new BadInputError(`'${path}' exists. Name another file, or delete it.`);
  if (!(await pathExists(dirname(path)))) throw new BadInputError(`'${path}': there is no folder '${dirname(path)}'.`);
  const planId = newPlanId();
  const planned: CrawlRequest = { ...request, storePlan: planId };
  await app.checkCrawl(planned);
  const { start, work } = crawlJob(app, planned, { dryRun: true });
  return {
    start,
    work: (job) =>
      withPlan(app, planId, async () => {
        const result = await work(job);
        await writeFileAtomic(path, await app.plans.file(planId));
        job.log(`The plan is in '${path}'.`);
        return result;
      }),
  };
}

/** Returns the application of a plan file as a job. Throws BadInputError if it is no complete plan. */
export async function applyFileJob(
  app: Pick<App, "crawl" | "checkCrawl" | "plans">,
  path: string,
  options: ApplyOptions,
): Promise<JobWork> {
  const planId = await app.plans.take(createReadStream(path), path).catch((error: unknown) => {
    if (!isErrno(error, "EISDIR", "EACCES", "EPERM", "ENOENT")) throw error;
    throw new BadInputError(`read '${path}': ${explain(error)}`);
  });
  const { start, work } = await applyJob(app, planId, options).catch(async (error: unknown) => {
    await app.plans.discard(planId);
    throw error;
  });
  return { start, work: (job) => withPlan(app, planId, () => work(job)) };
}

/** The plan is stored only while the job runs. After a kill, maintenance removes it. */
async function withPlan<T>({ plans }: Pick<App, "plans">, planId: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } finally {
    await plans.discard(planId);
  }
}

interface ApplyOptions {
  readonly strict: boolean;
  readonly dryRun: boolean;
}

/** Returns a stored plan's application as a job. Throws NotFoundError or ConflictError if it cannot be applied. */
export async function applyJob(
  app: Pick<App, "crawl" | "checkCrawl" | "plans">,
  planId: string,
  { strict, dryRun }: ApplyOptions,
): Promise<JobWork & { readonly request: CrawlRequest }> {
  const request = await app.plans.request(planId, { strict });
  await app.checkCrawl(request);
  return { ...crawlJob(app, request, { dryRun }), request };
}

/** Returns the action as the endpoints are named: `crawl`, `download_data`, `apply`. */
function actionOf({ steps, approvedPlan }: CrawlRequest): string {
  if (approvedPlan !== undefined) return "apply";
  return steps.length === STEPS.length ? "crawl" : `${steps.join("_")}_data`;
}

/** Kind of the task that runs a crawl, or one step of it, in a worker. */
export const CRAWL_TASK = "crawl";

/** Holds what is not in the job file. */
export function crawlTask(request: CrawlRequest): NewTask {
  return { kind: CRAWL_TASK, payload: { request } };
}

/** Reads what crawlTask wrote. Options of another release that this one does not know get their defaults. */
export function readCrawlTask(payload: unknown): CrawlRequest {
  const { request } = (payload ?? {}) as { readonly request?: Partial<CrawlRequest> & { domainId?: DomainId } };
  if (typeof request?.domainId !== "string") throw new BadInputError("read crawl task: it names no domain");
  return crawlRequest(parseDomainId(request.domainId), request);
}

/** Returns maintenance as a job, which may have to wait for crawls. Throws NotFoundError for an unknown domain. */
export async function maintenanceJob(
  app: Pick<App, "maintain" | "domains">,
  request: MaintenanceRequest,
  { dryRun }: { readonly dryRun: boolean },
): Promise<JobWork> {
  if (request.domainId !== undefined) await app.domains.get(request.domainId);
  return {
    start: { router: "maintenance", action: "maintenance", object: request.domainId ?? "", dryRun },
    async work(job) {
      const data = await app.maintain(request, job);
      return { ok: data.problems.length === 0, error: data.problems.join(" "), data };
    },
  };
}

/** Returns the cleanup as a job, which may have to wait for a crawl. Throws NotFoundError for an unknown domain. */
export async function cleanupMetadataJob(
  app: Pick<App, "cleanupMetadata" | "domains">,
  domainId: DomainId,
  options: { readonly dryRun: boolean },
): Promise<JobWork> {
  await app.domains.get(domainId);
  return {
    start: { router: "crawler", action: "cleanup_metadata", object: domainId, dryRun: options.dryRun },
    async work(job) {
      const { problem, ...data } = await app.cleanupMetadata(domainId, job);
      return { ok: problem === "", error: problem, data };
    },
  };
}

interface IndexRebuild {
  readonly domainId: DomainId;
  readonly force: boolean;
  /** soft: queues everything. blueGreen: crawls the domain in full and publishes the result at once. */
  readonly mode: "soft" | "blueGreen";
}

type Parts = Pick<App, "config" | "crawl" | "checkCrawl" | "domains" | "ingest">;

/** Returns the rebuild as a job. Throws NotFoundError for an unknown domain. */
export async function rebuildIndexJob(
  app: Parts,
  rebuild: IndexRebuild,
  options: { readonly dryRun: boolean },
): Promise<JobWork> {
  const { domainId } = rebuild;
  await app.domains.get(domainId);
  const start = { router: "ingest", action: "rebuild", object: domainId, dryRun: options.dryRun };
  return { start, work: (job) => rebuildIndex(app, rebuild, job) };
}

async function rebuildIndex(app: Parts, { domainId, force, mode }: IndexRebuild, job: JobContext): Promise<Result> {
  const { queued } = await app.ingest.rebuild({ domainId, force }, job);
  const counted = { domain_id: domainId, mode, ...(job.dryRun ? { would_queue: queued } : { queued }) };
  if (mode === "soft") return { ok: true, error: "", data: counted };
  // The embedded index always publishes a crawl at once.
  const request = crawlRequest(domainId, { mode: "full", force, swap: app.config.backend.kind !== "embedded" });
  await app.checkCrawl(request);
  const crawled = await app.crawl(request, job);
  const data = { ...crawled, ...counted };
  return { ok: crawled.problems.length === 0, error: crawled.problems.join(" "), data };
}

/** Returns a rename as a job. The job is named after the old domain id. */
export function renameJob(
  app: Pick<App, "renameDomain">,
  rename: DomainRename,
  options: { readonly dryRun: boolean },
): JobWork {
  return {
    start: { router: "domains", action: "rename", object: rename.from, dryRun: options.dryRun },
    async work(job) {
      const { domain, changes } = await app.renameDomain(rename, job);
      return { ok: true, error: "", data: { domain_id: domain.domainId, changes } };
    },
  };
}

/** Returns a migration as a job. Throws NotFoundError or BadInputError for a request that makes no sense. */
export async function migrateJob(
  app: Pick<App, "migrate" | "domains">,
  request: MigrateRequest,
  { dryRun }: { readonly dryRun: boolean },
): Promise<JobWork> {
  await check(app, request);
  return {
    start: { router: "maintenance", action: "migrate", object: request.domainId ?? "", dryRun },
    async work(job) {
      const data = await app.migrate(request, job);
      return { ok: data.problems.length === 0, error: data.problems.join(" "), data };
    },
  };
}

async function check({ domains }: Pick<App, "domains">, request: MigrateRequest): Promise<void> {
  const { domainId, sourceId, from, undo, force } = request;
  if (from !== "" && undo)
    throw new BadInputError("Either --from or --undo: an undone migration knows where it came from.");
  if (force && !undo) throw new BadInputError("--force is for --undo.");
  if (domainId === undefined) {
    if (sourceId !== undefined || from !== "" || undo) {
      throw new BadInputError("--source, --from and --undo are about one domain: name it.");
    }
    return;
  }
  const found = folderSourcesOf(await domains.get(domainId), sourceId);
  if (sourceId !== undefined && found.length === 0) {
    throw new NotFoundError(`Domain '${domainId}' has no folder source '${sourceId}'.`);
  }
  if (from !== "" && found.length !== 1) {
    throw new BadInputError(
      `--from is about one source, and domain '${domainId}' has ${found.length} folder sources: name it with --source.`,
    );
  }
}
