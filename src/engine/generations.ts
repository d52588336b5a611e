import type { Backend } from "../contracts/backend.ts";
import type { Domain } from "../contracts/domain.ts";
import { BadInputError, NotFoundError } from "../contracts/errors.ts";
import type { DomainId } from "../contracts/ids.ts";
import type { Generation, GenerationChange, GenerationState, Generations, Index } from "../contracts/search-index.ts";
import type { EngineParts } from "./engine-parts.ts";

type Parts = Pick<EngineParts, "domains"> & { readonly backend: Pick<Backend, "openIndex"> };

export interface GenerationsView extends GenerationState {
  readonly kept: readonly Generation[];
}

const NOTHING: GenerationsView = { newest: 0, newestId: "", shown: 0, shownId: "", pinned: false, kept: [] };

/** Returns the newest generation of a domain, the one that readers see, and those that are kept. */
export async function viewGenerations(domainId: DomainId, parts: Parts): Promise<GenerationsView> {
  // Before its first crawl.
  if (!(await parts.domains.get(domainId)).vectorStoreId) return NOTHING;
  const generations = await openGenerations(domainId, parts);
  return { ...(await generations.state()), kept: await generations.list() };
}

/** Shows readers a kept generation, whatever is crawled, until `release`. */
export async function rollback(
  domainId: DomainId,
  number: number,
  parts: Parts,
  { dryRun }: { readonly dryRun: boolean },
): Promise<GenerationsView> {
  const before = await viewGenerations(domainId, parts);
  const wanted = before.kept.find((generation) => generation.number === number);
  if (!wanted) {
    const kept = before.kept.map((generation) => generation.number).join(", ") || "none";
    throw new BadInputError(`Generation ${number} of domain '${domainId}' is not kept. These are: ${kept}.`);
  }
  if (dryRun) return { ...before, shown: number, shownId: wanted.generationId, pinned: true };
  await (await openGenerations(domainId, parts)).rollback(number);
  return await viewGenerations(domainId, parts);
}

/** Ends a rollback: readers see the newest generation again. */
export async function release(
  domainId: DomainId,
  parts: Parts,
  { dryRun = false }: { readonly dryRun?: boolean } = {},
): Promise<GenerationsView> {
  const generations = await openGenerations(domainId, parts);
  const { newest, newestId, pinned } = await generations.state();
  if (!pinned) {
    throw new BadInputError(`Domain '${domainId}' is not rolled back, so there is nothing to release.`);
  }
  if (dryRun) return { ...(await viewGenerations(domainId, parts)), shown: newest, shownId: newestId, pinned: false };
  await generations.release();
  return await viewGenerations(domainId, parts);
}

/** Lists the visible changes between two generations. */
export async function* difference(
  domainId: DomainId,
  between: { readonly from: number; readonly to: number },
  parts: Parts,
): AsyncGenerator<readonly GenerationChange[]> {
  const generations = await openGenerations(domainId, parts);
  yield* generations.difference(between.from, between.to);
}

async function openGenerations(domainId: DomainId, parts: Parts): Promise<Generations> {
  const { index } = await openIndexOf(domainId, parts);
  if (index.generations) return index.generations;
  throw new BadInputError(
    `The vector store of domain '${domainId}' keeps no generations; only the embedded index does. For OpenAI and Azure there is swap=true.`,
  );
}

/** Opens the index that answers for the domain. NotFoundError if there is none. */
export async function openIndexOf(
  domainId: DomainId,
  { domains, backend }: Parts,
): Promise<{ readonly domain: Domain; readonly index: Index }> {
  const domain = await domains.get(domainId);
  if (!domain.vectorStoreId) throw new NotFoundError(`Domain '${domainId}' has no vector store yet. Crawl it first.`);
  const index = await backend.openIndex(domain.vectorStoreId, domainId);
  if (index) return { domain, index };
  throw new NotFoundError(`The vector store '${domain.vectorStoreId}' of domain '${domainId}' is gone.`);
}
