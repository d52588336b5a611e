import type { Principal } from "../contracts/access.ts";
import { explain } from "../contracts/errors.ts";
import type { JobRecord } from "../contracts/job.ts";
import { withDomainLock } from "../domains/domain-files.ts";
import { crawlRequest } from "../engine/crawl-request.ts";
import type { Behind } from "../engine/ingest/ingest.ts";
import type { RunningJob } from "../jobs/job-runner.ts";
import { backoffMs } from "../lib/retry.ts";
import { plural } from "../lib/text.ts";
import { sleep } from "../lib/time.ts";
import { storageFolder } from "../mirror/layout.ts";
import type { App } from "./app.ts";
import { busyWith } from "./busy-with.ts";
import { crawlJob, crawlTask } from "./jobs.ts";
import { WATCH_ACTION } from "./watch.ts";

interface IngestOptions {
  /** Shown to people: which worker has an item. */
  readonly name: string;
  readonly log: (line: string) => void;
  /** Poll intervals: the first one, and the longest after a while without work. */
  readonly pollMs?: { readonly busy: number; readonly idle: number };
  /** How long fetched items wait for more before they are indexed. */
  readonly gatherMs?: { readonly least: number; readonly most: number };
}

type IngestApp = Pick<App, "ingest" | "config" | "domains" | "jobs" | "runner" | "checkCrawl" | "crawl" | "audit">;

const POLL_MS = { busy: 250, idle: 2_000 };
const GATHER_MS = { least: 2_000, most: 30_000 };
const RETRY_MS = 5_000;
/** A lasting error is logged once in this time, not at every attempt. */
const SAY_AGAIN_MS = 3600_000;
/** Reading all domains has a cost. */
const LOOK_FOR_SOURCES_MS = 2_000;

/**
 * Keeps the registered addresses current until the signal aborts: a timer queues items that are due, workers fetch them, and a crawl of
 * their source brings them into the index. Never rejects: errors are logged, and the work is tried again.
 */
export async function runIngest(app: IngestApp, options: IngestOptions, signal: AbortSignal): Promise<void> {
  const lastLogged = new Map<string, { readonly line: string; readonly atMs: number }>();
  const guard = async (about: string, work: () => Promise<void>): Promise<void> => {
    try {
      await work();
    } catch (error) {
      if (signal.aborted) return;
      const line = explain(error);
      const last = lastLogged.get(about);
      if (last?.line !== line || performance.now() - last.atMs > SAY_AGAIN_MS) {
        options.log(`ERROR: ${about}: ${line}`);
        lastLogged.set(about, { line, atMs: performance.now() });
      }
      await sleep(RETRY_MS, signal);
    }
  };
  await untilNeeded(app, guard, signal);
  if (signal.aborted) return;
  const activity: Activity = { workedAtMs: performance.now(), indexedAtMs: 0 };
  const { itemsAtOnce } = app.config.web.checks;
  await Promise.all([
    sweepNowAndThen(app, guard, activity, signal),
    indexNowAndThen(app, options, guard, activity, signal),
    ...Array.from({ length: itemsAtOnce }, () => takeItems(app, options, guard, activity, signal)),
  ]);
}

type Guard = (about: string, work: () => Promise<void>) => Promise<void>;

interface Activity {
  /** When work was last done that may have made an index outdated. */
  workedAtMs: number;
  indexedAtMs: number;
}

/** Waits until there is a web source. Without one, neither registry nor queue is needed, and the storage may not even allow them. */
async function untilNeeded({ domains }: IngestApp, guard: Guard, signal: AbortSignal): Promise<void> {
  let isNeeded = false;
  while (!isNeeded && !signal.aborted) {
    await guard("look for web sources", async () => {
      const { domains: all } = await domains.list();
      isNeeded = all.some(({ sources }) => sources.some(({ kind }) => kind.abilities.registersAddresses));
    });
    if (!isNeeded) await sleep(LOOK_FOR_SOURCES_MS, signal);
  }
}

async function sweepNowAndThen(app: IngestApp, guard: Guard, activity: Activity, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await guard("queue the addresses that are due", async () => void (await app.ingest.sweep(signal)));
    activity.workedAtMs = performance.now();
    await sleep(app.config.web.checks.timerSeconds * 1000, signal);
  }
}

async function takeItems(
  app: IngestApp,
  { name, pollMs = POLL_MS }: IngestOptions,
  guard: Guard,
  activity: Activity,
  signal: AbortSignal,
): Promise<void> {
  let waitMs = pollMs.busy;
  while (!signal.aborted) {
    let found = false;
    await guard("look at a registered address", async () => {
      found = await app.ingest.workOne(name, signal);
    });
    if (found) activity.workedAtMs = performance.now();
    waitMs = found ? pollMs.busy : Math.min(waitMs * 2, pollMs.idle);
    if (!found) await sleep(waitMs, signal);
  }
}

/** Waits for a pause in the work, so that items requested together are indexed together; at most `gatherMs.most`. */
async function indexNowAndThen(
  app: IngestApp,
  { log, gatherMs = GATHER_MS }: IngestOptions,
  guard: Guard,
  activity: Activity,
  signal: AbortSignal,
): Promise<void> {
  const indexing = createIndexing(app, log);
  let sinceMs: number | undefined;
  while (!signal.aborted) {
    await sleep(gatherMs.least / 4, signal);
    if (activity.workedAtMs <= activity.indexedAtMs && !indexing.isOwed()) continue;
    if (!indexing.isRested()) continue;
    const nowMs = performance.now();
    sinceMs ??= nowMs;
    const isQuiet = nowMs - activity.workedAtMs >= gatherMs.least;
    if (!isQuiet && nowMs - sinceMs < gatherMs.most) continue;
    sinceMs = undefined;
    activity.indexedAtMs = nowMs;
    await guard("bring the index up to date", async () => void (await indexing.startWhatIsBehind()));
  }
}

