import type { Backend } from "../contracts/backend.ts";
import type { Domain, SourceConfig } from "../contracts/domain.ts";
import { ConflictError, DamagedError } from "../contracts/errors.ts";
import type { DomainId, JobId, VectorStoreId } from "../contracts/ids.ts";
import { refuseWhileRenamed } from "../domains/domain-rename.ts";
import type { EngineParts } from "./engine-parts.ts";
import { refuseHeldDomain } from "./erase/holds.ts";
import { forgetMembers, type Warn } from "./ingest/remove-items.ts";
import { leaseSources } from "./lease-sources.ts";
import { endRetentionOfTrees, findRetired } from "./retired-sources.ts";

export interface DeletionParts
  extends Pick<
    EngineParts,
    "domains" | "domainsFolder" | "crawlerFolder" | "defaultVectorStoreId" | "ledgers" | "itemRepository" | "erasures"
  > {
  readonly backend: Pick<Backend, "deleteVectorStore" | "openIndex" | "commits" | "forgetDomain">;
  /** Returns a job that works on the domain. */
  busyWith(domainId: DomainId, except?: JobId): Promise<JobId | undefined>;
}

/** A deletion that passed its checks and can be shown (dry run) or applied. */
export interface Deletion {
  readonly domain: Domain;
  /** What is deleted, one sentence each. */
  readonly changes: readonly string[];
  /** `except`: the job that runs the deletion. */
  apply(log: (line: string) => void, except?: JobId): Promise<Domain>;
}

/** Throws for a domain in use (ConflictError), an unknown domain, and a store that others need. */
export async function planDeletion(
  domainId: DomainId,
  { withVectorStore }: { readonly withVectorStore: boolean },
  parts: DeletionParts,
): Promise<Deletion> {
  const domain = await parts.domains.get(domainId);
  await refuseWhileRenamed(parts.domainsFolder, domainId);
  await refuseWhileBusy(domainId, parts);
  await refuseHeldDomain(domainId, parts);
  const stores = withVectorStore ? await ownStores(domain, parts) : [];
  const changes = [
    ...stores.map((store) => `The vector store '${store}' with everything in it.`),
    `domains/${domainId} with its metadata, and crawler/${domainId} with mirror and map files.`,
  ];
  return {
    domain,
    changes,
    async apply(log, except) {
      const refuseNow = (): Promise<void> => refuseWhileBusy(domainId, parts, except);
      await refuseNow();
      const owner = except ? `job ${except}` : "a deletion of the domain";
      await using _leases = await unlessDamaged(leaseSources(domainId, parts, owner));
      // Stores first: while the domain exists, a deletion that failed half-way can be repeated.
      for (const [at, store] of stores.entries()) {
        log(`[ ${at + 1} / ${stores.length + 1} ] Deleting vector store '${store}'...`);
        await parts.backend.deleteVectorStore(store);
      }
      log(`[ ${stores.length + 1} / ${stores.length + 1} ] Deleting domain '${domainId}'...`);
      // Check again: a crawl may have started while the stores were deleted.
      return await parts.domains.remove(domainId, async () => {
        await refuseNow();
        await refuseHeldDomain(domainId, parts);
        await forgetAddresses(domain, parts, (sentence) => log(`WARNING: ${sentence}`));
        await endRetentionOfTrees(domain, parts);
        await unlessDamaged(parts.backend.forgetDomain?.(domainId));
        await parts.ledgers.forgetDomain(domainId);
      });
    },
  };
}

/** Returns undefined for a damaged ledger: then no job works on the domain, and its uploads are unknown. */
async function unlessDamaged<T>(work: Promise<T> | undefined): Promise<T | undefined> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof DamagedError) return undefined;
    throw error;
  }
}

/** Runs just before the domain goes: if it is interrupted, the domain is still there and can be deleted again. */
async function forgetAddresses(domain: Domain, parts: DeletionParts, warn: Warn): Promise<void> {
  const retired = await findRetired(domain, parts);
  const all = new Set([...domain.sources, ...retired].filter(isRegistering).map(({ sourceId }) => sourceId));
  try {
    if (all.size > 0) await forgetMembers(domain.domainId, all, parts.itemRepository(), warn);
  } catch (error) {
    if (!(error instanceof DamagedError)) throw error;
    warn(`Its registered addresses could not be read, so they stay in the registry: ${error.message}`);
  }
}

function isRegistering({ kind }: SourceConfig): boolean {
  return kind.abilities.registersAddresses;
}

/** Returns the domain's own store, superseded ones and one that is being built, except stores of other domains. */
async function ownStores(domain: Domain, parts: DeletionParts): Promise<VectorStoreId[]> {
  const { domainId, vectorStoreId } = domain;
  if (vectorStoreId !== "" && vectorStoreId === parts.defaultVectorStoreId) {
    throw new ConflictError(
      `The vector store '${vectorStoreId}' answers queries that name none. Change SEARCH_DEFAULT_GLOBAL_VECTOR_STORE_ID first, or delete the domain with mode=default.`,
    );
  }
  const others = (await parts.ledgers.stores.list(domainId)).map((one) => one.vectorStoreId);
  const { domains } = await parts.domains.list();
  const foreign = new Set(domains.filter((one) => one.domainId !== domainId).map((one) => one.vectorStoreId));
  const mine = [...new Set([...(vectorStoreId ? [vectorStoreId] : []), ...others])];
  return mine.filter((store) => !foreign.has(store) && store !== parts.defaultVectorStoreId);
}

/** A crawl would go on writing into the folders that are being removed. */
async function refuseWhileBusy(domainId: DomainId, parts: DeletionParts, except?: JobId): Promise<void> {
  const job = await parts.busyWith(domainId, except);
  if (job) throw new ConflictError(`Domain '${domainId}' is in use by job '${job}'. Cancel it first.`);
}
