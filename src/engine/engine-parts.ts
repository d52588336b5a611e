import type { Backend } from "../contracts/backend.ts";
import type { Converter } from "../contracts/converter.ts";
import type { Extractor } from "../contracts/document.ts";
import type { ErasureStore } from "../contracts/erasure.ts";
import type { DomainId } from "../contracts/ids.ts";
import type { Ledgers } from "../contracts/ledger.ts";
import type { QuestionStore } from "../contracts/questions.ts";
import type { CrawlArchive } from "../contracts/report.ts";
import type { Signer } from "../contracts/signer.ts";
import type { Source } from "../contracts/source.ts";
import type { SourceOptions, SourceRun } from "../contracts/source-kind.ts";
import type { DomainStore } from "../domains/domain-store.ts";
import type { WordFinder } from "../lib/mask-file.ts";
import type { KnowledgeBase } from "../mirror/knowledge-base.ts";
import type { Mirror } from "../mirror/mirror.ts";
import type { PriceTable, Pricing } from "../plan/plan-costs.ts";
import type { ItemRepository } from "./ingest/item-records.ts";

/** What a plan would cost, by the settings of this installation. */
export interface PlanCosts {
  readonly pricing: Pricing;
  readonly prices: PriceTable;
}

type OpenSourceOptions = Omit<SourceOptions, "dryRun"> & Partial<Pick<SourceOptions, "dryRun">>;

/** The dependencies of the engine. Put together in app/compose.ts. */
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
  /** Opens a source by its kind. The doctor opens sources with connections of its own. */
  openSource(run: SourceRun, options: OpenSourceOptions): Source;
  /** The source's files on our disk. */
  openMirror(run: SourceRun): Mirror;
  /** The texts of a source that keeps them. */
  openKnowledge(run: SourceRun): KnowledgeBase;
  /** undefined for kinds whose files are documents already. */
  openConverter(run: SourceRun): Converter | undefined;
  /** The registry of single addresses with their documents; opened on first use. */
  itemRepository(): ItemRepository;
  readonly ledgers: Ledgers;
  readonly extractor: Extractor;
  readonly retention: RetentionRules;
  /** The clock for grace periods and retention. */
  now(): Date;
  /** The store for queries that name none, or "". It is never deleted. */
  readonly defaultVectorStoreId: string;
  /** How long a superseded store is kept. */
  readonly keepSupersededMs: number;
  readonly costs: PlanCosts;
  /** What was erased, and what is held. */
  readonly erasures: ErasureStore;
  /** What readers ask, and what came of asking it before commits. */
  readonly questions: QuestionStore;
  /** What erasing does outside of the engine. */
  readonly erasing: ErasingParts;
  /** Stores the report of a crawl; returns its id. */
  archive(archive: CrawlArchive): Promise<string>;
}

/** Files and databases in which erased documents are named, and that other rooms write. */
export interface ErasingParts {
  readonly signer: Signer;
  /**
   * Overwrites these words in files of jobs, or of the audit log. Files of jobs of other domains that exist are left alone.
   * Returns how many files had them; a dry run only counts.
   */
  maskLogs(
    which: "jobs" | "audit",
    domainId: DomainId,
    words: readonly string[],
    options: { readonly dryRun: boolean },
  ): Promise<number>;
  /** Rewrites reports of the domain, and of domains that do not exist, that name an item. */
  eraseReports(
    domainId: DomainId,
    named: { readonly ids: readonly string[]; readonly words: readonly string[] },
    options: { readonly dryRun: boolean },
  ): Promise<{ readonly rewritten: number; readonly problems: readonly string[] }>;
  /**
   * Takes what was deleted out of the files of the databases: free pages, logs. `words`: what must not be in them; none: all
   * files are rewritten. Returns what may still be somewhere, one sentence each.
   */
  scrub(words: readonly string[]): Promise<readonly string[]>;
  /** Overwrites the words in a text file; returns whether it had them. */
  maskFile(path: string, words: WordFinder): Promise<boolean>;
  /** Deletes a file, or a folder with all that is in it. */
  removePath(path: string): Promise<void>;
}

/** How long files and versions of a tree are kept that are not current. */
export interface RetentionRules {
  /** A missing file is purged after this many complete listings and this much time. */
  readonly graceRuns: number;
  readonly graceMs: number;
  readonly deletedMs: number;
  readonly versions: number;
  readonly versionMs: number;
}
