import { verifyJob } from "../src/app/verify-job.ts";
import type { JobContext } from "../src/contracts/job.ts";
import type { VerifyResult } from "../src/engine/verify/verify-domain.ts";
import { BENCH_DOMAIN, crawlFolder, openFolderApp } from "./folder-app.ts";
import { report } from "./measure.ts";

/** BENCH_DO: crawl, verify, or quick, of the one domain; seconds by phase. */
const wanted = process.env["BENCH_DO"] ?? "verify";

await report(async () => {
  const app = await openFolderApp();
  try {
    return wanted === "crawl" ? await crawlOnce() : await verifyOnce();
  } finally {
    await app.close();
  }

  async function crawlOnce(): Promise<Record<string, number>> {
    const { embed, download } = await crawlFolder(app);
    return { files: Math.max(embed.added, download.added) };
  }

  async function verifyOnce(): Promise<Record<string, number>> {
    const request = { domainId: BENCH_DOMAIN, download: wanted === "download", quick: wanted === "quick" };
    const { start, work } = await verifyJob(app, request, { repair: false });
    const startedAt = performance.now();
    let comparedAt = startedAt;
    const timed = (job: JobContext): JobContext => ({
      ...job,
      log(line) {
        if (/^\[ \d+ \/ \d+ \] Verifying /.test(line)) comparedAt = performance.now();
        job.log(line);
      },
    });
    const running = await app.runner.start({ ...start, endpoint: "bench" }, (job) => work(timed(job)));
    const { result } = await running.done;
    const { certificate } = (result?.data ?? {}) as Partial<VerifyResult>;
    const [source] = certificate?.statement.sources ?? [];
    if (!source || source.differences.length > 0) throw new Error(result?.error ?? "it differs");
    const searchMs = Math.round(performance.now() - comparedAt);
    return {
      compareMs: Math.round(comparedAt - startedAt),
      searchMs,
      listed: source.counts.listed,
      files: source.counts.files,
      documents: source.counts.documents,
    };
  }
});
