import { explain } from "../contracts/errors.ts";
import { sleep } from "../lib/time.ts";
import type { App } from "./app.ts";
import { createIndexing } from "./index-behind.ts";

export interface IngestOptions {
  /** For people: who has an item. */
  readonly name: string;
  readonly log: (line: string) => void;
  /** How often it looks for something to do, at most and after a while of nothing. */
  readonly pollMs?: { readonly busy: number; readonly idle: number };
  /** How long what was fetched waits for more of it before it is indexed. */
  readonly gatherMs?: { readonly least: number; readonly most: number };
}

export type IngestApp = Pick<
  App,
  "ingest" | "config" | "domains" | "jobs" | "runner" | "checkCrawl" | "crawl" | "audit"
>;

const POLL_MS = { busy: 250, idle: 2_000 };
const GATHER_MS = { least: 2_000, most: 30_000 };
const RETRY_MS = 5_000;
/** What stays wrong is said now and then, not at every try. */
const SAY_AGAIN_MS = 3600_000;
/** Reading all domains costs something. */
const LOOK_FOR_SOURCES_MS = 2_000;

/**
 * Looks after the registered addresses until the signal: a timer queues what is due, workers look at what is queued, and what
 * they found is brought into the index by a crawl of its source. Never rejects: what goes wrong is said, and tried again.
 */
export async function runIngest(app: IngestApp, options: IngestOptions, signal: AbortSignal): Promise<void> {
  const told = new Map<string, { readonly line: string; readonly atMs: number }>();
  const guard = async (about: string, work: () => Promise<void>): Promise<void> => {
    try {
      await work();
    } catch (error) {
      if (signal.aborted) return;
      const line = explain(error);
      const last = told.get(about);
      if (last?.line !== line || performance.now() - last.atMs > SAY_AGAIN_MS) {
        options.log(`ERROR: ${about}: ${line}`);
        told.set(about, { line, atMs: performance.now() });
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
  /** When something was last done that may have left an index behind. */
  workedAtMs: number;
  indexedAtMs: number;
}

/** Whoever has no web source needs neither registry nor queue, and perhaps cannot have them where the storage is. */
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

/** Waits for a pause in the work, so that what was asked for in one go is indexed in one go; but not for ever. */
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
    if (!indexing.mayLook()) continue;
    const nowMs = performance.now();
    sinceMs ??= nowMs;
    const isQuiet = nowMs - activity.workedAtMs >= gatherMs.least;
    if (!isQuiet && nowMs - sinceMs < gatherMs.most) continue;
    sinceMs = undefined;
    activity.indexedAtMs = nowMs;
    await guard("bring the index up to date", async () => void (await indexing.startWhatIsBehind()));
  }
}
