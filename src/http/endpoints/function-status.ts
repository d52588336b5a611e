import type { App } from "../../app/app.ts";
import type { Domain } from "../../contracts/domain.ts";
import { BadInputError, NotFoundError } from "../../contracts/errors.ts";
import type { DomainId } from "../../contracts/ids.ts";
import type { RegistrySummary } from "../../contracts/registry.ts";
import { sayUnregistered } from "../../engine/examine-records.ts";
import { REGISTERED_SOURCE } from "../../engine/ingest/ingest.ts";
import type { Standing } from "../../engine/standing.ts";
import { toSummaryJson } from "./item-codec.ts";

/** What `/api/SearchStatus` answers. The default domain is created by the first address; until then it is empty, not unknown. */
export async function readSearchStatus(app: App, domainId: DomainId): Promise<object> {
  const domain = await app.domains.get(domainId).catch((error: unknown) => {
    if (error instanceof NotFoundError && domainId === app.config.web.defaultDomain) return undefined;
    throw error;
  });
  const summary = await app.ingest.summary(domainId);
  const standing = domain && (await app.standing(domain));
  // Other backends search by words and meaning together, and in no other way.
  const isOwn = app.config.backend.kind === "embedded";
  const documentCount = standing?.documents ?? 0;
  return {
    indexName: domain?.vectorStoreName || domainId,
    domain_id: domainId,
    documentCount,
    status: sayStatus(documentCount, summary),
    lastUpdated: domain ? await lastUpdated(app, domain) : "",
    persistentStorage: true,
    features: { keywordSearch: isOwn, vectorSearch: isOwn, hybridSearch: true, semanticSearch: false },
    ...toSummaryJson(summary),
    error: standing?.error || sayLost(standing, summary),
  };
}

/** The registry was lost, or never had them: their documents are found, but grow old. */
function sayLost(standing: Standing | undefined, { total }: RegistrySummary): string {
  const { documents = 0 } = standing?.sources.find(({ sourceId }) => sourceId === REGISTERED_SOURCE) ?? {};
  if (documents <= total) return "";
  const { detail, remedy } = sayUnregistered(documents - total);
  return `${detail} ${remedy}`;
}

function sayStatus(documents: number, { byStatus }: RegistrySummary): "Empty" | "Updating" | "Ready" {
  if (byStatus.Pending + byStatus.Crawled > 0) return "Updating";
  return documents === 0 ? "Empty" : "Ready";
}

/** Only the embedded index tells; a store that is not there yet has no generation either. */
async function lastUpdated(app: App, { domainId, vectorStoreId }: Domain): Promise<string> {
  if (vectorStoreId === "") return "";
  try {
    return (await app.generations(domainId)).kept[0]?.committedAt ?? "";
  } catch (error) {
    if (error instanceof BadInputError || error instanceof NotFoundError) return "";
    throw error;
  }
}
