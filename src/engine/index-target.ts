import type { Domain } from "../contracts/domain.ts";
import { BadInputError, explain } from "../contracts/errors.ts";
import type { VectorStoreId } from "../contracts/ids.ts";
import type { JobContext } from "../contracts/job.ts";
import type { Index } from "../contracts/search-index.ts";
import type { EngineParts } from "./engine-parts.ts";

export interface IndexTarget {
  readonly store: VectorStoreId;
  readonly index: Index;
}

/** Where the domain's documents go. undefined: nothing can be embedded now, the reason is in `problems`; downloads go on. */
export async function openIndexTarget(
  domain: Domain,
  parts: EngineParts,
  job: JobContext,
  problems: string[],
): Promise<IndexTarget | undefined> {
  try {
    const store = domain.vectorStoreId || (await createStore(domain, parts, job));
    if (!store) return undefined;
    await refuseShared(domain, store, parts);
    const index = await parts.backend.openIndex(store, domain.domainId);
    if (index) return { store, index };
    problems.push(
      `The vector store '${store}' of domain '${domain.domainId}' does not exist any more, so nothing was embedded. ` +
        "Clear vector_store_id in the domain to have a new one created.",
    );
  } catch (error) {
    problems.push(`The vector store could not be opened, so nothing was embedded: ${explain(error)}`);
  }
  job.log(`ERROR: ${problems.at(-1)}`);
  return undefined;
}

/** Two domains in one store would each take the other's documents for leftovers. */
async function refuseShared(domain: Domain, store: VectorStoreId, { domains }: EngineParts): Promise<void> {
  const other = (await domains.list()).domains.find(
    ({ domainId, vectorStoreId }) => vectorStoreId === store && domainId !== domain.domainId,
  );
  if (other) throw new BadInputError(`the vector store '${store}' belongs to domain '${other.domainId}'`);
}

async function createStore(domain: Domain, parts: EngineParts, job: JobContext): Promise<VectorStoreId | undefined> {
  const name = domain.vectorStoreName || domain.domainId;
  if (job.dryRun) {
    job.log(`The vector store '${name}' would be created.`);
    return undefined;
  }
  const store = await parts.domains.ensureVectorStore(domain.domainId, () => parts.backend.createVectorStore(name));
  if (store.created) job.log(`Created vector store '${name}' (ID=${store.id})`);
  return store.id;
}
