import type { Backend } from "../contracts/backend.ts";
import type { Extractor } from "../contracts/document.ts";
import type { Ledgers } from "../contracts/ledger.ts";
import type { CrawlArchive } from "../contracts/report.ts";
import type { Source } from "../contracts/source.ts";
import type { SourceOptions, SourceRun } from "../contracts/source-kind.ts";
import type { DomainStore } from "../domains/domain-store.ts";
import type { ItemRepository } from "./ingest/remove-items.ts";

/** Everything the verbs need and do not know by name. Put together in app/compose.ts. */
export interface EngineParts {
  readonly domains: DomainStore;
  readonly backend: Backend;
  /** Extensions without dot that go into the index. */
  readonly acceptedTypes: ReadonlySet<string>;
  readonly maxFileBytes: number;
  /** The folder `crawler/`, absolute. */
  readonly crawlerFolder: string;
  /** The folder `domains/`, absolute. */
  readonly domainsFolder: string;
  /** Its kind opens it; whoever only examines sources does so with connections of their own. */
  openSource(run: SourceRun, options: SourceOptions): Source;
  /** What is known of single addresses, and what was kept of them; opened when it is first needed. */
  itemRepository(): ItemRepository;
  readonly ledgers: Ledgers;
  readonly extractor: Extractor;
  readonly retention: RetentionRules;
  /** The clock that grace and retention go by. */
  now(): Date;
  /** The store that queries without one go to, "" for none: it is never deleted. */
  readonly defaultVectorStoreId: string;
  /** How long the store that was swapped for a fresh one is kept. */
  readonly keepSupersededMs: number;
  /** Keeps the report of a crawl; returns its id. */
  archive(archive: CrawlArchive): Promise<string>;
}

/** How long what is not current is kept of a tree. */
export interface RetentionRules {
  /** A missing file is purged after so many complete looks and so long. */
  readonly graceRuns: number;
  readonly graceMs: number;
  readonly deletedMs: number;
  readonly versions: number;
  readonly versionMs: number;
}
