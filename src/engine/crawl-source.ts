import { join } from "node:path";
import { CancelledError, explain } from "../contracts/errors.ts";
import type { VectorStoreId } from "../contracts/ids.ts";
import type { JobContext } from "../contracts/job.ts";
import type { Source } from "../contracts/source.ts";
import { sourceFolder } from "../mirror/layout.ts";
import { Mirror } from "../mirror/mirror.ts";
import type { CrawlRequest, SourceResult, StepCounts } from "./crawl-request.ts";
import { stopWhenFull } from "./disk-full.ts";
import { type Downloaded, download, type SourceLook } from "./download.ts";
import { embed, type Uploads } from "./embed.ts";
import type { EngineParts, SourceRun } from "./engine-parts.ts";
import type { IndexTarget } from "./index-target.ts";
import { writeLastLook } from "./last-look.ts";
import { processOriginals } from "./process.ts";
import { findShortfalls } from "./swap-shortfalls.ts";
import { noCounts } from "./tally.ts";
import { withLedger } from "./with-ledger.ts";

/** One source on its way through the steps. */
interface Course {
  readonly run: SourceRun;
  readonly request: CrawlRequest;
  readonly parts: EngineParts;
  readonly job: JobContext;
  readonly mirror: Mirror;
}

interface StepOutcome {
  readonly counts: StepCounts;
  readonly problems: readonly string[];
}

/** The steps of the request, each under its own lease. What goes wrong is in the result; only a cancelled job throws. */
export async function crawlSource(
  run: SourceRun,
  openSource: () => Source,
  request: CrawlRequest,
  target: IndexTarget | undefined,
  parts: EngineParts,
  job: JobContext,
): Promise<SourceResult> {
  const { sourceId: source_id, sourceType: source_type } = run.config;
  const mirror = new Mirror(parts.crawlerFolder, sourceFolder(run.domainId, run.config));
  const course: Course = { run, request, parts, job, mirror };
  const result = { source_id, source_type, complete: false };
  const counts = { download: noCounts(), process: noCounts(), embed: noCounts() };
  const problems: string[] = [];
  const note = (step: keyof typeof counts, outcome: StepOutcome): void => {
    counts[step] = outcome.counts;
    problems.push(...outcome.problems);
  };
  try {
    let look: SourceLook | undefined;
    if (request.steps.includes("download")) {
      const downloaded = await takeDownload(course, openSource());
      look = downloaded.look;
      result.complete = look.complete;
      note("download", downloaded);
    }
    if (request.steps.includes("process")) note("process", await takeProcess(course, look));
    if (target) note("embed", await takeEmbed(course, look, target));
  } catch (error) {
    if (error instanceof CancelledError) throw error;
    stopWhenFull(error);
    target?.swap?.shortfalls.push(`source '${source_id}': ${explain(error)}`);
    job.log(`ERROR: source '${source_id}' could not be finished: ${explain(error)}`);
    problems.push(explain(error));
  }
  return { ...result, ...counts, error: problems.join("; ") };
}

async function takeDownload(course: Course, source: Source): Promise<StepOutcome & { readonly look: SourceLook }> {
  const { run, request, parts, job, mirror } = course;
  const converter = parts.openConverter(run.config);
  const remember = async ({ lastLook }: Downloaded, maps: string): Promise<void> => {
    if (lastLook && maps) await writeLastLook(mirror, { ...lastLook, maps });
  };
  return await withLedger(run, { step: "download", conclude: remember }, parts, job, (setting) =>
    download(run, request, { source, mirror, converter, ...setting }, parts, setting.job),
  );
}

/** Kinds whose files are documents as they come have nothing to process. */
async function takeProcess({ run, request, parts, job, mirror }: Course, look?: SourceLook): Promise<StepOutcome> {
  const converter = parts.openConverter(run.config);
  if (!converter) return { counts: noCounts(), problems: [] };
  return await withLedger(run, { step: "process" }, parts, job, async (setting) => {
    const ledger = await setting.ledger();
    return await processOriginals({ request, look, ledger, mirror, converter, job: setting.job });
  });
}

async function takeEmbed(course: Course, look: SourceLook | undefined, target: IndexTarget): Promise<StepOutcome> {
  const { run, request, parts, job, mirror } = course;
  const metadataPath = join(parts.domainsFolder, run.domainId, "files_metadata.json");
  const vectorStoreId = target.isOwn ? undefined : target.store;
  return await withLedger(run, { step: "embed", vectorStoreId }, parts, job, async (setting) => {
    const tools = { ...target, ledger: setting.ledger, maps: setting.maps, mirror, metadataPath };
    const typeByName = parts.openConverter(run.config) === undefined;
    const uploaded = target.swap ? await openUploads(course, target.swap.before) : undefined;
    const embedded = await embed({
      run,
      request,
      look,
      tools,
      uploaded,
      wanted: { ...parts, typeByName },
      job: setting.job,
    });
    if (target.swap && !job.dryRun) {
      const ledger = await setting.ledger();
      target.swap.shortfalls.push(
        ...(await findShortfalls(run, request, { ...embedded, look, ledger, mirror }, target)),
      );
    }
    return embedded;
  });
}

/** What the store that is to be replaced has of this source: the same bytes need not be uploaded again. */
async function openUploads({ run, parts }: Course, store: VectorStoreId): Promise<Uploads> {
  const folder = join(parts.crawlerFolder, sourceFolder(run.domainId, run.config));
  const { ledger } = await parts.openLedger(folder, run.config, { step: "embed", readOnly: true });
  return async ({ itemId, sha256 }) => {
    const indexed = (await ledger.get(itemId))?.indexed;
    const same = indexed?.vectorStoreId === store && sha256 !== "" && indexed.sha256 === sha256;
    return same && indexed.fileId ? indexed.fileId : undefined;
  };
}
