import type { Principal } from "../contracts/access.ts";
import type { AuditLog } from "../contracts/audit.ts";
import type { Domain } from "../contracts/domain.ts";
import type { ScheduleState, ScheduleStates } from "../contracts/domain-state.ts";
import { explain, NotFoundError } from "../contracts/errors.ts";
import type { DomainId, JobId } from "../contracts/ids.ts";
import { withDomainLock } from "../domains/domain-files.ts";
import { unfinishedRenames } from "../domains/domain-rename.ts";
import type { DomainStore } from "../domains/domain-store.ts";
import { nextTime } from "../lib/cron.ts";
import { toUtcMicros } from "../lib/time.ts";

/** Starts unattended crawls of the domains that have a `schedule`. */
export interface Schedule {
  /** When the next crawl of the domain is due, UTC; "" when it has no schedule. */
  nextRunAt(domain: Domain): string;
  /** Checks the schedules until it is stopped. `log` gets what could not be started, and why. */
  start(log: (line: string) => void): { stop(): void };
}

export interface ScheduleParts {
  readonly domains: DomainStore;
  /** Returns a job that works on the domain already. */
  readonly busyWith: (domainId: DomainId) => Promise<JobId | undefined>;
  /** The folder that holds the domains. */
  readonly folder: string;
  /** Up to when each domain's schedule was checked. */
  readonly states: ScheduleStates;
  readonly start: (domainId: DomainId) => Promise<JobId>;
  /** Tells whether the job ended early without a user's request: its process was killed or stopped. */
  readonly wasCutOff: (jobId: JobId) => Promise<boolean>;
  readonly audit: Pick<AuditLog, "begin">;
  readonly clock?: ScheduleClock;
}

interface ScheduleClock {
  now(): Date;
  /** Repeats the work until the returned function is called; never starts it while the last run is not over. */
  often(work: () => Promise<void>): () => void;
}

/** Cron has minutes, so this delay is not noticed. */
const CHECK_EVERY_MS = 15_000;
/** If the clock was set back, it is waited for, so that nothing starts twice; unless it was wrong by more than this. */
const CLOCK_WRONG_MS = 24 * 3600_000;

/** The reason why a crawl cannot be started (a store that cannot be reached) may pass. */
const TRY_AGAIN_EVERY_MS = 60_000;
const TRY_AGAIN_FOR_MS = 3600_000;

/** A crawl that brings its server down is not restarted for ever. */
const MOST_STARTS = 3;

const SCHEDULER: Principal = { kind: "schedule", id: "schedule", name: "Schedule", role: "operate" };

export function createSchedule(parts: ScheduleParts): Schedule {
  const clock = parts.clock ?? systemClock();
  return {
    nextRunAt({ schedule }) {
      const next = schedule && nextTime(schedule, clock.now());
      return next ? toUtcMicros(next) : "";
    },
    start(log) {
      const lastLines = new Map<string, string>();
      const sayOnce = (about: string, line: string): void => {
        if (lastLines.get(about) !== line) log(`${about}: ${line}`);
        lastLines.set(about, line);
      };
      const reporter: Reporter = { log, sayOnce, failing: new Map(), unscheduled: new Set() };
      return { stop: clock.often(() => checkAll(parts, clock, reporter)) };
    },
  };
}

interface Reporter {
  log(line: string): void;
  /** Logs a lasting problem once, not at every check. */
  sayOnce(about: string, line: string): void;
  /** Crawls that are due and could not be started. */
  readonly failing: Map<DomainId, { readonly sinceMs: number; readonly triedMs: number }>;
  /** Domains without a schedule and without a recorded earlier one. There may be many, and their ledgers stay closed. */
  readonly unscheduled: Set<DomainId>;
}

/** Checks all domains; a problem with one does not affect the others. Never rejects. */
async function checkAll(parts: ScheduleParts, clock: ScheduleClock, reporter: Reporter): Promise<void> {
  try {
    const { domains, broken } = await parts.domains.list();
    for (const { domainId, reason } of broken) reporter.sayOnce(scheduleOf(domainId), reason);
    for (const domain of domains) {
      if (domain.scheduleProblem) reporter.sayOnce(scheduleOf(domain.domainId), domain.scheduleProblem);
      await checkDomain(domain, parts, clock, reporter).catch((error: unknown) => {
        reporter.sayOnce(scheduleOf(domain.domainId), explain(error));
      });
    }
  } catch (error) {
    reporter.sayOnce("Schedules", explain(error));
  }
}

function scheduleOf(domainId: string): string {
  return `Schedule of domain '${domainId}'`;
}

