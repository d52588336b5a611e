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
  /** Only this source; undefined: all sources of the domain that can be watched. */
  readonly sourceId: SourceId | undefined;
}

/** Replaces intervals and the folder watcher in tests. */
export interface WatchOptions {
  readonly pace?: Partial<WatchPace>;
  readonly watchFolder?: WatchFolder;
}

type Parts = Pick<App, "config" | "domains" | "crawl" | "leases" | "finishRenames">;

/** How often the domain is read again, and an idle job checks whether it should pause. */
const DOMAIN_EVERY_MS = 1_000;

/**
 * Returns a job that keeps the folders and containers of a domain current until it is cancelled. Throws NotFoundError or BadInputError if
 * there is nothing to watch.
 */
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

/** A watched source, with its configuration when watching began. */
interface Watched {
  readonly config: SourceConfig;
  readonly stopController: AbortController;
  readonly done: Promise<void>;
}

async function watch(app: Parts, watching: Watching, options: WatchOptions, job: JobContext): Promise<Result> {
  // During a rename, the ledger of the domain may still have the other name.
  await app.finishRenames((line) => job.log(line), job.signal, watching.domainId);
  const watched = new Map<string, Watched>();
  const sum = noCounts();
  const stop = new AbortController();
  let failure: unknown;
  const begin = (config: SourceConfig): Watched => {
    const stopController = new AbortController();
    const stopSignal = AbortSignal.any([stopController.signal, stop.signal, job.signal]);
    const done = watchUnderLease(app, { domainId: watching.domainId, config }, options, job, stopSignal, sum);
    const failed = (error: unknown): void => {
      failure ??= error;
      stop.abort();
    };
    return { config, stopController, done: done.catch(failed) };
  };
  try {
    await followDomain(app, watching, watched, begin, job, AbortSignal.any([stop.signal, job.signal]));
  } catch (error) {
    // A cancelled job still returns its counts.
    if (!job.signal.aborted) throw error;
  } finally {
    stop.abort();
    await Promise.all([...watched.values()].map(({ done }) => done));
  }
  if (failure !== undefined && !job.signal.aborted) throw failure;
  return { ok: false, error: "Watching ended.", data: { domain_id: watching.domainId, ...sum } };
}

/** Restarts sources whose configuration changed, and starts and ends sources that were added or removed. */
async function followDomain(
  app: Parts,
  watching: Watching,
  watched: Map<string, Watched>,
  begin: (config: SourceConfig) => Watched,
  job: JobContext,
  stopped: AbortSignal,
): Promise<void> {
  let logged = "";
  for (;;) {
    await job.checkpoint();
    const sources = await readSources(app, watching);
    const problem = typeof sources === "string" ? sources : "";
    if (problem && problem !== logged) job.log(`WARNING: ${problem}`);
    logged = problem;
    if (typeof sources !== "string") {
      const wanted = new Map(sources.map((source) => [`${source.sourceType} ${source.sourceId}`, source]));
      for (const [key, entry] of watched) {
        if (isDeepStrictEqual(wanted.get(key), entry.config)) continue;
        entry.stopController.abort();
        await entry.done;
        watched.delete(key);
      }
      for (const [key, source] of wanted) if (!watched.has(key)) watched.set(key, begin(source));
    }
    await sleep(DOMAIN_EVERY_MS, stopped);
    if (stopped.aborted) return;
  }
}

/**
 * Returns the sources, or what is wrong with the domain's file: a user may just be editing it. Throws only if the domain does not exist any
 * more.
 */
async function readSources(app: Parts, watching: Watching): Promise<readonly SourceConfig[] | string> {
  try {
    return watchedSources(await app.domains.get(watching.domainId), watching, app);
  } catch (error) {
    if (error instanceof NotFoundError) throw error;
    return explain(error);
  }
}

/** Watches a source under a lease: a second watcher would do everything twice, so it waits. */
async function watchUnderLease(
  app: Parts,
  { domainId, config }: { readonly domainId: DomainId; readonly config: SourceConfig },
  options: WatchOptions,
  job: JobContext,
  stopSignal: AbortSignal,
  sum: StepCounts,
): Promise<void> {
  const waiting = {
    owner: `job ${job.jobId}`,
    signal: stopSignal,
    onWait: (owner: string): void =>
      job.log(`${config.sourceId}: ${owner} watches this source already. This job stands by in case that ends.`),
  };
  await using lease = await app.leases
    .acquire(domainId, sourceLease(config, "watch"), waiting)
    .catch((error: unknown): undefined => {
      if (!stopSignal.aborted) throw error;
    });
  if (!lease) return;
  await watchSource(describe(app, domainId, config, options), job, stopSignal, sum);
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
        // Excludes the storage folder: every crawl writes there and would trigger the next one. Outside the root, the relative path begins
        // with dots and matches nothing.
        const storage = relative(await realpath(folder.root), await realpath(app.config.storagePath));
        const ours = `${storage.replaceAll(sep, "/")}/`;
        const enters = (below: string): boolean => !`${below}/`.startsWith(ours) && folder.enters(below);
        const { watchFolder } = options;
        return await watchFolderTree(folder.root, notices, { enters, ...(watchFolder && { watchFolder }) });
      }),
    async scan(folders, job) {
      const { scope } = kind;
      const onlyFolders = folders && new Map([[sourceId, folders]]);
      const options = { scope, sourceId, gathered: true, ...(onlyFolders && { onlyFolders }) };
      const { sources, problems } = await app.crawl(crawlRequest(domainId, options), job);
      const [source] = sources;
      if (!source) throw new Error(`crawl source '${sourceId}': the result does not mention it`);
      return { ...source, error: problems.join(" ") } satisfies SourceResult;
    },
  };
}

