import { hostname } from "node:os";
import { setTimeout } from "node:timers/promises";
import type { App } from "../app/app.ts";
import { holdServerLock } from "../app/hold-server-lock.ts";
import { removeOldDaily } from "../app/remove-old.ts";
import { runIngest } from "../app/run-ingest.ts";
import { BadInputError, explain } from "../contracts/errors.ts";
import { type RunningServer, serveHttp } from "../http/serve-http.ts";
import { logLine } from "../lib/text.ts";
import type { Command } from "./command.ts";
import { openApp, untilStopped } from "./open-app.ts";

/** Renames that take longer continue while schedules already run. */
const RENAMES_WITHIN_MS = 5000;

export const serveCommand: Command = {
  name: "serve",
  arguments: [],
  options: {
    port: { value: "number", help: "Instead of PORT; 0 takes a free one." },
    host: { value: "address", help: "Instead of HOST." },
    wait: { value: "seconds", help: "For another server on the same storage to end.", default: "30" },
  },
  examples: ["lockstep serve", "PORT=9000 PERSISTENT_STORAGE_PATH=/var/lib/lockstep lockstep serve"],
  async run(call) {
    const port = call.text("port");
    const host = call.text("host");
    const waitMs = readSeconds(call.text("wait")) * 1000;
    const app = await openApp({ ...(port && { PORT: port }), ...(host && { HOST: host }) });
    return await runServer(app, { waitMs, stopped: untilStopped() });
  },
};

interface ServerOptions {
  /** How long to wait for another server on the same storage to end. */
  readonly waitMs: number;
  readonly stopped: Promise<unknown>;
  /** Called when the server listens; the server ends with `stopped`, or when this resolves to "end". It resolves soon after `stopped`. */
  readonly onListening?: (server: RunningServer) => Promise<"serve" | "end">;
}

/** Serves pages, endpoints and protocols, and does what a server does in the background, until it is stopped. Closes the app. */
export async function runServer(app: App, { waitMs, stopped, onListening }: ServerOptions): Promise<number> {
  const warn = (line: string): void => void process.stderr.write(`Warning: ${logLine(line)}\n`);
  const say = (line: string): void => void process.stdout.write(`${logLine(line)}\n`);
  const lock = await takeOver(app, { waitMs, stopped, log: say });
  if (!lock) return 0;
  await app.endDeadJobs(warn);
  const onError = (error: unknown): void => warn(`remove old jobs and reports: ${explain(error)}`);
  const removal = await removeOldDaily(app, { onError, log: say });
  const server = await serveHttp(app, { host: app.config.host, port: app.config.port });
  say(`lockstep listens on ${server.url} (storage: ${app.config.storagePath})`);
  const readers = app.examineReaders();
  say(`${readers.subject}: ${readers.detail}`);
  const ending = new AbortController();
  const ingest = { name: `${hostname()}:${process.pid}`, log: say };
  const ingesting = app.config.runJobsIn === "server" ? runIngest(app, ingest, ending.signal) : undefined;
  const renames = app.finishRenames(say, ending.signal).catch((error: unknown) => {
    if (!ending.signal.aborted) warn(`complete interrupted renames: ${explain(error)}`);
  });
  // The schedule skips a domain that is being renamed, and checks it again later.
  await Promise.race([renames, stopped, setTimeout(RENAMES_WITHIN_MS, undefined, { ref: false })]);
  const schedule = app.schedule.start(say);
  try {
    if ((await onListening?.(server)) !== "end") await stopped;
  } finally {
    removal.stop();
    schedule.stop();
    ending.abort();
    await renames;
    await ingesting;
    // Jobs first, so that clients still get their last events.
    await app.close();
    await server.close();
    lock.release();
  }
  return 0;
}

function readSeconds(text = ""): number {
  if (/^\d{1,5}$/.test(text)) return Number(text);
  throw new BadInputError(`--wait must be a number of seconds, e.g. 30; it is '${text}'.`);
}

interface TakeOver {
  readonly waitMs: number;
  readonly stopped: Promise<unknown>;
  readonly log: (line: string) => void;
}

/** Returns undefined if it was stopped while waiting for another server to end. */
async function takeOver(app: App, { waitMs, stopped, log }: TakeOver): Promise<{ release(): void } | undefined> {
  const waiting = new AbortController();
  void stopped.then(() => waiting.abort());
  try {
    return await holdServerLock(app.config, { waitMs, log, signal: waiting.signal });
  } catch (error) {
    await app.close();
    if (waiting.signal.aborted) return undefined;
    throw error;
  }
}
