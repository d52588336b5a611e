import type { Domain } from "../contracts/domain.ts";
import { BadInputError, explain } from "../contracts/errors.ts";
import type { VectorStoreId } from "../contracts/ids.ts";
import type { JobContext } from "../contracts/job.ts";
import type { Lease } from "../contracts/lease.ts";
import type { CrawlDraft, Index } from "../contracts/search-index.ts";
import { logDone } from "./dry-run.ts";
import type { EngineParts } from "./engine-parts.ts";
import type { DomainCrawl } from "./run-context.ts";

/** A new vector store that is being built to replace the domain's. */
export interface Swap {
  readonly before: VectorStoreId;
  /** The index of the store to replace. */
  readonly index: Index;
  /** Why the new store is incomplete; the swap happens only if this is empty. */
  readonly shortfalls: string[];
  readonly lease: Lease;
}

export interface IndexTarget {
  readonly store: VectorStoreId;
  /** false: the request names another store than `domain.json`. */
  readonly isOwn: boolean;
  readonly index: Index;
  /** Name of the crawl, the same for all its commits. */
  readonly crawlName?: string;
  /** The draft that all sources fill, so that the crawl becomes visible in one moment; undefined: each source has a draft of its own. */
  readonly crawlDraft?: CrawlDraft;
  /** Drafts that were open when this crawl began: of crawls that were ended or held, or that are at work. */
  readonly earlierDrafts?: readonly string[];
  /** The lease of `crawlDraft`. */
  readonly lease?: Lease;
  /** Present while it is built to replace the domain's own store. */
  readonly swap?: Swap;
}

/**
 * Opens the index of the domain. undefined: nothing can be embedded now, for the reason added to `problems`; downloads
 * go on.
 */
export async function openIndexTarget(
  { domain, job, problems }: Pick<DomainCrawl, "domain" | "job" | "problems">,
  other: VectorStoreId | undefined,
  parts: EngineParts,
): Promise<IndexTarget | undefined> {
  try {
    const existing = other || domain.vectorStoreId;
    const store = existing || (await createStore(domain, parts, job));
    if (existing) await refuseShared(domain, store, parts);
    const index = await parts.backend.openIndex(store, domain.domainId, job.signal);
    if (index) return { store, index, isOwn: store === domain.vectorStoreId || !other };
    problems.push(describeMissingStore(domain, store, other));
  } catch (error) {
    problems.push(`The vector store could not be opened, so nothing was embedded: ${explain(error)}`);
  }
  job.log(`ERROR: ${problems.at(-1)}`);
  return undefined;
}

/** Names the setting as in `domain.json` and on the page. */
export const CLEAR_STORE =
  "Clear vector_store_id in the domain (on its page: Edit, Vector store, Id of the vector store) to have a new one created.";

/** Returns a message with a remedy. */
export function describeMissingStore(domain: Domain, store: VectorStoreId, other: VectorStoreId | undefined): string {
  return other
    ? `The vector store '${store}' does not exist, so nothing was embedded. Leave vector_store_id out to use the domain's own.`
    : `The vector store '${store}' of domain '${domain.domainId}' does not exist any more, so nothing was embedded. ${CLEAR_STORE}`;
}

/** In a shared store, each domain would remove the other's documents as leftovers. */
async function refuseShared(domain: Domain, store: VectorStoreId, { domains }: EngineParts): Promise<void> {
  const other = (await domains.list()).domains.find(
    ({ domainId, vectorStoreId }) => vectorStoreId === store && domainId !== domain.domainId,
  );
  if (other) throw new BadInputError(`the vector store '${store}' belongs to domain '${other.domainId}'`);
}

async function createStore(domain: Domain, parts: EngineParts, job: JobContext): Promise<VectorStoreId> {
  const name = domain.vectorStoreName || domain.domainId;
  const store = await parts.domains.ensureVectorStore(domain.domainId, () => parts.backend.createVectorStore(name));
  if (store.created) {
    logDone(job, `Created vector store '${name}' (ID=${store.id})`, `The vector store '${name}' would be created.`);
  }
  return store.id;
}
