import type { DomainId, JobId } from "./ids.ts";
import type { LeftOut } from "./source.ts";

/** `crawls/2026-01-15_14-25-00_DEMO_all_full`: folder and name of the zip file, without extension. */
export type ReportId = string & { readonly brand: "ReportId" };

/** The result of a finished crawl and its current map files. */
export interface CrawlArchive {
  readonly domainId: DomainId;
  readonly jobId: JobId;
  readonly mode: string;
  readonly scope: string;
  /** "" when all sources of the scope were crawled. */
  readonly sourceId: string;
  /** ISO 8601 UTC. */
  readonly startedAt: string;
  readonly finishedAt: string;
  readonly ok: boolean;
  readonly error: string;
  readonly sources: readonly ArchivedSource[];
}

export interface ArchivedSource {
  readonly sourceType: string;
  readonly sourceId: string;
  /** false: something was missing from the listing, so nothing was removed. */
  readonly complete: boolean;
  /** What went wrong, or "". */
  readonly error: string;
  readonly total: number;
  readonly added: number;
  /** Includes moved ones. */
  readonly changed: number;
  readonly moved: number;
  readonly removed: number;
  readonly failed: number;
  /** Rows that the source counts but does not list. */
  readonly hidden?: number;
  /** Files that are no documents, by reason; undefined if there are none, or if it is unknown. */
  readonly leftOut?: LeftOut;
  /**
   * Map files: name in the archive (`01_files/docs/files_map.csv`), and absolute path or content. A missing file is
   * left out.
   */
  readonly mapFiles: readonly ArchivedMap[];
  /**
   * The same text means the same map files: the report then names an earlier one that has them. Absent or "": always
   * write them.
   */
  readonly mapVersion?: string;
}

export type ArchivedMap = { readonly name: string } & (
  | { readonly path: string }
  | { readonly content: () => AsyncIterable<Uint8Array> }
);

/** A report as in its `report.json`; of an unreadable one, what its name says, and the reason in `error`. */
export interface ReportSummary {
  readonly reportId: ReportId;
  readonly readable: boolean;
  readonly title: string;
  readonly type: string;
  readonly createdAt: string;
  readonly ok: boolean;
  readonly error: string;
  /** The whole of `report.json`. */
  readonly json: Readonly<Record<string, unknown>>;
}
