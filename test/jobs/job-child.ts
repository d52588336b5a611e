import type { JobId } from "../../src/contracts/ids.ts";
import type { ControlAction } from "../../src/contracts/job.ts";
import { createJobRunner } from "../../src/jobs/job-runner.ts";
import { createJobStore } from "../../src/jobs/job-store.ts";
import { CRAWL, endlessWork, FINE } from "./job-fixture.ts";

// Run as a process of its own: `many <folder> <count> <router>`, `endless <folder>`, `adopt <folder> <id>` or `control <folder> <id> <action>`.
const [verb = "", folder = "", first = "", second = ""] = process.argv.slice(2);

if (verb === "many") {
  const runner = createJobRunner({ jobsFolder: folder });
  const ids: JobId[] = [];
  await Promise.all(
    Array.from({ length: Number(first) }, async () => {
      const { jobId, done } = await runner.start({ ...CRAWL, router: second }, async () => FINE);
      ids.push(jobId);
      await done;
    }),
  );
  process.send?.(ids);
  process.disconnect?.();
} else if (verb === "endless") {
  const runner = createJobRunner({ jobsFolder: folder, controlPollMs: 10 });
  const { jobId, done } = await runner.start(CRAWL, endlessWork);
  process.send?.(jobId);
  await done;
  process.disconnect?.();
} else if (verb === "adopt") {
  const runner = createJobRunner({ jobsFolder: folder, controlPollMs: 10 });
  const lost = new AbortController().signal;
  const adoption = { line: "Worker w1 runs the job.", stillMine: async () => true, lost };
  const running = await runner.adopt(first as JobId, adoption, endlessWork);
  process.send?.("adopted");
  await running?.done;
  process.disconnect?.();
} else if (verb === "control") {
  process.send?.(await createJobStore(folder).control(first as JobId, second as ControlAction));
  process.disconnect?.();
}
