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
  /** Looks after the clock until it is stopped. `log` is told what could not be started, and why. */
  start(log: (line: string) => void): { stop(): void };
}

export interface ScheduleParts {
  readonly domains: DomainStore;
  /** A job that works on the domain already. */
  readonly busyWith: (domainId: DomainId) => Promise<JobId | undefined>;
  /** Holds the domains. */
  readonly folder: string;
  /** Up to when the schedule of each was looked after. */
  readonly states: ScheduleStates;
  readonly start: (domainId: DomainId) => Promise<JobId>;
  /** The job ended before its work did, and nobody wished it: its process was killed or stopped. */
  readonly wasCutOff: (jobId: JobId) => Promise<boolean>;
  readonly audit: Pick<AuditLog, "begin">;
  readonly clock?: ScheduleClock;
}

interface ScheduleClock {
  now(): Date;
  /** Does it now and then until the answer is called; never while the last time is not over. */
  often(work: () => Promise<void>): () => void;
}

/** Cron knows minutes, so nobody is late by more than people would notice. */
const LOOK_EVERY_MS = 15_000;
/** A clock that was set back is waited for, so that nothing starts twice; one that was wrong by days is not. */
const CLOCK_WRONG_MS = 24 * 3600_000;

/** What keeps a crawl from being started (a store that cannot be reached) may pass. */
const TRY_AGAIN_EVERY_MS = 60_000;
const TRY_AGAIN_FOR_MS = 3600_000;

/** A crawl that brings its server down is not started for ever. */
const MOST_STARTS = 3;

const CLOCKWORK: Principal = { kind: "schedule", id: "schedule", name: "Schedule", role: "operate" };

export function createSchedule(parts: ScheduleParts): Schedule {
  const clock = parts.clock ?? systemClock();
  return {
    nextRunAt({ schedule }) {
      const next = schedule && nextTime(schedule, clock.now());
      return next ? toUtcMicros(next) : "";
    },
    start(log) {
      const told = new Map<string, string>();
      const sayOnce = (about: string, line: string): void => {
        if (told.get(about) !== line) log(`${about}: ${line}`);
        told.set(about, line);
      };
      const voice: Voice = { log, sayOnce, failing: new Map(), unscheduled: new Set() };
      return { stop: clock.often(() => lookAtAll(parts, clock, voice)) };
    },
  };
}

interface Voice {
  log(line: string): void;
  /** What stays wrong is said once, not at every look. */
  sayOnce(about: string, line: string): void;
  /** Crawls that are due and could not be started. */
  readonly failing: Map<DomainId, { readonly sinceMs: number; readonly triedMs: number }>;
  /** Without a schedule, and nothing is owed for an earlier one: there may be many, and their ledgers stay closed. */
  readonly unscheduled: Set<DomainId>;
}

/** One domain that gives trouble does not keep the others from being looked at. Never rejects. */
async function lookAtAll(parts: ScheduleParts, clock: ScheduleClock, voice: Voice): Promise<void> {
  try {
    const { domains, broken } = await parts.domains.list();
    for (const { domainId, reason } of broken) voice.sayOnce(scheduleOf(domainId), reason);
    for (const domain of domains) {
      if (domain.scheduleProblem) voice.sayOnce(scheduleOf(domain.domainId), domain.scheduleProblem);
      await lookAt(domain, parts, clock, voice).catch((error: unknown) => {
        voice.sayOnce(scheduleOf(domain.domainId), explain(error));
      });
    }
  } catch (error) {
    voice.sayOnce("Schedules", explain(error));
  }
}

function scheduleOf(domainId: string): string {
  return `Schedule of domain '${domainId}'`;
}

