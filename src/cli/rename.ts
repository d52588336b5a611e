import { renameJob } from "../app/jobs.ts";
import { parseDomainId } from "../contracts/ids.ts";
import type { Command } from "./command.ts";
import { runJob } from "./run-job.ts";

export const renameCommand: Command = {
  name: "rename",
  arguments: ["OLD", "NEW"],
  options: { "dry-run": { help: "Shows what would be renamed and changes nothing." } },
  examples: ["lockstep rename DEMO HANDBOOK --dry-run", "lockstep rename DEMO HANDBOOK"],
  async run(call) {
    const [from, to] = call.positionals.map(parseDomainId);
    if (from === undefined || to === undefined) return 2;
    const dryRun = call.flag("dry-run");
    return await runJob({
      async prepare(app) {
        await app.planRename({ from, to }, new AbortController().signal);
        return renameJob(app, { from, to }, { dryRun });
      },
      summary: () => (dryRun ? "Dry run: nothing was changed.\n" : ""),
    });
  },
};
