import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import type { Domain, SourceConfig } from "../../contracts/domain.ts";
import { BadInputError, NotFoundError } from "../../contracts/errors.ts";
import type { DomainId } from "../../contracts/ids.ts";
import type { DomainStore } from "../../domains/domain-store.ts";
import { parseSource } from "../../domains/source-codec.ts";
import { sourceFolder } from "../../mirror/layout.ts";
import { REGISTERED_SOURCE } from "./ingest.ts";

export interface SourceParts {
  readonly domains: DomainStore;
  readonly crawlerFolder: string;
  readonly defaultDomain: DomainId;
}

/**
 * The domain has a source for registered addresses when this resolves. NotFoundError for a domain that does not exist; only
 * the default one is made. BadInputError when something else has the source's name. The source has a
 * folder from then on: taken out before its first crawl, it leaves with all it had like any other.
 */
export async function ensureSource(
  domainId: DomainId,
  { domains, crawlerFolder, defaultDomain }: SourceParts,
  { dryRun }: { readonly dryRun: boolean },
): Promise<void> {
  const domain = await unlessMissing(domains.get(domainId), domainId === defaultDomain);
  const isThere = domain !== undefined && hasSource(domain);
  if (dryRun) return;
  const registered = registeredSource(domains);
  if (!domain) await createWithSource(domainId, registered, domains);
  else if (!isThere) await domains.update({ ...domain, sources: [...domain.sources, registered] }, domain);
  await mkdir(join(crawlerFolder, sourceFolder(domainId, registered)), { recursive: true });
}

function registeredSource({ kinds }: DomainStore): SourceConfig {
  const kind = kinds.all.find(({ abilities }) => abilities.registersAddresses);
  const source = kind && parseSource(kind, { source_id: REGISTERED_SOURCE }, REGISTERED_SOURCE, []);
  if (source) return source;
  throw new BadInputError("No kind of source holds addresses that are registered one by one.");
}

async function createWithSource(domainId: DomainId, registered: SourceConfig, domains: DomainStore): Promise<void> {
  await domains.create(newDomain(domainId, registered)).catch(async (error: unknown) => {
    // Somebody else made it in the same moment.
    const found = error instanceof BadInputError && (await unlessMissing(domains.get(domainId), true));
    if (!found || !hasSource(found)) throw error;
  });
}

async function unlessMissing(domain: Promise<Domain>, mayBeMissing: boolean): Promise<Domain | undefined> {
  try {
    return await domain;
  } catch (error) {
    if (mayBeMissing && error instanceof NotFoundError) return undefined;
    throw error;
  }
}

function hasSource({ domainId, sources }: Domain): boolean {
  const found = sources.find(({ sourceId }) => sourceId === REGISTERED_SOURCE);
  if (found && !found.kind.holdsRegistered?.(found)) {
    throw new BadInputError(
      `Domain '${domainId}' has a source '${REGISTERED_SOURCE}' that is something else. Addresses that are registered one by one need that name: give the source another one, or name another domain.`,
    );
  }
  return found !== undefined;
}

function newDomain(domainId: DomainId, registered: SourceConfig): Domain {
  return {
    domainId,
    name: domainId,
    description: "Web pages whose addresses were registered one by one.",
    vectorStoreName: domainId,
    vectorStoreId: "",
    schedule: "",
    sources: [registered],
  };
}
