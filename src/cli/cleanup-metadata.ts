import { cleanupMetadataJob } from "../app/jobs.ts";
import { parseDomainId } from "../contracts/ids.ts";
import type { Command } from "./command.ts";
import { runJob } from "./run-job.ts";

export const cleanupMetadataCommand: Command = {
  name: "cleanup-metadata",
  arguments: ["DOMAIN"],
  options: { "dry-run": { help: "Shows what would be removed and changes nothing." } },
  examples: ["lockstep cleanup-metadata DEMO --dry-run"],
  async run(call) {
    const domainId = parseDomainId(call.positionals[0] ?? "");
    const dryRun = call.flag("dry-run");
    return await runJob({ prepare: (app) => cleanupMetadataJob(app, domainId, { dryRun }), summary: () => "" });
  },
};
