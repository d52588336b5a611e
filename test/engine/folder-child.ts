import { compose } from "../../src/app/compose.ts";
import { readConfig } from "../../src/app/config.ts";
import { eraseJob } from "../../src/app/erase-job.ts";
import { crawlJob, maintenanceJob } from "../../src/app/jobs.ts";
import { verifyJob } from "../../src/app/verify-job.ts";
import type { JobContext } from "../../src/contracts/job.ts";
import { type CrawlRequest, crawlRequest } from "../../src/engine/crawl-request.ts";
import { FOLDERS } from "./folder-stage.ts";

/** What a process of its own is to do, until it is done or killed. */
export interface ChildTask {
  readonly settings: Readonly<Record<string, string>>;
  /** Unix time. */
  readonly nowMs: number;
  readonly verb: "crawl" | "maintenance" | "verify" | "erase";
  /** Of a crawl. */
  readonly wishes?: Partial<CrawlRequest>;
  readonly dryRun?: boolean;
  /** It kills itself before it says a line that begins so. */
  readonly dieBefore?: string;
}

/** What the verb `erase` erases. */
export const ERASURE = {
  domainId: FOLDERS,
  document: "hr/zyxquorvix.md",
  copies: false,
  reason: "",
  by: "test",
  confirmDeletes: false,
};
export const MAINTENANCE = { domainId: FOLDERS, unreferenced: false, confirmDeletes: true };

/** Tells every line of the job's log the moment it is said: whoever kills this process chooses the moment by them. */
async function carryOut({ settings, nowMs, verb, wishes, dryRun = false, dieBefore }: ChildTask): Promise<void> {
  const app = await compose(readConfig(settings), {
    now: () => new Date(nowMs),
    searchesHere: true,
  });
  const jobs = {
    crawl: () => crawlJob(app, crawlRequest(FOLDERS, { scope: "folders", ...wishes }), { dryRun }),
    maintenance: () => maintenanceJob(app, MAINTENANCE, { dryRun: false }),
    erase: () => eraseJob(app, ERASURE, { dryRun: false }),
    verify: () => verifyJob(app, { domainId: FOLDERS, download: true }, { repair: false }),
  };
  const { start, work } = await jobs[verb]();
  const telling = (job: JobContext): JobContext => ({
    ...{ jobId: job.jobId, dryRun: job.dryRun, signal: job.signal, checkpoint: () => job.checkpoint() },
    log(line) {
      if (dieBefore !== undefined && line.startsWith(dieBefore)) process.kill(process.pid, "SIGKILL");
      process.stdout.write(`${line}\n`);
      job.log(line);
    },
  });
  process.stdout.write("Begin.\n");
  await (await app.runner.start({ ...start, endpoint: "child" }, (job) => work(telling(job)))).done;
  process.stdout.write("End.\n");
  await app.close();
}

if (import.meta.main) await carryOut(JSON.parse(process.argv[2] ?? "{}"));
