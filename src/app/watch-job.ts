import { realpath } from "node:fs/promises";
import { relative, sep } from "node:path";
import { isDeepStrictEqual } from "node:util";
import type { Domain, SourceConfig } from "../contracts/domain.ts";
import { BadInputError, explain, NotFoundError } from "../contracts/errors.ts";
import type { DomainId, SourceId } from "../contracts/ids.ts";
import type { JobContext, Result } from "../contracts/job.ts";
import { sourceLease } from "../contracts/lease.ts";
import { crawlRequest, type SourceResult, type StepCounts } from "../engine/crawl-request.ts";
import { noCounts } from "../engine/tally.ts";
import type { JobWork } from "../jobs/job-runner.ts";
import { sleep } from "../lib/time.ts";
import { type WatchFolder, watchFolderTree } from "../lib/watch-folder-tree.ts";
import type { App } from "./app.ts";
import { WATCH_PACE, type WatchedSource, type WatchPace, watchSource } from "./watch-source.ts";

export const WATCH_ACTION = "watch";

export interface Watching {
  readonly domainId: DomainId;
  /** Only this source; undefined: every one of the domain that can be watched. */
  readonly sourceId: SourceId | undefined;
}

/** How it waits and hears, where the usual does not fit. */
export interface WatchOptions {
  readonly pace?: Partial<WatchPace>;
  readonly watchFolder?: WatchFolder;
}

type Parts = Pick<App, "config" | "domains" | "crawl" | "leases" | "settleRenames">;

/** How often the domain is read again, and a job that has nothing to do notices that it is to pause. */
const DOMAIN_EVERY_MS = 1_000;

/** Keeps places full of files of a domain in step until it is cancelled. NotFoundError, BadInputError when there is nothing to watch. */
export async function watchJob(app: Parts, watching: Watching, options: WatchOptions = {}): Promise<JobWork> {
  const { domainId } = watching;
  watchedSources(await app.domains.get(domainId), watching, app);
  const start = { router: "crawler", action: WATCH_ACTION, object: domainId, dryRun: false };
  return { start, work: (job) => watch(app, watching, options, job) };
}

function watchedSources(domain: Domain, { sourceId }: Watching, { domains }: Parts): readonly SourceConfig[] {
  const trees = domain.sources.filter(({ kind }) => kind.watch);
  const watchable = domains.kinds.all.filter(({ watch }) => watch);
  if (sourceId === undefined) {
    if (trees.length > 0) return trees;
    throw new BadInputError(
      `Domain '${domain.domainId}' has no ${watchable.map(({ type }) => type).join(" and no ")}, and nothing else can be watched.`,
    );
  }
  const found = trees.filter((source) => source.sourceId === sourceId);
  if (found.length > 0) return found;
  const known = trees.map((source) => `'${source.sourceId}'`).join(", ") || "none";
  if (!domain.sources.some((source) => source.sourceId === sourceId)) {
    throw new NotFoundError(`Source '${sourceId}' does not exist in domain '${domain.domainId}'. To watch: ${known}.`);
  }
  throw new BadInputError(
    `Only ${watchable.map(({ words }) => words.nouns).join(" and ")} can be watched, and '${sourceId}' is none of them. To watch: ${known}.`,
  );
}

/** A source that is looked after, as its configuration was when that began. */
interface Watched {
  readonly config: SourceConfig;
  readonly leave: AbortController;
  readonly done: Promise<void>;
}

async function watch(app: Parts, watching: Watching, options: WatchOptions, job: JobContext): Promise<Result> {
  // What is remembered of the domain may still have another name.
  await app.settleRenames((line) => job.log(line), job.signal, watching.domainId);
  const watched = new Map<string, Watched>();
  const sum = noCounts();
  const stop = new AbortController();
  let failure: unknown;
  const begin = (config: SourceConfig): Watched => {
    const leave = new AbortController();
    const leaving = AbortSignal.any([leave.signal, stop.signal, job.signal]);
    const done = watchUnderLease(app, { domainId: watching.domainId, config }, options, job, leaving, sum);
    const failed = (error: unknown): void => {
      failure ??= error;
      stop.abort();
    };
    return { config, leave, done: done.catch(failed) };
  };
  try {
    await followDomain(app, watching, watched, begin, job, AbortSignal.any([stop.signal, job.signal]));
  } catch (error) {
    // Cancelled at whatever moment, it tells what it did.
    if (!job.signal.aborted) throw error;
  } finally {
    stop.abort();
    await Promise.all([...watched.values()].map(({ done }) => done));
  }
  if (failure !== undefined && !job.signal.aborted) throw failure;
  return { ok: false, error: "Watching ended.", data: { domain_id: watching.domainId, ...sum } };
}

