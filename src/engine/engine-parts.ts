import type { Backend } from "../contracts/backend.ts";
import type { Converter } from "../contracts/converter.ts";
import type { Extractor } from "../contracts/document.ts";
import type { SourceConfig } from "../contracts/domain.ts";
import type { DomainId } from "../contracts/ids.ts";
import type { Ledger, Ledgers } from "../contracts/ledger.ts";
import type { CrawlArchive } from "../contracts/report.ts";
import type { Source } from "../contracts/source.ts";
import type { DomainStore } from "../domains/domain-store.ts";
import type { ItemShelf } from "./ingest/drop-items.ts";

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
  openSource(run: SourceRun, options: SourceOptions): Source;
  /** What is known of single addresses, and what was kept of them; opened when it is first needed. */
  shelf(): ItemShelf;
  readonly ledgers: Ledgers;
  readonly extractor: Extractor;
  readonly keeping: KeepingRules;
  /** The clock that grace and retention go by. */
  now(): Date;
  /** For kinds with a process step. */
  openConverter(config: SourceConfig): Converter | undefined;
  /** The store that queries without one go to, "" for none: it is never deleted. */
  readonly defaultVectorStoreId: string;
  /** How long the store that was swapped for a fresh one is kept. */
  readonly keepSupersededMs: number;
  /** Keeps the report of a crawl; returns its id. */
  archive(archive: CrawlArchive): Promise<string>;
}

/** How long what is not current is kept of a tree. */
export interface KeepingRules {
  /** A missing file is purged after so many complete looks and so long. */
  readonly graceRuns: number;
  readonly graceMs: number;
  readonly deletedMs: number;
  readonly versions: number;
  readonly versionMs: number;
}

export interface SourceOptions {
  /** Hears of waits (throttling) and progress that a person watching would wonder about. */
  readonly log: (line: string) => void;
  /** The ledger of the step that asks it, for sources that remember their items themselves. */
  readonly ledger: () => Promise<Ledger>;
  /** The source must not write anything down. */
  readonly dryRun: boolean;
  /** Sources that can leave out what they know to be unchanged ask for it all the same. */
  readonly force: boolean;
  /** Every file is read, whatever the source says of it. */
  readonly checksum: boolean;
  /** Nothing outside these folders can have changed since the last look. */
  readonly onlyFolders?: ReadonlySet<string>;
}

/** One source of one domain, as the steps get it. */
export interface SourceRun {
  readonly domainId: DomainId;
  readonly config: SourceConfig;
  /** A source of another kind has the same id, or had it and is not gone yet: what the index holds under it is not all of this one. */
  readonly sharesId?: boolean;
}
