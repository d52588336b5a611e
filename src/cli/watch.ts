import { watchJob } from "../app/watch.ts";
import { parseDomainId, parseSourceId } from "../contracts/ids.ts";
import type { StepCounts } from "../engine/crawl-request.ts";
import { noCounts, sumUp } from "../engine/tally.ts";
import type { Command } from "./command.ts";
import { runJob } from "./run-job.ts";

export const watchCommand: Command = {
  name: "watch",
  arguments: ["DOMAIN"],
  options: { source: { value: "source_id", help: "Only this source." } },
  examples: ["lockstep watch DEMO", "lockstep watch DEMO --source docs"],
  async run(call) {
    const [domainId] = call.positionals.map(parseDomainId);
    if (domainId === undefined) return 2;
    const sourceId = call.text("source");
    const watching = { domainId, sourceId: sourceId === undefined ? undefined : parseSourceId(sourceId) };
    return await runJob({
      prepare: (app) => watchJob(app, watching),
      summary: (data) => `In all: ${sumUp({ ...noCounts(), ...countsOf(data) })}.\n`,
    });
  },
};

function countsOf(data: unknown): Partial<StepCounts> {
  const { added, changed, moved, removed } = { ...noCounts(), ...(data ?? {}) };
  return { added, changed, moved, removed };
}
