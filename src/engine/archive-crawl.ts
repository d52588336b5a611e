import { join } from "node:path";
import { explain } from "../contracts/errors.ts";
import type { JobContext } from "../contracts/job.ts";
import type { ArchivedMap, ArchivedSource } from "../contracts/report.ts";
import { retiredConfig } from "../domains/source-codec.ts";
import { nowUtcMicros } from "../lib/time.ts";
import { type CrawlRequest, type CrawlResult, failedOf, type SourceResult, STEPS } from "./crawl-request.ts";
import { logDone } from "./dry-run.ts";
import type { EngineParts } from "./engine-parts.ts";

const MAP_FILES = ["sharepoint_map.csv", "files_map.csv", "vectorstore_map.csv"];

/**
 * Writes the report of a whole crawl; returns its id, or "" for single steps, single items and dry runs. If it cannot
 * be written, the crawl still succeeds.
 */
export async function archiveCrawl(
  request: CrawlRequest,
  result: Omit<CrawlResult, "report_id"> & { readonly startedAt: string },
  parts: EngineParts,
  job: JobContext,
): Promise<string> {
  if (request.gathered || !STEPS.every((step) => request.steps.includes(step))) return "";
  try {
    const id = await parts.archive({
      domainId: request.domainId,
      jobId: job.jobId,
      mode: request.mode,
      scope: request.scope,
      sourceId: request.sourceId ?? "",
      startedAt: result.startedAt,
      finishedAt: nowUtcMicros(),
      ok: result.problems.length === 0,
      error: result.problems.join(" "),
      sources: await Promise.all(result.sources.map((source) => archived(source, request, parts))),
    });
    logDone(job, `Report '${id}' written.`);
    return id;
  } catch (error) {
    job.log(`WARNING: the report could not be written: ${explain(error)}`);
    return "";
  }
}

async function archived(source: SourceResult, { domainId }: CrawlRequest, parts: EngineParts): Promise<ArchivedSource> {
  const { download: counts } = source;
  const kind = parts.domains.kinds.get(source.source_type);
  const folderPath = `${kind.folder}/${source.source_id}`;
  const folder = join(parts.crawlerFolder, domainId, folderPath);
  const config = retiredConfig(kind, source.source_id);
  const { keepsMaps } = kind.abilities;
  const mapFiles: ArchivedMap[] = keepsMaps
    ? MAP_FILES.map((name) => ({ name: `${folderPath}/${name}`, path: join(folder, name) }))
    : parts.ledgers.maps({ domainId, config }).map(({ name, content }) => ({ name: `${folderPath}/${name}`, content }));
  return {
    sourceType: source.source_type,
    sourceId: source.source_id,
    complete: source.complete,
    hidden: source.hidden_rows ?? 0,
    ...(source.left_out && { leftOut: source.left_out }),
    error: source.error,
    total: counts.added + counts.changed + counts.moved + counts.unchanged + counts.skipped + counts.failed,
    added: counts.added,
    changed: counts.changed + counts.moved,
    moved: counts.moved,
    removed: counts.removed,
    failed: failedOf(source, parts.domains.kinds),
    mapFiles,
    // Read before the maps are written: a change in between is in them, and in the next report, too.
    mapVersion: keepsMaps ? "" : await parts.ledgers.version({ domainId, config }),
  };
}
