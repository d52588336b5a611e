import { join } from "node:path";
import type { Backend } from "../contracts/backend.ts";
import type { Domain, SourceConfig } from "../contracts/domain.ts";
import { parseSourceId, type SourceId } from "../contracts/ids.ts";
import type { Index } from "../contracts/search-index.ts";
import type { Listing, Source } from "../contracts/source.ts";
import type { SourceRun } from "../contracts/source-kind.ts";
import type { DomainStore } from "../domains/domain-store.ts";
import { retiredConfig } from "../domains/source-codec.ts";
import { foldersIn } from "../lib/file-system.ts";
import type { EngineParts } from "./engine-parts.ts";

interface RetiredParts {
  readonly domains: Pick<DomainStore, "kinds">;
  readonly crawlerFolder: string;
}

/** Finds sources that were crawled and are no longer in the domain, by their folders. */
export async function findRetired(domain: Domain, { domains, crawlerFolder }: RetiredParts): Promise<SourceConfig[]> {
  const retired: SourceConfig[] = [];
  for (const kind of domains.kinds.all) {
    for (const name of await foldersIn(join(crawlerFolder, domain.domainId, kind.folder))) {
      const configured = domain.sources.some((source) => source.sourceType === kind.type && source.sourceId === name);
      if (configured || !/^[A-Za-z0-9_-]{1,64}$/.test(name)) continue;
      retired.push(retiredConfig(kind, parseSourceId(name)));
    }
  }
  return retired;
}

/** Finds sources with documents in the store that are neither in the domain nor on disk. */
export async function retiredInStore(
  domain: Domain,
  index: Pick<Index, "sources" | "holdings">,
  parts: RetiredParts & { readonly domains: Pick<DomainStore, "get"> },
): Promise<SourceConfig[]> {
  const isIn = (id: SourceId, { sources }: Pick<Domain, "sources">) => sources.some(({ sourceId }) => sourceId === id);
  const unknown = [...(await index.sources())].filter((id) => !isIn(id, domain));
  if (unknown.length === 0) return [];
  // Read again: a source that was added and crawled meanwhile is in the store, too.
  const now = await parts.domains.get(domain.domainId);
  const onDisk = { sources: await findRetired(now, parts) };
  const retired: SourceConfig[] = [];
  for (const sourceId of unknown.filter((id) => !isIn(id, now) && !isIn(id, onDisk))) {
    for await (const [ref] of index.holdings(sourceId)) {
      if (!ref) continue;
      retired.push(retiredConfig(parts.domains.kinds.ofItem(ref.itemId), sourceId));
      break;
    }
  }
  return retired;
}

/** Whether a source of another kind has the same id: the index may hold documents of both under it. */
export function sharesId({ sourceId, sourceType }: SourceConfig, all: readonly SourceConfig[]): boolean {
  return all.some((other) => other.sourceId === sourceId && other.sourceType !== sourceType);
}

/** A removed source as an empty listing: same plan, same guard. */
export function retiredSource(config: SourceConfig): Source {
  return {
    id: config.sourceId,
    // biome-ignore lint/correctness/useYield: there is nothing to yield, and that is the point.
    list: async function* (): Listing {
      return "complete";
    },
    fetch: async () => ({ status: "gone" }),
    diagnose: async function* () {},
  };
}

/** Ends the grace periods of a removed tree; kept generations show its documents until they expire. Repeatable. */
export async function endRetentionOf(run: SourceRun, index: Index, parts: EngineParts): Promise<void> {
  const { sourceId } = run.config;
  if (!run.sharesId) return await endRetentionOfHidden(index, sourceId);
  const { manifest } = await parts.ledgers.open(run, { readOnly: true });
  for await (const page of manifest.entries()) {
    await index.retained?.endGracePeriod(
      sourceId,
      page.map(({ docId }) => docId),
    );
  }
}

/**
 * For a deleted domain whose vector store stays: ends the grace periods of its trees. Kept generations show their documents until they
 * expire.
 */
export async function endRetentionOfTrees(
  domain: Domain,
  parts: RetiredParts & { readonly backend: Pick<Backend, "openIndex" | "commits"> },
): Promise<void> {
  const { domainId, vectorStoreId } = domain;
  const { backend } = parts;
  const found = [...domain.sources, ...(await findRetired(domain, parts))].filter(({ kind }) => !kind.abilities.hasIds);
  if (vectorStoreId === "" || found.length === 0 || backend.commits !== "atomic") return;
  const index = await backend.openIndex(vectorStoreId, domainId);
  if (!index) return;
  for (const { sourceId } of found) await endRetentionOfHidden(index, sourceId);
}

async function endRetentionOfHidden(index: Index, sourceId: SourceId): Promise<void> {
  for await (const items of index.retained?.listHidden(sourceId) ?? [])
    await index.retained?.endGracePeriod(sourceId, items);
}
