import { BadInputError } from "../../contracts/errors.ts";
import type { DomainId, ItemId } from "../../contracts/ids.ts";
import type { Members } from "../../contracts/members.ts";
import type { Registry } from "../../contracts/registry.ts";
import { identifyFile } from "../../plan/web/file-identity.ts";
import { type Identity, type IdentityRules, identifyUrl } from "../../plan/web/web-identity.ts";
import { REGISTERED_SOURCE } from "./ingest.ts";

interface IdentityParts {
  readonly registry: Pick<Registry, "get">;
  readonly members: Pick<Members, "of">;
  readonly rules: IdentityRules;
  /** Where it was registered, if anywhere. */
  readonly domainId: DomainId;
}

/**
 * Of an address, or of the path of a file. An address may be that of a page and of a blob: the one that is registered in the
 * domain is meant, then one that is there otherwise, then one that is known at all, and of equals the page.
 */
export async function findIdentity(source: string, parts: IdentityParts): Promise<Identity> {
  if (!/^\s*https?:/i.test(source)) return identifyFile(source);
  const page = identifyUrl(source, parts.rules);
  const blob = identifyBlob(source);
  if (!blob) return page;
  return (await nearnessOf(blob.id, parts)) > (await nearnessOf(page.id, parts)) ? blob : page;
}

/** undefined: no blob can have this address. */
function identifyBlob(source: string): Identity | undefined {
  try {
    return identifyFile(source);
  } catch (error) {
    if (error instanceof BadInputError) return undefined;
    throw error;
  }
}

async function nearnessOf(id: ItemId, { registry, members, domainId }: IdentityParts): Promise<number> {
  if (!(await registry.get(id))) return 0;
  const here = (await members.of(id)).filter((one) => one.domainId === domainId);
  if (here.some(({ sourceId }) => sourceId === REGISTERED_SOURCE)) return 3;
  return here.length > 0 ? 2 : 1;
}
