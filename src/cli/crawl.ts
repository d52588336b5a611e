import type { App } from "../app/app.ts";
import { crawlJob } from "../app/crawl-job.ts";
import { parseDomainId, parseSourceId } from "../contracts/ids.ts";
import {
  CRAWL_MODES,
  CRAWL_SCOPES,
  type CrawlMode,
  type CrawlRequest,
  type CrawlResult,
  type CrawlScope,
  crawlRequest,
} from "../engine/crawl-request.ts";
import { sumUp } from "../engine/tally.ts";
import type { Command } from "./command.ts";
import { followJob, showJob } from "./job-view.ts";
import { exitCodeOf, openApp, type StopSignal, untilStopped } from "./open-app.ts";

export const crawlCommand: Command = {
  name: "crawl",
  arguments: ["DOMAIN"],
  summary: "Brings a domain in step with its sources.",
  options: {
    mode: {
      value: "mode",
      choices: CRAWL_MODES,
      default: "incremental",
      help: "Everything again, or only what changed.",
    },
    scope: { value: "scope", choices: CRAWL_SCOPES, default: "all", help: "The kinds of sources to crawl." },
    source: { value: "source_id", help: "Only this source." },
    "dry-run": { help: "Shows what would be done and changes nothing." },
    "confirm-deletes": { help: "Carries out removals that are held because there are too many." },
  },
  examples: ["lockstep crawl DEMO", "lockstep crawl DEMO --mode full --source docs", "lockstep crawl DEMO --dry-run"],
  async run(call) {
    const sourceId = call.text("source");
    const request = crawlRequest(parseDomainId(call.positionals[0] ?? ""), {
      mode: call.text("mode") as CrawlMode,
      scope: call.text("scope") as CrawlScope,
      sourceId: sourceId === undefined ? undefined : parseSourceId(sourceId),
      confirmDeletes: call.flag("confirm-deletes"),
    });
    const app = await openApp();
    try {
      return await runCrawl(app, request, { dryRun: call.flag("dry-run") });
    } finally {
      await app.close();
    }
  },
};

/** The exit code. Ctrl+C cancels the job; it is over, and its file says so, before this ends. */
async function runCrawl(app: App, request: CrawlRequest, options: { readonly dryRun: boolean }): Promise<number> {
  let stoppedBy: StopSignal | undefined;
  void untilStopped().then((signal) => {
    stoppedBy = signal;
    return app.runner.stop("Stopped by a signal.");
  });
  await app.checkCrawl(request);
  if (stoppedBy) return exitCodeOf(stoppedBy);
  const { start, work } = crawlJob(app, request, options);
  const job = await app.runner.start({ ...start, endpoint: `lockstep ${process.argv.slice(2).join(" ")}` }, work);
  await showJob(followJob(app, job.jobId));
  const { result, state } = await job.done;
  process.stdout.write(`${summary(result?.data)}Job ${job.jobId} ${state}.\n`);
  if (result?.ok) return 0;
  process.stderr.write(`lockstep: ${result?.error ?? "the job did not end"}\n`);
  return stoppedBy && state === "cancelled" ? exitCodeOf(stoppedBy) : 1;
}

function summary(data: unknown): string {
  const sources = (data as Partial<CrawlResult> | undefined)?.sources ?? [];
  return sources
    .map((source) => `${source.source_id}: files ${sumUp(source.download)}; index ${sumUp(source.embed)}\n`)
    .join("");
}