interface WatchPace {
  /** Changes are gathered until none came for `gatherMs`, at most for `gatherMostMs`. */
  readonly gatherMs: number;
  readonly gatherMostMs: number;
  /** Intervals between two full scans: with notifications, and without. */
  readonly rescanMs: number;
  readonly scanMs: number;
  /** Delay after a failed scan; doubled after each further failure. */
  readonly retryMs: number;
  readonly retryMostMs: number;
  /** Delay before notifications that failed are tried again. */
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
  /** The source's name in log lines. */
  readonly name: string;
  /** Starts notifications; undefined for sources without: they are scanned. */
  readonly notify: ((notices: Notices) => Promise<FolderTreeWatch>) | undefined;
  /** Runs an ordinary crawl of everything, or of these folders only. */
  scan(folders: ReadonlySet<string> | undefined, job: JobContext): Promise<SourceResult>;
  readonly pace: WatchPace;
}

/** State of one source between two scans. */
interface WatchState {
  readonly source: WatchedSource;
  readonly job: JobContext;
  readonly hints: WatchHints;
  watch: FolderTreeWatch | undefined;
  /** Times (performance.now()) of the next full scan, and of the next attempt to be notified. */
  scanAtMs: number;
  notifyAtMs: number;
  failures: number;
  /** Warnings of the last scan: a lasting problem is logged once. */
  logged: ReadonlySet<string>;
  /** All changes so far. */
  readonly sum: StepCounts;
}

/** Keeps one source current until the signal aborts; a running scan is finished first. Adds its counts to `sum`. */
async function watchSource(
  source: WatchedSource,
  job: JobContext,
  stopSignal: AbortSignal,
  sum: StepCounts,
): Promise<void> {
  const state: WatchState = {
    ...{ source, job, hints: new WatchHints(), watch: undefined, scanAtMs: 0, notifyAtMs: 0, failures: 0 },
    logged: new Set(),
    sum,
  };
  const { hints } = state;
  const { gatherMs: quietMs, gatherMostMs: mostMs } = source.pace;
  try {
    for (let first = true; !stopSignal.aborted; first = false) {
      await notifyIfDue(state);
      if (hints.isEmpty) await hints.next(Math.max(nextAtMs(state) - performance.now(), 0), stopSignal);
      if (!hints.isEmpty && !first) await hints.gathered({ quietMs, mostMs }, stopSignal);
      await job.checkpoint();
      if (performance.now() >= state.scanAtMs) hints.anywhere();
      if (!hints.isEmpty && !stopSignal.aborted) await scan(state, first ? "everything" : "problems");
    }
  } finally {
    state.watch?.close();
  }
}

function nextAtMs({ source, watch, scanAtMs, notifyAtMs }: WatchState): number {
  return source.notify && !watch ? Math.min(scanAtMs, notifyAtMs) : scanAtMs;
}

/** Starts notifications before the full scan: no change falls between the two. */
async function notifyIfDue(state: WatchState): Promise<void> {
  const { source, hints, job } = state;
  if (!source.notify || state.watch || performance.now() < state.notifyAtMs) return;
  const wasLost = state.notifyAtMs > 0;
  state.notifyAtMs = performance.now() + source.pace.notifyAgainMs;
  try {
    state.watch = await source.notify({
      touched: (folder) => hints.touched(folder),
      lost(reason) {
        state.watch = undefined;
        state.notifyAtMs = performance.now() + source.pace.notifyAgainMs;
        job.log(`${source.name}: ${sayLost(reason)}`);
        hints.anywhere();
      },
    });
    if (wasLost) job.log(`${source.name}: change notifications work again.`);
    hints.anywhere();
  } catch (error) {
    if (!wasLost) job.log(`${source.name}: ${sayLost(explain(error))}`);
  }
}

function sayLost(reason: string): string {
  return `change notifications failed (${reason.replace(/\.$/, "")}), scanning everything repeatedly instead.`;
}

