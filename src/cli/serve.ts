import { hostname } from "node:os";
import { removeOldDaily } from "../app/remove-old.ts";
import { runIngest } from "../app/run-ingest.ts";
import { explain } from "../contracts/errors.ts";
import { serveHttp } from "../http/serve-http.ts";
import { logLine } from "../lib/log-line.ts";
import type { Command } from "./command.ts";
import { openApp, untilStopped } from "./open-app.ts";

export const serveCommand: Command = {
  name: "serve",
  arguments: [],
  summary: "Runs the server: pages, endpoints and the OpenAI protocol.",
  options: {
    port: { value: "number", help: "Instead of PORT; 0 takes a free one." },
    host: { value: "address", help: "Instead of HOST." },
  },
  examples: ["lockstep serve", "PORT=9000 PERSISTENT_STORAGE_PATH=/var/lib/lockstep lockstep serve"],
  async run(call) {
    const port = call.text("port");
    const host = call.text("host");
    const app = await openApp({ ...(port && { PORT: port }), ...(host && { HOST: host }) });
    const stopped = untilStopped();
    const warn = (line: string): void => void process.stderr.write(`Warning: ${logLine(line)}\n`);
    const say = (line: string): void => void process.stdout.write(`${logLine(line)}\n`);
    await app.endDeadJobs(warn);
    const onError = (error: unknown): void => warn(`remove old jobs and reports: ${explain(error)}`);
    const removal = await removeOldDaily(app, { onError, log: say });
    const server = await serveHttp(app, { host: app.config.host, port: app.config.port });
    say(`lockstep listens on ${server.url} (storage: ${app.config.storagePath})`);
    const schedule = app.schedule.start(say);
    const ending = new AbortController();
    const ingest = { name: `${hostname()}:${process.pid}`, log: say };
    const ingesting = app.config.runJobsIn === "server" ? runIngest(app, ingest, ending.signal) : undefined;
    const renames = app.settleRenames(say, ending.signal).catch((error: unknown) => {
      if (!ending.signal.aborted) warn(`complete interrupted renames: ${explain(error)}`);
    });
    await stopped;
    removal.stop();
    schedule.stop();
    ending.abort();
    await renames;
    await ingesting;
    // Jobs first: their last events still reach whoever watches.
    await app.close();
    await server.close();
    return 0;
  },
};
