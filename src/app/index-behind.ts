import type { Principal } from "../contracts/access.ts";
import { explain } from "../contracts/errors.ts";
import type { JobRecord } from "../contracts/job.ts";
import { withDomainLock } from "../domains/domain-lock.ts";
import { crawlRequest } from "../engine/crawl-request.ts";
import type { Behind } from "../engine/ingest/ingest.ts";
import type { RunningJob } from "../jobs/job-runner.ts";
import { backoffMs } from "../lib/backoff.ts";
import { plural } from "../lib/plural.ts";
import { storageFolder } from "../mirror/layout.ts";
import { busyWith } from "./busy-with.ts";
import { crawlJob } from "./crawl-job.ts";
import { crawlTask } from "./crawl-task.ts";
import type { IngestApp } from "./run-ingest.ts";
import { WATCH_ACTION } from "./watch-job.ts";

const REGISTRY: Principal = { kind: "schedule", id: "registry", name: "Registry", role: "operate" };

/** A crawl that did not work out (removals that wait for a person, a store that is gone) is not tried again at once. */
const FAILED_PAUSE_MS = 60_000;
/** Nor is one that left the very same items behind: they may have changed meanwhile, or never come into the index. */
const SAME_PAUSE_MS = 5_000;
const LONGEST_PAUSE_MS = 3600_000;

/** A domain that others work on is looked at again after a while. */
const BUSY_PAUSE_MS = 5_000;

/** To see what is behind, a large registry far away is read for a while: a tenth of the time at most goes into that. */
const REST_TIMES = 9;

export interface Indexing {
  /** false: it has just taken a while. */
  mayLook(): boolean;
  /** A crawl ended, or could not be started a while ago: somebody should look again. */
  isOwed(): boolean;
  /** Returns how many crawls it started. */
  startWhatIsBehind(): Promise<number>;
}

/** Starts a crawl of each source whose index is behind its registry, one of a domain at a time. */
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
  const start = async (key: string, one: Behind): Promise<boolean> => {
    const job = await startUnlessBusy(one, app);
    if (!job) {
      owe(nowMs() + BUSY_PAUSE_MS);
      return false;
    }
    log(`Started job '${job.jobId}': ${plural(one.items, "address", "addresses")} of '${key}' for the index.`);
    job.done.then(
      (record) => note(key, one, record),
      () => note(key, one, { result: null }),
    );
    return true;
  };
  return {
    mayLook: () => nowMs() >= restUntilMs,
    isOwed: () => nowMs() >= owedFromMs,
    async startWhatIsBehind() {
      owedFromMs = Number.POSITIVE_INFINITY;
      const beganMs = nowMs();
      const behind = new Map((await app.ingest.behind()).map((one) => [`${one.domainId}/${one.sourceId}`, one]));
      restUntilMs = nowMs() + REST_TIMES * (nowMs() - beganMs);
      for (const key of pauses.keys()) if (!behind.has(key)) pauses.delete(key);
      let started = 0;
      for (const [key, one] of behind) {
        const pausedUntilMs = endOf(pauses.get(key), one);
        if (pausedUntilMs > nowMs()) owe(pausedUntilMs);
        else if (await start(key, one)) started += 1;
      }
      return started;
    },
  };
}

interface Pause {
  /** The items it was started for. */
  readonly which: string;
  readonly times: number;
  /** For the same items, and for others. */
  readonly untilMs: number;
  readonly othersUntilMs: number;
}

/** For the same items it is longer each time. */
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

/** undefined: a job works on the domain. Under its lock, so that of several processes one starts it. */
async function startUnlessBusy(behind: Behind, app: IngestApp): Promise<RunningJob | undefined> {
  const { domainId } = behind;
  const folder = storageFolder(app.config.storagePath, "domains");
  const isBusy = busyWith(app.jobs, { besides: WATCH_ACTION });
  if (await isBusy(domainId)) return undefined;
  return await withDomainLock(folder, domainId, async () =>
    (await isBusy(domainId)) ? undefined : await startCrawl(behind, app),
  );
}

/** As a person would have started it from a page. */
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