async function checkDomain(
  domain: Domain,
  parts: ScheduleParts,
  clock: ScheduleClock,
  reporter: Reporter,
): Promise<void> {
  const { domainId } = domain;
  const verdictFor = async (found: Domain, now: Date): Promise<Verdict> =>
    judge(found, await parts.states.get(domainId), now, parts.wasCutOff);
  if (domain.schedule !== "") reporter.unscheduled.delete(domainId);
  if (reporter.unscheduled.has(domainId)) return;
  if ((await verdictFor(domain, clock.now())).kind === "nothing") {
    if (domain.schedule === "") reporter.unscheduled.add(domainId);
    return;
  }
  if (hasJustFailed(domainId, clock.now(), reporter)) return;
  await withDomainLock(parts.folder, domainId, async () => {
    // Checked again under the lock: another server may have started the crawl, or a user changed the schedule.
    const now = clock.now();
    if (await isRenamed(parts.folder, domainId)) return;
    const fresh = await unlessGone(parts.domains.get(domainId));
    const verdict = fresh && (await verdictFor(fresh, now));
    if (!fresh || !verdict || verdict.kind === "nothing") return;
    const outcome = verdict.kind === "due" ? await startCrawl(fresh, verdict.dueAt, parts, reporter, now) : "left out";
    // Without a recorded state, the crawl stays due.
    if (outcome === "try again") return;
    reporter.failing.delete(domainId);
    const started = outcome !== "left out" && verdict.kind === "due" && { jobId: outcome, times: verdict.times };
    // Written after the start: a process killed in between leaves the crawl due, and the started crawl died with it.
    const state = { schedule: fresh.schedule, checkedAt: now, ...(started && { started }) };
    await parts.states.put(domainId, state);
  });
}

type Verdict =
  | { readonly kind: "nothing" | "noted" }
  /** `times`: how often the crawl will have been started, including this time. */
  | { readonly kind: "due"; readonly dueAt: Date; readonly times: number };

/** Several times missed since the last check count as one. A new schedule has no missed times. */
async function judge(
  { schedule }: Domain,
  state: ScheduleState | undefined,
  now: Date,
  wasCutOff: ScheduleParts["wasCutOff"],
): Promise<Verdict> {
  if (schedule === "") return { kind: state && state.schedule !== "" ? "noted" : "nothing" };
  if (!state || state.schedule !== schedule) return { kind: "noted" };
  if (state.checkedAt.getTime() - now.getTime() > CLOCK_WRONG_MS) return { kind: "noted" };
  const dueAt = nextTime(schedule, state.checkedAt);
  if (dueAt && dueAt <= now) return { kind: "due", dueAt, times: 1 };
  const { started, checkedAt } = state;
  if (!started || started.times >= MOST_STARTS || !(await wasCutOff(started.jobId))) return { kind: "nothing" };
  return { kind: "due", dueAt: checkedAt, times: started.times + 1 };
}

function hasJustFailed(domainId: DomainId, now: Date, { failing }: Reporter): boolean {
  const failed = failing.get(domainId);
  return failed !== undefined && Math.abs(now.getTime() - failed.triedMs) < TRY_AGAIN_EVERY_MS;
}

/** Returns the job's id, or why there is none. */
async function startCrawl(
  { domainId, schedule }: Domain,
  dueAt: Date,
  parts: ScheduleParts,
  reporter: Reporter,
  now: Date,
): Promise<JobId | "left out" | "try again"> {
  const busy = await parts.busyWith(domainId);
  if (busy) {
    reporter.log(`Skipped the scheduled crawl of '${domainId}': job '${busy}' works on the domain.`);
    return "left out";
  }
  const what = { domain_id: domainId, schedule, due_utc: toUtcMicros(dueAt) };
  const ended = await parts.audit.begin({ who: SCHEDULER, from: "", action: "scheduled crawl", what });
  try {
    const jobId = await parts.start(domainId);
    reporter.log(`Started the scheduled crawl of '${domainId}' as job '${jobId}'.`);
    await ended({ ok: true, error: "" });
    return jobId;
  } catch (error) {
    await ended({ ok: false, error: explain(error) });
    return noteFailure(domainId, explain(error), reporter, now) ? "left out" : "try again";
  }
}

/** Logs the first failure and the giving up; the audit log has every attempt. Returns true if it was given up. */
function noteFailure(domainId: DomainId, reason: string, { log, failing }: Reporter, now: Date): boolean {
  const sinceMs = failing.get(domainId)?.sinceMs;
  const triedMs = now.getTime();
  failing.set(domainId, { sinceMs: sinceMs ?? triedMs, triedMs });
  const what = `The scheduled crawl of '${domainId}' could not be started: ${reason.replace(/\.$/, "")}.`;
  const isOver = sinceMs !== undefined && triedMs - sinceMs >= TRY_AGAIN_FOR_MS;
  if (sinceMs === undefined) log(`${what} Retrying for an hour.`);
  if (isOver) log(`${what} Skipped until its next scheduled time.`);
  return isOver;
}

/** During a rename, the ledger may still have the other name. */
async function isRenamed(folder: string, domainId: DomainId): Promise<boolean> {
  return (await unfinishedRenames(folder)).some(({ from, to }) => from === domainId || to === domainId);
}

async function unlessGone(domain: Promise<Domain>): Promise<Domain | undefined> {
  try {
    return await domain;
  } catch (error) {
    if (error instanceof NotFoundError) return undefined;
    throw error;
  }
}

function systemClock(): ScheduleClock {
  return {
    now: () => new Date(),
    often(work) {
      let timer: NodeJS.Timeout | undefined;
      let stopped = false;
      const again = async (): Promise<void> => {
        await work();
        if (!stopped) timer = setTimeout(() => void again(), CHECK_EVERY_MS).unref();
      };
      void again();
      return () => {
        stopped = true;
        clearTimeout(timer);
      };
    },
  };
}
