import type { Backend } from "../contracts/backend.ts";
import type { Ledgers } from "../contracts/ledger.ts";
import type { DomainStore } from "../domains/domain-store.ts";
import type { EngineParts, KeepingRules } from "../engine/engine-parts.ts";
import { storageFolder } from "../mirror/layout.ts";
import type { ReportStore } from "../reports/report-store.ts";
import type { Config } from "./config.ts";
import type { OpenedWeb } from "./open-web.ts";
import type { TreeConnections } from "./source-kinds.ts";

const MAX_FILE_BYTES = 512 * 1024 * 1024;

interface Opened {
  readonly domains: DomainStore;
  readonly backend: Backend;
  readonly reports: ReportStore;
  readonly web: OpenedWeb;
  readonly trees: TreeConnections;
  readonly ledgers: Ledgers;
}

export function openTrees(
  { storagePath, trees, variables }: Config,
  parts: Pick<TreeConnections, "roots" | "extractor" | "acceptedTypes" | "now">,
): TreeConnections {
  const { identityClientId } = trees;
  return { storagePath, identityClientId, credential: (name) => variables.read(name), ...parts };
}

function keepingRules({ trees }: Config): KeepingRules {
  const [hour, day] = [3_600_000, 86_400_000];
  return {
    graceRuns: trees.graceRuns,
    graceMs: trees.graceHours * hour,
    deletedMs: trees.keepDeletedDays * day,
    versions: trees.keepVersions,
    versionMs: trees.keepVersionDays * day,
  };
}

/** What the verbs need. */
export function openParts(config: Config, { domains, backend, reports, web, trees, ledgers }: Opened): EngineParts {
  const crawlerFolder = storageFolder(config.storagePath, "crawler");
  return {
    domains,
    backend,
    acceptedTypes: trees.acceptedTypes,
    maxFileBytes: MAX_FILE_BYTES,
    crawlerFolder,
    domainsFolder: storageFolder(config.storagePath, "domains"),
    archive: (archive) => reports.archive(archive),
    openSource: (run, options) => run.config.kind.open(run, options),
    extractor: trees.extractor,
    keeping: keepingRules(config),
    now: trees.now,
    shelf: () => web,
    ledgers,
    defaultVectorStoreId: config.search.defaultVectorStoreId,
    keepSupersededMs: config.keepSupersededDays * 24 * 3600 * 1000,
  };
}
