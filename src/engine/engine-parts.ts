import type { Backend } from "../contracts/backend.ts";
import type { SourceConfig } from "../contracts/domain.ts";
import type { DomainId } from "../contracts/ids.ts";
import type { Ledger } from "../contracts/ledger.ts";
import type { Source } from "../contracts/source.ts";
import type { DomainStore } from "../domains/domain-store.ts";
import type { Step } from "./crawl-request.ts";

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
  /** `log` hears of waits (throttling) that a person watching would wonder about. */
  openSource(config: SourceConfig, log: (line: string) => void): Source;
  openLedger(folder: string, config: SourceConfig, options: { step: Step; readOnly: boolean }): Promise<OpenedLedger>;
}

/** One source of one domain, as the steps get it. */
export interface SourceRun {
  readonly domainId: DomainId;
  readonly config: SourceConfig;
}
