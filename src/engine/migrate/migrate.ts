import type { Domain, SourceConfig } from "../../contracts/domain.ts";
import { CancelledError, explain } from "../../contracts/errors.ts";
import type { DomainId, SourceId } from "../../contracts/ids.ts";
import type { JobContext } from "../../contracts/job.ts";
import type { SourceRun } from "../../contracts/source-kind.ts";
import type { EngineParts } from "../engine-parts.ts";
import { readDomain } from "../read-domain.ts";
import { finishRenames, waitingJob } from "../rename-domain.ts";
import { folderOfRun, leaseSource } from "../with-ledger.ts";
import { type EarlierFolder, type MigratedSource, migrateSource, undoMigration } from "./migrate-source.ts";

export interface MigrateRequest {
  /** undefined: all of them. */
  readonly domainId: DomainId | undefined;
  /** undefined: every folder of the domain. */
  readonly sourceId: SourceId | undefined;
  /** The folder of a store to import, absolute; "": the source's own folder. */
  readonly from: string;
  readonly undo: boolean;
  /** Undo even if a crawl has written since. */
  readonly force: boolean;
}

/** These travel as JSON in job results, hence the spelling. */
export interface MigratedSourceResult {
  readonly domain_id: string;
  readonly source_id: string;
  readonly outcome: "migrated" | "undone" | "nothing_to_do";
  /** Where the earlier store is. */
  readonly backup: string;
  readonly files: number;
  readonly new_ids: number;
  readonly left_out: number;
  readonly documents: number;
  readonly versions: number;
}

export interface MigrateResult {
  readonly dry_run: boolean;
  readonly sources: readonly MigratedSourceResult[];
  /** One sentence per problem; empty means ok. */
  readonly problems: readonly string[];
}

/** Migrates stores of earlier layouts, each source under its leases. A failure does not stop the others. */
export async function migrate(request: MigrateRequest, parts: EngineParts, job: JobContext): Promise<MigrateResult> {
  await finishRenames(parts, waitingJob(job), request.domainId);
  const sources: MigratedSourceResult[] = [];
  const problems: string[] = [];
  for (const run of await runsOf(request, parts, problems)) {
    await job.checkpoint();
    const { domainId, config } = run;
    try {
      job.log(`Source '${config.sourceId}' of domain '${domainId}'`);
      await readDomain(domainId, parts, job);
      sources.push(await withLeases(run, parts, job, (source) => migrateOne(source, run, request)));
    } catch (error) {
      if (error instanceof CancelledError) throw error;
      problems.push(`Source '${config.sourceId}' of domain '${domainId}' was left as it is: ${explain(error)}`);
      job.log(`ERROR: ${explain(error)}`);
    }
  }
  return { dry_run: job.dryRun, sources, problems };
}

interface FolderRun extends SourceRun {
  readonly config: EarlierFolder;
}

async function runsOf(request: MigrateRequest, parts: EngineParts, problems: string[]): Promise<readonly FolderRun[]> {
  const { domains, broken } =
    request.domainId === undefined
      ? await parts.domains.list()
      : { domains: [await parts.domains.get(request.domainId)], broken: [] };
  for (const { domainId, reason } of broken) problems.push(`Domain '${domainId}' was left alone: ${reason}`);
  return domains.flatMap((domain) =>
    folderSourcesOf(domain, request.sourceId).map((config) => ({ domainId: domain.domainId, config })),
  );
}

/** Only folders were ever followed by manifests of an earlier layout. */
export function folderSourcesOf({ sources }: Domain, sourceId: SourceId | undefined): readonly EarlierFolder[] {
  return sources.filter(isEarlierFolder).filter((config) => sourceId === undefined || config.sourceId === sourceId);
}

async function migrateOne(
  source: MigratedSource,
  { domainId, config }: FolderRun,
  { from, undo, force }: MigrateRequest,
): Promise<MigratedSourceResult> {
  const named = { domain_id: domainId, source_id: config.sourceId };
  const none = { backup: "", files: 0, new_ids: 0, left_out: 0, documents: 0, versions: 0 };
  if (undo) {
    const undone = await undoMigration(source, { force });
    source.job.log(undone ? `What was replaced is kept: ${undone.replaced}` : "There is no migration to undo.");
    return { ...named, ...none, outcome: undone ? "undone" : "nothing_to_do", backup: undone?.backup ?? "" };
  }
  const done = await migrateSource(source, from);
  if (!done) {
    source.job.log("It has the current layout, or no manifest yet: nothing to do.");
    return { ...named, ...none, outcome: "nothing_to_do" };
  }
  const { backup, files, newIds, leftOut, documents, versions } = done;
  return { ...named, outcome: "migrated", backup, files, new_ids: newIds, left_out: leftOut, documents, versions };
}

async function withLeases<T>(
  run: FolderRun,
  parts: EngineParts,
  job: JobContext,
  work: (source: MigratedSource) => Promise<T>,
): Promise<T> {
  const folder = folderOfRun(run, parts);
  const { domainId, config } = run;
  if (job.dryRun) return await work({ domainId, config, folder, parts, job });
  await using leased = await leaseSource(run, parts, job);
  return await work({ domainId, config, folder, parts, job: leased.job });
}

/** Named here, since what is looked for is storage of that kind alone, whatever others can do today. */
function isEarlierFolder(source: SourceConfig): source is EarlierFolder {
  return source.sourceType === "folder_sources";
}
