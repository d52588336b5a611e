import { hostname } from "node:os";
import { runIngest } from "../app/run-ingest.ts";
import type { Command } from "./command.ts";
import { openApp, untilStopped } from "./open-app.ts";

const JOB_CHOICES = ["1", "2", "3", "4", "6", "8"];

export const workerCommand: Command = {
  name: "worker",
  arguments: [],
  options: {
    jobs: { value: "number", choices: JOB_CHOICES, default: "1", help: "How many crawls at a time." },
  },
  examples: ["lockstep worker", "DATABASE_URL=postgres://… lockstep worker --jobs 4"],
  async run(call) {
    const app = await openApp();
    const stopped = untilStopped();
    const leaving = new AbortController();
    const log = (line: string): void => void process.stdout.write(`${line}\n`);
    const name = `${hostname()}:${process.pid}`;
    const working = app.work({ name, jobsAtOnce: Number(call.text("jobs")), log }, leaving.signal);
    const ingesting = runIngest(app, { name, log }, leaving.signal);
    log(`Worker ${name} waits for crawls (storage: ${app.config.storagePath})`);
    await stopped;
    leaving.abort();
    // Running jobs are left for another worker, and must be in the queue again before the database is closed.
    await app.runner.stop("The worker was stopped.");
    await Promise.all([working, ingesting]);
    await app.close();
    return 0;
  },
};
