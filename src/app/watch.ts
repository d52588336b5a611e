import { realpath } from "node:fs/promises";
import { relative, sep } from "node:path";
import { isDeepStrictEqual } from "node:util";
import type { Domain, SourceConfig } from "../contracts/domain.ts";
import { BadInputError, CancelledError, explain, NotFoundError } from "../contracts/errors.ts";
import type { DomainId, SourceId } from "../contracts/ids.ts";
import type { JobContext, Result } from "../contracts/job.ts";
import { sourceLease } from "../contracts/lease.ts";
import { crawlRequest, type SourceResult, type StepCounts } from "../engine/crawl-request.ts";
import { noCounts, sumUp } from "../engine/tally.ts";
import type { JobWork } from "../jobs/job-runner.ts";
import { backoffMs } from "../lib/retry.ts";
import { plural } from "../lib/text.ts";
import { sleep } from "../lib/time.ts";
import { type FolderTreeWatch, type Notices, type WatchFolder, watchFolderTree } from "../lib/watch-folder-tree.ts";
import type { App } from "./app.ts";

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

type Parts = Pick<App, "config" | "domains" | "crawl" | "leases" | "finishRenames">;

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
  await app.finishRenames((line) => job.log(line), job.signal, watching.domainId);
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

interface WatchPace {
  /** Changes are gathered until none came for so long, or for so long in all. */
  readonly gatherMs: number;
  readonly gatherMostMs: number;
  /** Between two looks at everything: beside notifications, and where there are none. */
  readonly rescanMs: number;
  readonly scanMs: number;
  /** After a look that failed; twice as long after each further one. */
  readonly retryMs: number;
  readonly retryMostMs: number;
  /** Notifications that failed are tried again after so long. */
  readonly notifyAgainMs: number;
}

const WATCH_PACE: WatchPace = {
  gatherMs: 300,
  gatherMostMs: 1_000,
  rescanMs: 5 * 60_000,
  scanMs: 1_000,
  retryMs: 1_000,
  retryMostMs: 30_000,
  notifyAgainMs: 60_000,
};

interface WatchedSource {
  /** How log lines call it. */
  readonly name: string;
  /** undefined for a place that does not notify anybody: it is scanned. */
  readonly notify: ((notices: Notices) => Promise<FolderTreeWatch>) | undefined;
  /** An ordinary crawl, of everything or of these folders only. */
  look(folders: ReadonlySet<string> | undefined, job: JobContext): Promise<SourceResult>;
  readonly pace: WatchPace;
}

/** Where one source stands between two looks. */
interface Course {
  readonly source: WatchedSource;
  readonly job: JobContext;
  readonly hints: WatchHints;
  watch: FolderTreeWatch | undefined;
  /** Performance times: of the next look at everything, and of the next try to be notified. */
  lookAtMs: number;
  notifyAtMs: number;
  failures: number;
  /** Warnings of the last look: what stays wrong is said once. */
  told: ReadonlySet<string>;
  /** All the changes so far. */
  readonly sum: StepCounts;
}

/** Keeps one source in step until the signal aborts; a look that has begun is finished. What was done is added to `sum`. */
async function watchSource(
  source: WatchedSource,
  job: JobContext,
  leaving: AbortSignal,
  sum: StepCounts,
): Promise<void> {
  const course: Course = {
    ...{ source, job, hints: new WatchHints(), watch: undefined, lookAtMs: 0, notifyAtMs: 0, failures: 0 },
    told: new Set(),
    sum,
  };
  const { hints } = course;
  const { gatherMs: quietMs, gatherMostMs: mostMs } = source.pace;
  try {
    for (let first = true; !leaving.aborted; first = false) {
      await notifyIfDue(course);
      if (hints.isEmpty) await hints.next(Math.max(nextAtMs(course) - performance.now(), 0), leaving);
      if (!hints.isEmpty && !first) await hints.gathered({ quietMs, mostMs }, leaving);
      await job.checkpoint();
      if (performance.now() >= course.lookAtMs) hints.anywhere();
      if (!hints.isEmpty && !leaving.aborted) await look(course, first ? "aloud" : "quietly");
    }
  } finally {
    course.watch?.close();
  }
}

function nextAtMs({ source, watch, lookAtMs, notifyAtMs }: Course): number {
  return source.notify && !watch ? Math.min(lookAtMs, notifyAtMs) : lookAtMs;
}

/** The watch stands before everything is looked at: nothing falls between the two. */
async function notifyIfDue(course: Course): Promise<void> {
  const { source, hints, job } = course;
  if (!source.notify || course.watch || performance.now() < course.notifyAtMs) return;
  const wasLost = course.notifyAtMs > 0;
  course.notifyAtMs = performance.now() + source.pace.notifyAgainMs;
  try {
    course.watch = await source.notify({
      touched: (folder) => hints.touched(folder),
      lost(reason) {
        course.watch = undefined;
        course.notifyAtMs = performance.now() + source.pace.notifyAgainMs;
        job.log(`${source.name}: ${sayLost(reason)}`);
        hints.anywhere();
      },
    });
    if (wasLost) job.log(`${source.name}: the system tells of changes again.`);
    hints.anywhere();
  } catch (error) {
    if (!wasLost) job.log(`${source.name}: ${sayLost(explain(error))}`);
  }
}

function sayLost(reason: string): string {
  return `the system does not tell of changes (${reason.replace(/\.$/, "")}), so everything is looked at again and again instead.`;
}

