import { serveHttp } from "../http/serve-http.ts";
import type { Command } from "./command.ts";
import { openApp, untilStopped } from "./open-app.ts";

const JOBS_KEPT_DAYS = 90;

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
    await app.endDeadJobs((line) => process.stderr.write(`Warning: ${line}\n`));
    await app.jobs.removeOldJobs(JOBS_KEPT_DAYS);
    const server = await serveHttp(app, { host: app.config.host, port: app.config.port });
    process.stdout.write(`lockstep listens on ${server.url} (storage: ${app.config.storagePath})\n`);
    await stopped;
    // Jobs first: their last events still reach whoever watches.
    await app.close();
    await server.close();
    return 0;
  },
};