const REGISTRY: Principal = { kind: "schedule", id: "registry", name: "Registry", role: "operate" };

/** After a crawl that failed (removals that wait for approval, a missing store), the next attempt waits. */
const FAILED_PAUSE_MS = 60_000;
/** The same after a crawl that left the same items outdated: they may have changed meanwhile, or never get into the index. */
const SAME_PAUSE_MS = 5_000;
const LONGEST_PAUSE_MS = 3600_000;

/** A domain that another job works on is checked again after this time. */
const BUSY_PAUSE_MS = 5_000;

/** Finding outdated items in a large remote registry takes a while: at most a tenth of the time is spent on it. */
const REST_TIMES = 9;

interface Indexing {
  /** Returns false while it rests after a long query. */
  isRested(): boolean;
  /** Returns true if a crawl ended, or a postponed start is due: check again. */
  isOwed(): boolean;
  /** Returns how many crawls it started. */
  startWhatIsBehind(): Promise<number>;
}

/** Starts a crawl of each source whose index is behind its registry; one at a time per domain. */
export function createIndexing(
  app: IngestApp,
  log: (line: string) => void,
  nowMs: () => number = () => performance.now(),
): Indexing {
  const pauses = new Map<string, Pause>();
  let owedFromMs = Number.POSITIVE_INFINITY;
  let restUntilMs = 0;
  const owe = (fromMs: number): void => {
    owedFromMs = Math.min(owedFromMs, fromMs);
  };
  const note = (key: string, { which }: Behind, { result }: Pick<JobRecord, "result">): void => {
    owe(nowMs());
    pauses.set(key, pauseAfter({ ok: result?.ok === true }, which, pauses.get(key), nowMs()));
  };
  const start = async (key: string, behindSource: Behind): Promise<boolean> => {
    const job = await startUnlessBusy(behindSource, app);
    if (!job) {
      owe(nowMs() + BUSY_PAUSE_MS);
      return false;
    }
    log(`Started job '${job.jobId}': ${plural(behindSource.items, "address", "addresses")} of '${key}' for the index.`);
    job.done.then(
      (record) => note(key, behindSource, record),
      () => note(key, behindSource, { result: null }),
    );
    return true;
  };
  return {
    isRested: () => nowMs() >= restUntilMs,
    isOwed: () => nowMs() >= owedFromMs,
    async startWhatIsBehind() {
      owedFromMs = Number.POSITIVE_INFINITY;
      const beganMs = nowMs();
      const behind = new Map(
        (await app.ingest.behind()).map((behindSource) => [
          `${behindSource.domainId}/${behindSource.sourceId}`,
          behindSource,
        ]),
      );
      restUntilMs = nowMs() + REST_TIMES * (nowMs() - beganMs);
      for (const key of pauses.keys()) if (!behind.has(key)) pauses.delete(key);
      let started = 0;
      for (const [key, behindSource] of behind) {
        const pausedUntilMs = endOf(pauses.get(key), behindSource);
        if (pausedUntilMs > nowMs()) owe(pausedUntilMs);
        else if (await start(key, behindSource)) started += 1;
      }
      return started;
    },
  };
}

interface Pause {
  /** The items the crawl was started for. */
  readonly which: string;
  readonly times: number;
  /** End of the pause for the same items, and for other items. */
  readonly untilMs: number;
  readonly othersUntilMs: number;
}

/** The pause for the same items grows each time. */
function pauseAfter({ ok }: { readonly ok: boolean }, which: string, last: Pause | undefined, nowMs: number): Pause {
  const times = last?.which === which ? last.times + 1 : 1;
  const firstMs = ok ? SAME_PAUSE_MS : FAILED_PAUSE_MS;
  const untilMs = nowMs + backoffMs(times, { firstMs, longestMs: LONGEST_PAUSE_MS });
  return { which, times, untilMs, othersUntilMs: nowMs + (ok ? 0 : FAILED_PAUSE_MS) };
}

function endOf(pause: Pause | undefined, { which }: Behind): number {
  if (!pause) return 0;
  return pause.which === which ? pause.untilMs : pause.othersUntilMs;
}

/**
 * Returns undefined if another job works on the domain. Takes the domain's lock, so that only one of several processes starts the crawl.
 */
async function startUnlessBusy(behind: Behind, app: IngestApp): Promise<RunningJob | undefined> {
  const { domainId } = behind;
  const folder = storageFolder(app.config.storagePath, "domains");
  const isBusy = busyWith(app.jobs, { besides: WATCH_ACTION });
  if (await isBusy(domainId)) return undefined;
  return await withDomainLock(folder, domainId, async () =>
    (await isBusy(domainId)) ? undefined : await startCrawl(behind, app),
  );
}

/** Starts the same job as the crawl button of a page. */
async function startCrawl({ domainId, sourceId, items }: Behind, app: IngestApp): Promise<RunningJob> {
  const request = crawlRequest(domainId, { scope: "web", sourceId, gathered: true });
  const what = { domain_id: domainId, source_id: sourceId, items };
  const ended = await app.audit.begin({ who: REGISTRY, from: "", action: "index registered addresses", what });
  try {
    await app.checkCrawl(request);
    const { start, work } = crawlJob(app, request, { dryRun: false });
    const query = `domain_id=${domainId}&mode=incremental&scope=web&source_id=${sourceId}`;
    const job = await app.runner.start(
      { ...start, task: crawlTask(request), endpoint: `/v2/crawler/crawl?${query}` },
      work,
    );
    await ended({ ok: true, error: "" });
    return job;
  } catch (error) {
    await ended({ ok: false, error: explain(error) });
    throw error;
  }
}
