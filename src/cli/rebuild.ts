import { rebuildIndexJob } from "../app/jobs.ts";
import { parseDomainId } from "../contracts/ids.ts";
import { plural } from "../lib/text.ts";
import type { Command } from "./command.ts";
import { runJob } from "./run-job.ts";

export const rebuildCommand: Command = {
  name: "rebuild",
  arguments: ["DOMAIN"],
  options: {
    force: { help: "Fetches them even if nothing changed." },
    "dry-run": { help: "Counts them and changes nothing." },
  },
  examples: ["lockstep rebuild INGEST", "lockstep rebuild DEMO --force"],
  async run(call) {
    const [domainId] = call.positionals.map(parseDomainId);
    if (domainId === undefined) return 2;
    const [force, dryRun] = [call.flag("force"), call.flag("dry-run")];
    return await runJob({
      prepare: (app) => rebuildIndexJob(app, { domainId, force, mode: "soft" }, { dryRun }),
      summary(data) {
        const { queued = 0, would_queue = queued } = (data ?? {}) as {
          readonly queued?: number;
          readonly would_queue?: number;
        };
        return `${dryRun ? "Would queue" : "Queued"}: ${plural(would_queue, "address", "addresses")}.\n`;
      },
    });
  },
};