async function scan(state: WatchState, logging: "everything" | "problems"): Promise<void> {
  const { source, hints, job, sum } = state;
  const folders = hints.take();
  const startedAtMs = performance.now();
  const lines = new Set<string>();
  const problem = await source
    .scan(folders, logging === "everything" ? job : onlyProblems(job, state.logged, lines))
    .then(
      (result) => {
        const counts = changesOf(result);
        for (const kind of CHANGES) sum[kind] += counts[kind];
        if (CHANGES.some((kind) => counts[kind] > 0)) job.log(describeScan(state, counts, folders, startedAtMs));
        return result.error;
      },
      (error: unknown) => {
        if (error instanceof CancelledError || job.signal.aborted) throw error;
        return explain(error);
      },
    );
  if (problem && state.failures === 0)
    job.log(`${source.name}: ${problem.replace(/(?<![.?!])$/, ".")} It is tried again.`);
  if (!problem && state.failures > 0) job.log(`${source.name}: in step again.`);
  state.logged = lines;
  state.failures = problem ? state.failures + 1 : 0;
  // Folders that were not scanned because of the problem are part of the next full scan.
  if (problem || !folders) state.scanAtMs = performance.now() + pauseAfter(state, performance.now() - startedAtMs);
}

/** After a long scan the pause is longer, so that scanning does not take most of the time. */
function pauseAfter({ source: { pace }, watch, failures }: WatchState, tookMs: number): number {
  const limits = { firstMs: pace.retryMs, longestMs: pace.retryMostMs };
  if (failures > 0) return Math.max(backoffMs(failures, limits), tookMs);
  return watch ? pace.rescanMs : Math.max(pace.scanMs, 2 * tookMs);
}

const CHANGES = ["added", "changed", "moved", "removed"] as const;

/** Counts what changed for readers; if nothing was embedded, what changed on disk. */
function changesOf({ download, embed }: SourceResult): StepCounts {
  const pick = (counts: StepCounts): StepCounts => {
    const { added, changed, moved, removed } = counts;
    return { ...noCounts(), added, changed, moved, removed };
  };
  const embedded = pick(embed);
  return CHANGES.some((kind) => embedded[kind] > 0) ? embedded : pick(download);
}

const NAMED = 3;

function describeScan(
  { source: { name } }: WatchState,
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

/**
 * Wraps the job's log: a crawl logs every step, which is too much every second. Passes only errors, warnings and waits, and each only once.
 */
function onlyProblems(job: JobContext, logged: ReadonlySet<string>, lines: Set<string>): JobContext {
  return {
    jobId: job.jobId,
    dryRun: job.dryRun,
    signal: job.signal,
    checkpoint: () => job.checkpoint(),
    log(line) {
      if (!/^(\[ \d+ \/ \d+ \] )?(ERROR|WARNING|Waiting)/.test(line)) return;
      if (!logged.has(line) && !lines.has(line)) job.log(line);
      lines.add(line);
    },
  };
}

/** With more notices than this, the system may have dropped some silently. */
const MOST_NOTICES = 4096;

/** Changes that were reported for one source since its last scan. */
class WatchHints {
  #folders = new Set<string>();
  #notices = 0;
  #anywhere = true;
  #onNotice: (() => void) | undefined;

  touched(folder: string): void {
    this.#notices += 1;
    this.#folders.add(folder);
    if (this.#notices > MOST_NOTICES) this.anywhere();
    else this.#onNotice?.();
  }

  /** Requests a full scan, because it is unknown where something changed. */
  anywhere(): void {
    this.#anywhere = true;
    this.#folders.clear();
    this.#onNotice?.();
  }

  get isEmpty(): boolean {
    return !this.#anywhere && this.#folders.size === 0;
  }

  /** Returns and clears the changed folders; undefined if something may have changed anywhere. */
  take(): ReadonlySet<string> | undefined {
    const folders = this.#anywhere ? undefined : this.#folders;
    this.#folders = new Set();
    this.#notices = 0;
    this.#anywhere = false;
    return folders;
  }

  /** Resolves when the next notice comes, after the time, or when the signal aborts. */
  async next(ms: number, signal: AbortSignal): Promise<void> {
    const notified = new AbortController();
    this.#onNotice = () => notified.abort();
    await sleep(ms, AbortSignal.any([notified.signal, signal]));
    this.#onNotice = undefined;
  }

  /** Changes come in groups: waits until none came for `quietMs`, at most `mostMs`. */
  async gathered({ quietMs, mostMs }: { quietMs: number; mostMs: number }, signal: AbortSignal): Promise<void> {
    const untilMs = performance.now() + mostMs;
    for (let left = mostMs; left > 0 && !signal.aborted; left = untilMs - performance.now()) {
      const before = this.#notices;
      await this.next(Math.min(quietMs, left), signal);
      if (this.#notices === before) return;
    }
  }
}
