import type { JobRecord } from "../../contracts/job.ts";
import type { LeftOut } from "../../contracts/source.ts";
import type { SourceKinds } from "../../contracts/source-kind.ts";
import {
  type CrawlResult,
  failedOf,
  type SourceResult,
  type StepCounts,
  sayLeftOut,
} from "../../engine/crawl-request.ts";
import { plural } from "../../lib/text.ts";

export interface CrawlSummary {
  readonly dryRun: boolean;
  /** Items of the sources that can be documents, as far as this crawl saw them. */
  readonly items: number;
  /** `added` to `removed`: counts of the first step that ran. */
  readonly added: number;
  readonly changed: number;
  readonly moved: number;
  readonly removed: number;
  readonly failed: number;
  /** Failures, of this crawl or an earlier one, that an operator acknowledged. */
  readonly acknowledged: number;
  /** Files without anything to index. */
  readonly empty: number;
  /** Changes that wait for confirmation, such as too many removals. */
  readonly held: number;
  /** Rows that the source counts but does not show to the app. */
  readonly hiddenRows: number;
  /** Files that the crawl ignored (type, size, …), by reason. */
  readonly leftOut: LeftOut;
  /** Changes that were skipped because the applied plan has none, or another one, for the item. */
  readonly left: number;
  /** true: additions and changes are held, because with them the domain's questions are answered worse. */
  readonly isWorse: boolean;
  /** "" if there is none. */
  readonly reportId: string;
}

const NO_COUNTS = {
  added: 0,
  changed: 0,
  moved: 0,
  removed: 0,
  unchanged: 0,
  skipped: 0,
  failed: 0,
  empty: 0,
  held: 0,
};

/** Returns undefined if the job has no crawl result: still running, cancelled, failed early, or written by another release. */
export function summarizeCrawl(job: JobRecord, kinds: SourceKinds): CrawlSummary | undefined {
  const data = job.result?.data as Partial<CrawlResult> | null | undefined;
  if (typeof data !== "object" || data === null || !Array.isArray(data.sources)) return undefined;
  const download = addUp(data.sources.map((source) => source?.download));
  const process = addUp(data.sources.map((source) => source?.process));
  const embed = addUp(data.sources.map((source) => source?.embed));
  const steps: readonly string[] = Array.isArray(data.steps) ? data.steps : ["download"];
  const first = steps.includes("download") ? download : steps.includes("process") ? process : embed;
  return {
    dryRun: data.dry_run === true,
    items: first.added + first.changed + first.moved + first.unchanged + first.failed,
    added: first.added,
    changed: first.changed,
    moved: first.moved,
    removed: first.removed,
    failed: data.sources.reduce((sum, source) => sum + failedOf(withCounts(source), kinds), 0),
    acknowledged: data.sources.reduce((sum, source) => sum + (Number(source?.acknowledged) || 0), 0),
    empty: Math.max(process.empty, embed.empty),
    held: Math.max(download.held, embed.held),
    hiddenRows: data.sources.reduce((sum, source) => sum + (Number(source?.hidden_rows) || 0), 0),
    leftOut: addUpLeftOut(data.sources),
    left: data.sources.reduce((sum, source) => sum + countLeft(source), 0),
    isWorse: data.questions?.verdict === "held",
    reportId: typeof data.report_id === "string" ? data.report_id : "",
  };
}

function addUpLeftOut(sources: readonly (Partial<SourceResult> | null)[]): LeftOut {
  const sum = { type: 0, size: 0, other: 0 };
  for (const source of sources) {
    for (const reason of ["type", "size", "other"] as const) sum[reason] += Number(source?.left_out?.[reason]) || 0;
  }
  return sum;
}

function countLeft(source: Partial<SourceResult> | null): number {
  const { not_as_planned: named = [], not_as_planned_more: more = 0 } = source?.kept_to_plan ?? {};
  return named.length + more;
}

/** Returns "3 added, 1 removed", or that nothing changed. */
export function sayCounts(summary: CrawlSummary): string {
  const { added, changed, moved, removed, failed, empty, held } = summary;
  const parts = Object.entries({ added, changed, moved, removed, failed, empty, held })
    .filter(([, count]) => count > 0)
    .map(([name, count]) => `${count} ${name}`);
  const hidden = summary.hiddenRows > 0 ? `; ${plural(summary.hiddenRows, "row")} not shown to the app` : "";
  const left = summary.left > 0 ? `; ${summary.left} not as planned, and left alone` : "";
  const known = summary.acknowledged > 0 ? `; ${plural(summary.acknowledged, "failure")} acknowledged` : "";
  const leftOut = sayLeftOut(summary.leftOut);
  const counts = `${parts.length > 0 ? parts.join(", ") : "nothing changed"}${known}${left}${hidden}${leftOut && `; ${leftOut}`}`;
  return summary.dryRun ? `dry run: ${counts}` : counts;
}

function addUp(steps: readonly (StepCounts | undefined)[]): StepCounts {
  const sum: StepCounts = { ...NO_COUNTS };
  for (const step of steps) {
    for (const key of Object.keys(NO_COUNTS) as (keyof StepCounts)[]) {
      const count = step?.[key];
      if (typeof count === "number") sum[key] += count;
    }
  }
  return sum;
}

/** Results of earlier releases may lack some counts. */
function withCounts(source: SourceResult): SourceResult {
  const { download, process, embed } = source;
  return {
    ...source,
    download: { ...NO_COUNTS, ...download },
    process: { ...NO_COUNTS, ...process },
    embed: { ...NO_COUNTS, ...embed },
  };
}
