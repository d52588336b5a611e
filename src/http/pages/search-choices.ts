import type { App } from "../../app/app.ts";
import type { Domain } from "../../contracts/domain.ts";
import { BadInputError, NotFoundError } from "../../contracts/errors.ts";
import type { DomainId } from "../../contracts/ids.ts";
import type { Generation } from "../../contracts/search-index.ts";

/** What there is to choose from in the search form. */
export interface SearchChoices {
  readonly domains: readonly Domain[];
  /** The one that is searched when nobody says which. */
  readonly chosen: Domain | undefined;
  readonly generations: readonly Generation[];
}

export async function gatherChoices(app: App, wanted: DomainId | undefined): Promise<SearchChoices> {
  const { domains } = await app.domains.list();
  const chosen = domains.find(({ domainId }) => domainId === wanted) ?? domains[0];
  return { domains, chosen, generations: chosen?.vectorStoreId ? await keptOf(app, chosen.domainId) : [] };
}

/** Other backends keep none, and a store that is gone has none: then there is nothing to choose. */
async function keptOf(app: App, domainId: DomainId): Promise<readonly Generation[]> {
  try {
    return (await app.generations(domainId)).kept;
  } catch (error) {
    if (error instanceof BadInputError || error instanceof NotFoundError) return [];
    throw error;
  }
}
