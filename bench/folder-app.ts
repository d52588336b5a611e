import type { App } from "../src/app/app.ts";
import { compose } from "../src/app/compose.ts";
import { readConfig } from "../src/app/config.ts";
import { crawlJob } from "../src/app/jobs.ts";
import { NotFoundError } from "../src/contracts/errors.ts";
import { parseDomainId } from "../src/contracts/ids.ts";
import { type CrawlResult, crawlRequest, type SourceResult, STEPS } from "../src/engine/crawl-request.ts";
import { parseDomain } from "../test/kinds.ts";

export const BENCH_DOMAIN = parseDomainId("BENCH");
/** Of the one source, below the storage folder. */
export const SOURCE_FOLDER = "crawler/BENCH/05_folders/bulk";

/** The product, with one domain that has one folder, BENCH_ROOT. */
export async function openFolderApp(): Promise<App> {
  const app = await compose(readConfig(process.env));
  await app.domains.get(BENCH_DOMAIN).catch(async (error: unknown) => {
    if (!(error instanceof NotFoundError)) throw error;
    const folder_sources = [{ source_id: "bulk", root: process.env["BENCH_ROOT"] }];
    const names = { name: "Bench", description: "", vector_store_name: "", vector_store_id: "" };
    await app.domains.create(parseDomain({ ...names, folder_sources }, BENCH_DOMAIN));
  });
  return app;
}

/** The steps of BENCH_STEPS, or all; hears every line of the log. */
export async function crawlFolder(app: App, hear: (line: string) => void = () => undefined): Promise<SourceResult> {
  const wanted = process.env["BENCH_STEPS"]?.split(",") ?? STEPS;
  const steps = STEPS.filter((step) => wanted.includes(step));
  const { start, work } = crawlJob(app, crawlRequest(BENCH_DOMAIN, { steps }), { dryRun: false });
  const job = await app.runner.start({ ...start, endpoint: "bench" }, (running) =>
    work({
      jobId: running.jobId,
      dryRun: running.dryRun,
      signal: running.signal,
      checkpoint: () => running.checkpoint(),
      log(line) {
        hear(line);
        running.log(line);
      },
    }),
  );
  const { result } = await job.done;
  const [source] = (result?.data as CrawlResult | undefined)?.sources ?? [];
  if (!result?.ok || !source) throw new Error(result?.error);
  return source;
}