async function lookAt(domain: Domain, parts: ScheduleParts, clock: ScheduleClock, voice: Voice): Promise<void> {
  const { domainId } = domain;
  const look = async (found: Domain, now: Date): Promise<Verdict> =>
    judge(found, await parts.states.get(domainId), now, parts.wasCutOff);
  if (domain.schedule !== "") voice.unscheduled.delete(domainId);
  if (voice.unscheduled.has(domainId)) return;
  if ((await look(domain, clock.now())).kind === "nothing") {
    if (domain.schedule === "") voice.unscheduled.add(domainId);
    return;
  }
  if (hasJustFailed(domainId, clock.now(), voice)) return;
  await withDomainLock(parts.folder, domainId, async () => {
    // Looked at again now that nobody else is at it: another server may have started it, somebody changed the schedule.
    const now = clock.now();
    if (await isRenamed(parts.folder, domainId)) return;
    const fresh = await unlessGone(parts.domains.get(domainId));
    const verdict = fresh && (await look(fresh, now));
    if (!fresh || !verdict || verdict.kind === "nothing") return;
    const outcome = verdict.kind === "due" ? await startCrawl(fresh, verdict.dueAt, parts, voice, now) : "left out";
    // Not written down, it stays due.
    if (outcome === "try again") return;
    voice.failing.delete(domainId);
    const started = outcome !== "left out" && verdict.kind === "due" && { jobId: outcome, times: verdict.times };
    // Written after the start: whoever is killed in between leaves it due, and the crawl died with them.
    const state = { schedule: fresh.schedule, lookedAt: now, ...(started && { started }) };
    await parts.states.put(domainId, state);
  });
}

type Verdict =
  | { readonly kind: "nothing" | "noted" }
  /** `times`: with this one, how often it will have been started. */
  | { readonly kind: "due"; readonly dueAt: Date; readonly times: number };

/** All the times that passed since somebody last looked are one. A schedule that is new owes nothing. */
async function judge(
  { schedule }: Domain,
  state: ScheduleState | undefined,
  now: Date,
  wasCutOff: ScheduleParts["wasCutOff"],
): Promise<Verdict> {
  if (schedule === "") return { kind: state && state.schedule !== "" ? "noted" : "nothing" };
  if (!state || state.schedule !== schedule) return { kind: "noted" };
  if (state.lookedAt.getTime() - now.getTime() > CLOCK_WRONG_MS) return { kind: "noted" };
  const dueAt = nextTime(schedule, state.lookedAt);
  if (dueAt && dueAt <= now) return { kind: "due", dueAt, times: 1 };
  const { started, lookedAt } = state;
  if (!started || started.times >= MOST_STARTS || !(await wasCutOff(started.jobId))) return { kind: "nothing" };
  return { kind: "due", dueAt: lookedAt, times: started.times + 1 };
}

function hasJustFailed(domainId: DomainId, now: Date, { failing }: Voice): boolean {
  const failed = failing.get(domainId);
  return failed !== undefined && Math.abs(now.getTime() - failed.triedMs) < TRY_AGAIN_EVERY_MS;
}

/** The job; or why there is none. */
async function startCrawl(
  { domainId, schedule }: Domain,
  dueAt: Date,
  parts: ScheduleParts,
  voice: Voice,
  now: Date,
): Promise<JobId | "left out" | "try again"> {
  const busy = await parts.busyWith(domainId);
  if (busy) {
    voice.log(`The scheduled crawl of '${domainId}' was left out, because job '${busy}' works on it.`);
    return "left out";
  }
  const what = { domain_id: domainId, schedule, due_utc: toUtcMicros(dueAt) };
  const ended = await parts.audit.begin({ who: CLOCKWORK, from: "", action: "scheduled crawl", what });
  try {
    const jobId = await parts.start(domainId);
    voice.log(`Started the scheduled crawl of '${domainId}' as job '${jobId}'.`);
    await ended({ ok: true, error: "" });
    return jobId;
  } catch (error) {
    await ended({ ok: false, error: explain(error) });
    return noteFailure(domainId, explain(error), voice, now) ? "left out" : "try again";
  }
}

/** Said when it begins and when it is given up; the audit log has every try. true: given up. */
function noteFailure(domainId: DomainId, reason: string, { log, failing }: Voice, now: Date): boolean {
  const sinceMs = failing.get(domainId)?.sinceMs;
  const triedMs = now.getTime();
  failing.set(domainId, { sinceMs: sinceMs ?? triedMs, triedMs });
  const what = `The scheduled crawl of '${domainId}' could not be started: ${reason.replace(/\.$/, "")}.`;
  const isOver = sinceMs !== undefined && triedMs - sinceMs >= TRY_AGAIN_FOR_MS;
  if (sinceMs === undefined) log(`${what} It is tried again for an hour.`);
  if (isOver) log(`${what} It is left out until its next time.`);
  return isOver;
}

/** Its ledger may still have the other name. */
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
        if (!stopped) timer = setTimeout(() => void again(), LOOK_EVERY_MS).unref();
      };
      void again();
      return () => {
        stopped = true;
        clearTimeout(timer);
      };
    },
  };
}
