import { compose } from "../src/app/compose.ts";
import { readConfig } from "../src/app/config.ts";
import { crawlJob } from "../src/app/jobs.ts";
import { NotFoundError } from "../src/contracts/errors.ts";
import { parseDomainId } from "../src/contracts/ids.ts";
import { type CrawlResult, crawlRequest, STEPS } from "../src/engine/crawl-request.ts";
import { parseDomain } from "../test/kinds.ts";
import { report } from "./measure.ts";

const domainId = parseDomainId("BENCH");
const source = {
  source_id: "bulk",
  site_url: process.env["BENCH_SITE"],
  sharepoint_url_part: "/Shared Documents",
  filter: "",
};

const wanted = process.env["BENCH_STEPS"]?.split(",") ?? STEPS;
const steps = STEPS.filter((step) => wanted.includes(step));

await report(async () => {
  const app = await compose(readConfig(process.env));
  await app.domains.get(domainId).catch(async (error: unknown) => {
    if (!(error instanceof NotFoundError)) throw error;
    await app.domains.create(
      parseDomain(
        { name: "Bench", description: "", vector_store_name: "", vector_store_id: "", file_sources: [source] },
        domainId,
      ),
    );
  });
  const { start, work } = crawlJob(app, crawlRequest(domainId, { steps }), { dryRun: false });
  const job = await app.runner.start({ ...start, endpoint: "bench" }, work);
  const { result } = await job.done;
  await app.close();
  if (!result?.ok) throw new Error(result?.error);
  const { download, embed } = (result.data as CrawlResult).sources[0] ?? {};
  return {
    added: download?.added ?? -1,
    unchanged: download?.unchanged ?? -1,
    embedded: embed?.added ?? -1,
    kept: embed?.unchanged ?? -1,
  };
});
