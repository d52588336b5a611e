import type { DomainId, JobId } from "./ids.ts";

/** `crawls/2026-01-15_14-25-00_DEMO_all_full`: the folder and the name of the zip, without its ending. */
export type ReportId = string & { readonly brand: "ReportId" };

/** What a finished crawl hands over to be kept: its result, and the map files as they are now. */
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
  /** "" or what did not go well. */
  readonly error: string;
  readonly total: number;
  readonly added: number;
  /** Those that moved, too. */
  readonly changed: number;
  readonly moved: number;
  readonly removed: number;
  readonly failed: number;
  /** Rows that the source counts and does not show; 0 where it shows all. */
  readonly hidden?: number;
  /** Map files: the place in the archive (`01_files/docs/files_map.csv`), and the absolute path or what is to be in them. One that is not there is left out. */
  readonly mapFiles: readonly ArchivedMap[];
  /** The same text means the same map files: then a report that has them is named instead. Absent or "": they are written. */
  readonly mapVersion?: string;
}

export type ArchivedMap = { readonly name: string } & (
  | { readonly path: string }
  | { readonly content: () => AsyncIterable<Uint8Array> }
);

/** A report as its `report.json` tells it; of one that cannot be read, what its name tells, and the reason in `error`. */
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
