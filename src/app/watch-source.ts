import { CancelledError, explain } from "../contracts/errors.ts";
import type { JobContext } from "../contracts/job.ts";
import type { SourceResult, StepCounts } from "../engine/crawl-request.ts";
import { noCounts, sumUp } from "../engine/tally.ts";
import { backoffMs } from "../lib/backoff.ts";
import { plural } from "../lib/plural.ts";
import { sleep } from "../lib/time.ts";
import type { FolderTreeWatch, Notices } from "../lib/watch-folder-tree.ts";

export interface WatchPace {
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

export const WATCH_PACE: WatchPace = {
  gatherMs: 300,
  gatherMostMs: 1_000,
  rescanMs: 5 * 60_000,
  scanMs: 1_000,
  retryMs: 1_000,
  retryMostMs: 30_000,
  notifyAgainMs: 60_000,
};

export interface WatchedSource {
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
export async function watchSource(
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
