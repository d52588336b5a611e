import type { App } from "../../app/app.ts";

/**
 * Which domain uses a vector store, by the store's id: as its own, or as the fresh one that a crawl is filling. Of a domain that cannot be read
 * nothing is known.
 */
export async function domainsOfStores({ domains, otherStores }: App): Promise<ReadonlyMap<string, string>> {
  const users = new Map<string, string>();
  for (const { vectorStoreId, domainId } of (await domains.list()).domains) {
    if (vectorStoreId !== "") users.set(vectorStoreId, domainId);
    for (const other of await otherStores(domainId)) {
      if (other.state === "building") users.set(other.vectorStoreId, domainId);
    }
  }
  return users;
}

/** With the domain that uses it, "" when none does. */
export function withUse<T extends { readonly id: string }>(
  store: T,
  users: ReadonlyMap<string, string>,
): T & { readonly used_by_domain: string } {
  return { ...store, used_by_domain: users.get(store.id) ?? "" };
}