/** Sources that are edited, added or taken out while it is watched are watched as they are now. */
async function followDomain(
  app: Parts,
  watching: Watching,
  watched: Map<string, Watched>,
  begin: (config: SourceConfig) => Watched,
  job: JobContext,
  stopped: AbortSignal,
): Promise<void> {
  let told = "";
  for (;;) {
    await job.checkpoint();
    const sources = await readSources(app, watching);
    const problem = typeof sources === "string" ? sources : "";
    if (problem && problem !== told) job.log(`WARNING: ${problem}`);
    told = problem;
    if (typeof sources !== "string") {
      const wanted = new Map(sources.map((source) => [`${source.sourceType} ${source.sourceId}`, source]));
      for (const [key, one] of watched) {
        if (isDeepStrictEqual(wanted.get(key), one.config)) continue;
        one.leave.abort();
        await one.done;
        watched.delete(key);
      }
      for (const [key, source] of wanted) if (!watched.has(key)) watched.set(key, begin(source));
    }
    await sleep(DOMAIN_EVERY_MS, stopped);
    if (stopped.aborted) return;
  }
}

/** Somebody may just be editing it: only a domain that is not there any more ends the watching. Otherwise, what is wrong. */
async function readSources(app: Parts, watching: Watching): Promise<readonly SourceConfig[] | string> {
  try {
    return watchedSources(await app.domains.get(watching.domainId), watching, app);
  } catch (error) {
    if (error instanceof NotFoundError) throw error;
    return explain(error);
  }
}

/** Two that watch the same source would do everything twice: the second stands by. */
async function watchUnderLease(
  app: Parts,
  { domainId, config }: { readonly domainId: DomainId; readonly config: SourceConfig },
  options: WatchOptions,
  job: JobContext,
  leaving: AbortSignal,
  sum: StepCounts,
): Promise<void> {
  const waiting = {
    owner: `job ${job.jobId}`,
    signal: leaving,
    onWait: (owner: string): void =>
      job.log(`${config.sourceId}: ${owner} watches this source already. This job stands by in case that ends.`),
  };
  const lease = await app.leases
    .acquire(domainId, sourceLease(config, "watch"), waiting)
    .catch((error: unknown): undefined => {
      if (!leaving.aborted) throw error;
    });
  if (!lease) return;
  try {
    await watchSource(describe(app, domainId, config, options), job, leaving, sum);
  } finally {
    await lease.release();
  }
}

function describe(app: Parts, domainId: DomainId, config: SourceConfig, options: WatchOptions): WatchedSource {
  const { sourceId, kind } = config;
  const { scanMs, folder } = kind.watch?.(config) ?? {};
  return {
    name: sourceId,
    pace: { ...WATCH_PACE, ...(scanMs && { scanMs }), ...options.pace },
    notify:
      folder &&
      (async (notices) => {
        // Every crawl writes there: whoever heard of that would crawl for ever. Elsewhere than below the root, it begins with dots.
        const storage = relative(await realpath(folder.root), await realpath(app.config.storagePath));
        const ours = `${storage.replaceAll(sep, "/")}/`;
        const enters = (below: string): boolean => !`${below}/`.startsWith(ours) && folder.enters(below);
        const { watchFolder } = options;
        return await watchFolderTree(folder.root, notices, { enters, ...(watchFolder && { watchFolder }) });
      }),
    async look(folders, job) {
      const { scope } = kind;
      const onlyFolders = folders && new Map([[sourceId, folders]]);
      const wishes = { scope, sourceId, gathered: true, ...(onlyFolders && { onlyFolders }) };
      const { sources, problems } = await app.crawl(crawlRequest(domainId, wishes), job);
      const [source] = sources;
      if (!source) throw new Error(`crawl source '${sourceId}': there is no word of it`);
      return { ...source, error: problems.join(" ") } satisfies SourceResult;
    },
  };
}
