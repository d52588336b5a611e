import { compose } from "../src/app/compose.ts";
import { readConfig } from "../src/app/config.ts";
import { crawlJob } from "../src/app/crawl-job.ts";
import { NotFoundError } from "../src/contracts/errors.ts";
import { parseDomainId } from "../src/contracts/ids.ts";
import { parseDomain } from "../src/domains/domain-codec.ts";
import { type CrawlResult, crawlRequest, STEPS } from "../src/engine/crawl-request.ts";
import { report } from "./measure.ts";

const domainId = parseDomainId("BENCH");
const wanted = process.env["BENCH_STEPS"]?.split(",") ?? STEPS;
const steps = STEPS.filter((step) => wanted.includes(step));

await report(async () => {
  const app = await compose(readConfig(process.env));
  await app.domains.get(domainId).catch(async (error: unknown) => {
    if (!(error instanceof NotFoundError)) throw error;
    const folder_sources = [{ source_id: "bulk", root: process.env["BENCH_ROOT"] }];
    const names = { name: "Bench", description: "", vector_store_name: "", vector_store_id: "" };
    await app.domains.create(parseDomain({ ...names, folder_sources }, domainId));
  });
  const { start, work } = crawlJob(app, crawlRequest(domainId, { steps }), { dryRun: false });
  const { result } = await (await app.runner.start({ ...start, endpoint: "bench" }, work)).done;
  await app.close();
  if (!result?.ok) throw new Error(result?.error);
  const [source] = (result.data as CrawlResult).sources;
  const { added = -1, changed = -1, moved = -1, removed = -1, unchanged = -1 } = source?.download ?? {};
  return { added, changed, moved, removed, unchanged, embedded: source?.embed.added ?? -1 };
});
