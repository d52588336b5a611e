import type { Backend } from "../contracts/backend.ts";
import type { Converter } from "../contracts/converter.ts";
import type { Extractor } from "../contracts/document.ts";
import type { SourceConfig } from "../contracts/domain.ts";
import type { DomainId, VectorStoreId } from "../contracts/ids.ts";
import type { Ledger } from "../contracts/ledger.ts";
import type { Manifest } from "../contracts/manifest.ts";
import type { CrawlArchive } from "../contracts/report.ts";
import type { Source } from "../contracts/source.ts";
import type { DomainStore } from "../domains/domain-store.ts";
import type { Step } from "./crawl-request.ts";
import type { ItemShelf } from "./ingest/drop-items.ts";

/** A ledger freshly opened; `problems` are map files that could not be used, one sentence each. */
export interface OpenedLedger {
  readonly ledger: Ledger;
  readonly problems: readonly string[];
}

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
  openLedger(folder: string, config: SourceConfig, options: LedgerOptions): Promise<OpenedLedger>;
  /** What the `version()` of the ledger in this folder would say, without reading it; "" when there is none to rely on. */
  ledgerVersion(folder: string): Promise<string>;
  /** Map files in this folder that do not say everything yet, and to make them: what left is then not to be read in them any more. */
  laggingMaps(folder: string): Promise<readonly string[]>;
  foldMaps(folder: string): Promise<void>;
  /** Of a tree, in the folder of its source. */
  openManifest(folder: string, options: { readonly readOnly: boolean }): Promise<Manifest>;
  /** The same text means the same entries, without reading them; "" where there is no manifest. */
  manifestVersion(folder: string): Promise<string>;
  readonly extractor: Extractor;
  readonly keeping: KeepingRules;
  /** The clock that grace and retention go by. */
  now(): Date;
  /** For kinds with a process step. */
  openConverter(config: SourceConfig): Converter | undefined;
  /** For a dry run of the download: copies of the map files, under this id; undefined where there is nothing to copy. */
  copyMaps(folder: string, config: SourceConfig, id: string): Promise<ScratchMaps | undefined>;
  /** Forgets what was written down about a store that is not the domain's own. */
  dropStoreMap(folder: string, store: VectorStoreId): Promise<void>;
  /** The paths in the map files of this folder begin with another id now. Doing it twice changes nothing. */
  renamePaths(folder: string, ids: { readonly from: DomainId; readonly to: DomainId }): Promise<void>;
  /** Stores that are not the domain's own and of which something is written down in this folder. */
  mappedStores(folder: string): Promise<readonly VectorStoreId[]>;
  /** The store that queries without one go to, "" for none: it is never deleted. */
  readonly defaultVectorStoreId: string;
  /** How long the store that was swapped for a fresh one is kept. */
  readonly keepSupersededMs: number;
  /** Keeps the report of a crawl; returns its id. */
  archive(archive: CrawlArchive): Promise<string>;
}

export interface ScratchMaps {
  readonly id: string;
  remove(): Promise<void>;
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
  /** The source must not write anything down. */
  readonly dryRun: boolean;
  /** Sources that can leave out what they know to be unchanged ask for it all the same. */
  readonly force: boolean;
  /** Every file is read, whatever the source says of it. */
  readonly checksum: boolean;
  /** Nothing outside these folders can have changed since the last look. */
  readonly onlyFolders?: ReadonlySet<string>;
}

export interface LedgerOptions {
  readonly step: Step;
  readonly readOnly: boolean;
  /** Another store than the domain's own: what is indexed there is remembered apart. */
  readonly vectorStoreId?: VectorStoreId | undefined;
  /** With readOnly: the copies of a dry run are read. */
  readonly scratchId?: string | undefined;
}

/** One source of one domain, as the steps get it. */
export interface SourceRun {
  readonly domainId: DomainId;
  readonly config: SourceConfig;
  /** A source of another kind has the same id, or had it and is not gone yet: what the index holds under it is not all of this one. */
  readonly sharesId?: boolean;
}
