import type { Domain } from "../contracts/domain.ts";
import { BadInputError } from "../contracts/errors.ts";

/** Each crawl takes out of the store what its own domain no longer has, so two domains would empty each other's. */
export function refuseSharedStore(domain: Domain, domains: readonly Domain[]): void {
  const { domainId, vectorStoreId } = domain;
  if (vectorStoreId === "") return;
  const other = domains.find((one) => one.vectorStoreId === vectorStoreId && one.domainId !== domainId);
  if (!other) return;
  throw new BadInputError(
    `The vector store '${vectorStoreId}' belongs to domain '${other.domainId}'. Give domain '${domainId}' another 'vector_store_id', or none to have one created.`,
  );
}