async function look(course: Course, voice: "aloud" | "quietly"): Promise<void> {
  const { source, hints, job, sum } = course;
  const folders = hints.take();
  const startedAtMs = performance.now();
  const lines = new Set<string>();
  const problem = await source.look(folders, voice === "aloud" ? job : hushed(job, course.told, lines)).then(
    (result) => {
      const counts = changesOf(result);
      for (const kind of CHANGES) sum[kind] += counts[kind];
      if (CHANGES.some((kind) => counts[kind] > 0)) job.log(sayLook(course, counts, folders, startedAtMs));
      return result.error;
    },
    (error: unknown) => {
      if (error instanceof CancelledError || job.signal.aborted) throw error;
      return explain(error);
    },
  );
  if (problem && course.failures === 0)
    job.log(`${source.name}: ${problem.replace(/(?<![.?!])$/, ".")} It is tried again.`);
  if (!problem && course.failures > 0) job.log(`${source.name}: in step again.`);
  course.told = lines;
  course.failures = problem ? course.failures + 1 : 0;
  // Whatever was to be looked at, and was not, is part of everything.
  if (problem || !folders) course.lookAtMs = performance.now() + pauseAfter(course, performance.now() - startedAtMs);
}

/** A scan that takes long is not repeated at once: most of the time belongs to others. */
function pauseAfter({ source: { pace }, watch, failures }: Course, tookMs: number): number {
  const limits = { firstMs: pace.retryMs, longestMs: pace.retryMostMs };
  if (failures > 0) return Math.max(backoffMs(failures, limits), tookMs);
  return watch ? pace.rescanMs : Math.max(pace.scanMs, 2 * tookMs);
}

const CHANGES = ["added", "changed", "moved", "removed"] as const;

/** What readers see differently; where nothing is embedded, what is different on disk. */
function changesOf({ download, embed }: SourceResult): StepCounts {
  const pick = (counts: StepCounts): StepCounts => {
    const { added, changed, moved, removed } = counts;
    return { ...noCounts(), added, changed, moved, removed };
  };
  const embedded = pick(embed);
  return CHANGES.some((kind) => embedded[kind] > 0) ? embedded : pick(download);
}

const NAMED = 3;

function sayLook(
  { source: { name } }: Course,
  counts: StepCounts,
  folders: ReadonlySet<string> | undefined,
  startedAtMs: number,
): string {
  const named = [...(folders ?? [])].slice(0, NAMED).map((folder) => `'${folder || "/"}'`);
  const rest = (folders?.size ?? 0) - named.length;
  const where = [...named, ...(rest > 0 ? [`${plural(rest, "folder")} more`] : [])].join(", ");
  const seconds = ((performance.now() - startedAtMs) / 1000).toFixed(2);
  return `${name}: ${sumUp(counts)} (${seconds} s${where && `; something happened in ${where}`})`;
}

/** A crawl tells of every step it takes, which nobody wants to read every second: only trouble is let through, and only once. */
function hushed(job: JobContext, told: ReadonlySet<string>, lines: Set<string>): JobContext {
  return {
    jobId: job.jobId,
    dryRun: job.dryRun,
    signal: job.signal,
    checkpoint: () => job.checkpoint(),
    log(line) {
      if (!/^(\[ \d+ \/ \d+ \] )?(ERROR|WARNING|Waiting)/.test(line)) return;
      if (!told.has(line) && !lines.has(line)) job.log(line);
      lines.add(line);
    },
  };
}

/** More of them than the system is sure to have kept: some may be lost without a word. */
const MOST_NOTICES = 4096;

/** What is heard of one source between two looks at it. */
class WatchHints {
  #folders = new Set<string>();
  #notices = 0;
  #anywhere = true;
  #heard: (() => void) | undefined;

  touched(folder: string): void {
    this.#notices += 1;
    this.#folders.add(folder);
    if (this.#notices > MOST_NOTICES) this.anywhere();
    else this.#heard?.();
  }

  /** Nobody knows where: only a look at everything helps. */
  anywhere(): void {
    this.#anywhere = true;
    this.#folders.clear();
    this.#heard?.();
  }

  get isEmpty(): boolean {
    return !this.#anywhere && this.#folders.size === 0;
  }

  /** The folders that something happened in; undefined: it may have happened anywhere. Forgets them. */
  take(): ReadonlySet<string> | undefined {
    const folders = this.#anywhere ? undefined : this.#folders;
    this.#folders = new Set();
    this.#notices = 0;
    this.#anywhere = false;
    return folders;
  }

  /** Resolves when the next notice comes, after the time, or when the signal aborts. */
  async next(ms: number, signal: AbortSignal): Promise<void> {
    const heard = new AbortController();
    this.#heard = () => heard.abort();
    await sleep(ms, AbortSignal.any([heard.signal, signal]));
    this.#heard = undefined;
  }

  /** Changes come in company: waits until it has been quiet for a moment, but not for ever. */
  async gathered({ quietMs, mostMs }: { quietMs: number; mostMs: number }, signal: AbortSignal): Promise<void> {
    const untilMs = performance.now() + mostMs;
    for (let left = mostMs; left > 0 && !signal.aborted; left = untilMs - performance.now()) {
      const before = this.#notices;
      await this.next(Math.min(quietMs, left), signal);
      if (this.#notices === before) return;
    }
  }
}
