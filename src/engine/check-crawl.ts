import type { Domain, SourceConfig } from "../contracts/domain.ts";
import { BadInputError, NotFoundError } from "../contracts/errors.ts";
import { refuseSharedStore } from "../domains/domain-store.ts";
import { type CrawlRequest, STEPS } from "./crawl-request.ts";
import type { EngineParts } from "./engine-parts.ts";
import { CLEAR_STORE } from "./index-target.ts";

/**
 * Checks a request before its job is created. NotFoundError for an unknown domain, source or vector store,
 * BadInputError for a store of another domain. A whole crawl is not refused because of its store: its downloads are
 * useful, and it reports why nothing was embedded.
 */
export async function checkCrawl(
  request: CrawlRequest,
  parts: Pick<EngineParts, "domains" | "backend">,
): Promise<void> {
  const domain = await parts.domains.get(request.domainId);
  if (request.storePlan !== undefined && request.swap) {
    throw new BadInputError("A swap has no plan that could be applied later: it puts everything into a fresh store.");
  }
  selectSources(domain, request);
  if (request.swap) checkSwap(request, parts.backend);
  if (request.force && request.mode !== "full") {
    throw new BadInputError("'force' needs mode=full: it makes everything anew, also what did not change.");
  }
  const embedsOnly = request.steps.every((step) => step === "embed");
  if (request.vectorStoreId !== undefined && !embedsOnly) {
    throw new BadInputError("'vector_store_id' is accepted where nothing but the embedding is asked for.");
  }
  const store = request.vectorStoreId ?? domain.vectorStoreId;
  if (!embedsOnly || store === "") return;
  refuseSharedStore({ ...domain, vectorStoreId: store }, (await parts.domains.list()).domains);
  if (await parts.backend.openIndex(store, domain.domainId)) return;
  throw new NotFoundError(
    request.vectorStoreId === undefined
      ? `The vector store '${store}' of domain '${domain.domainId}' does not exist any more. ${CLEAR_STORE}`
      : `The vector store '${store}' does not exist. Name one that does, or none to embed into the domain's own.`,
  );
}

/** A store with only some documents must not replace a complete one. */
function checkSwap(
  { mode, scope, sourceId, steps, vectorStoreId }: CrawlRequest,
  { commits }: Pick<EngineParts["backend"], "commits">,
): void {
  if (commits === "atomic") {
    throw new BadInputError(
      "'swap' is for OpenAI and Azure. The embedded index shows a crawl in one moment anyway: leave it out.",
    );
  }
  const everything = mode === "full" && scope === "all" && STEPS.every((step) => steps.includes(step));
  if (everything && sourceId === undefined && vectorStoreId === undefined) return;
  throw new BadInputError(
    "'swap' needs a whole crawl with mode=full and scope=all, without source_id and vector_store_id.",
  );
}

/** Returns the sources of a request. NotFoundError for an unknown one. */
export function selectSources(
  domain: Domain,
  request: Pick<CrawlRequest, "sourceId" | "scope">,
): readonly SourceConfig[] {
  const inScope = domain.sources.filter((config) => isInScope(config, request));
  if (request.sourceId === undefined) return inScope;
  const found = inScope.filter(({ sourceId }) => sourceId === request.sourceId);
  if (found.length > 0) return found;
  const known = inScope.map(({ sourceId }) => `'${sourceId}'`).join(", ") || "none";
  const where = request.scope === "all" ? "" : ` in scope '${request.scope}'`;
  throw new NotFoundError(
    `Source '${request.sourceId}' does not exist in domain '${domain.domainId}'${where}. It has: ${known}.`,
  );
}

export function isInScope({ kind }: SourceConfig, { scope }: Pick<CrawlRequest, "scope">): boolean {
  return scope === "all" || scope === kind.scope;
}
