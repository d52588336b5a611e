import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import type { Domain, WebSourceConfig } from "../../contracts/domain.ts";
import { BadInputError, NotFoundError } from "../../contracts/errors.ts";
import type { DomainId } from "../../contracts/ids.ts";
import type { DomainStore } from "../../domains/domain-store.ts";
import { DEFAULT_LIMITS } from "../../domains/source-codec.ts";
import { USUAL_DEPTH, USUAL_PAGES } from "../../domains/web-source-codec.ts";
import { sourceFolder } from "../../mirror/layout.ts";
import { REGISTERED_SOURCE } from "./ingest.ts";

const REGISTERED_URLS: WebSourceConfig = {
  sourceType: "web_sources",
  sourceId: REGISTERED_SOURCE,
  startUrls: [],
  include: [],
  exclude: [],
  maxDepth: USUAL_DEPTH,
  maxPages: USUAL_PAGES,
  images: false,
  limits: DEFAULT_LIMITS,
};

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
  if (!domain) await createWithSource(domainId, domains);
  else if (!isThere) await domains.update({ ...domain, sources: [...domain.sources, REGISTERED_URLS] }, domain);
  await mkdir(join(crawlerFolder, sourceFolder(domainId, REGISTERED_URLS)), { recursive: true });
}

async function createWithSource(domainId: DomainId, domains: DomainStore): Promise<void> {
  await domains.create(newDomain(domainId)).catch(async (error: unknown) => {
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
  if (found && (found.sourceType !== "web_sources" || found.startUrls.length > 0)) {
    throw new BadInputError(
      `Domain '${domainId}' has a source '${REGISTERED_SOURCE}' that is something else. Addresses that are registered one by one need that name: give the source another one, or name another domain.`,
    );
  }
  return found !== undefined;
}

function newDomain(domainId: DomainId): Domain {
  return {
    domainId,
    name: domainId,
    description: "Web pages whose addresses were registered one by one.",
    vectorStoreName: domainId,
    vectorStoreId: "",
    schedule: "",
    sources: [REGISTERED_URLS],
  };
}
