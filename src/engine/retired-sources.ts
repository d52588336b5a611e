import { mkdir, readdir } from "node:fs/promises";
import { join } from "node:path";
import type { Backend } from "../contracts/backend.ts";
import type { Domain, SourceConfig } from "../contracts/domain.ts";
import { parseSourceId, type SourceId } from "../contracts/ids.ts";
import type { Index } from "../contracts/search-index.ts";
import type { Listing, Source } from "../contracts/source.ts";
import type { SourceRun } from "../contracts/source-kind.ts";
import type { DomainStore } from "../domains/domain-store.ts";
import { retiredConfig } from "../domains/source-codec.ts";
import { isErrno } from "../lib/atomic-file.ts";
import { sourceFolder } from "../mirror/layout.ts";
import type { EngineParts } from "./engine-parts.ts";

interface RetiredParts {
  readonly domains: Pick<DomainStore, "kinds">;
  readonly crawlerFolder: string;
}

/** Sources that were crawled once and are not in the domain any more: their folders tell. */
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

/**
 * To be called when a rollback ends: readers may see what a source had whose folder is gone. With a folder again, the next crawl retires it
 * once more, like any other.
 */
export async function recallRetired(
  domain: Domain,
  index: Pick<Index, "sources" | "holdings">,
  parts: RetiredParts,
): Promise<void> {
  const known = [...domain.sources, ...(await findRetired(domain, parts))].map(({ sourceId }) => sourceId);
  for (const sourceId of await index.sources()) {
    if (known.includes(sourceId)) continue;
    for await (const [ref] of index.holdings(sourceId)) {
      if (!ref) continue;
      const folder = sourceFolder(domain.domainId, { kind: parts.domains.kinds.ofItem(ref.itemId), sourceId });
      await mkdir(join(parts.crawlerFolder, folder), { recursive: true });
      break;
    }
  }
}

/** Sources that a store has something of and nobody knows any more. */
export async function retiredInStore(
  domain: Domain,
  index: Pick<Index, "sources" | "holdings">,
  parts: RetiredParts & { readonly domains: Pick<DomainStore, "get"> },
): Promise<SourceConfig[]> {
  const isIn = (id: SourceId, { sources }: Pick<Domain, "sources">) => sources.some(({ sourceId }) => sourceId === id);
  const unknown = [...(await index.sources())].filter((id) => !isIn(id, domain));
  if (unknown.length === 0) return [];
  // Read again: one that was added, and crawled, while this run was on its way is in the store, too.
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

/** Has one of another kind the same id? Then what the index holds of the id is not all of this one. */
export function sharesId({ sourceId, sourceType }: SourceConfig, all: readonly SourceConfig[]): boolean {
  return all.some((other) => other.sourceId === sourceId && other.sourceType !== sourceType);
}

/** To the rest of the engine a source that was taken out is one that has nothing any more: same plan, same guard. */
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

/** None where there is no such folder. */
export async function foldersIn(path: string): Promise<string[]> {
  try {
    const entries = await readdir(path, { withFileTypes: true });
    return entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
  } catch (error) {
    if (isErrno(error, "ENOENT")) return [];
    throw error;
  }
}

/** Nothing of a tree that was taken out of its domain may return; kept generations show it until they are too old. Repeatable. */
export async function endRetentionOf(run: SourceRun, index: Index, parts: EngineParts): Promise<void> {
  const { sourceId } = run.config;
  if (!run.sharesId) return await endRetentionOfHidden(index, sourceId);
  const { manifest } = await parts.ledgers.open(run, { readOnly: true });
  for await (const page of manifest.entries()) {
    await index.letGo?.(
      sourceId,
      page.map(({ docId }) => docId),
    );
  }
}

/**
 * Nothing is left of the trees of a domain that is deleted while its vector store stays, but what readers see in it. Of one that
 * is rolled back, what they might go forward to stays, too.
 */
export async function forgetTrees(
  domain: Domain,
  parts: RetiredParts & { readonly backend: Pick<Backend, "openIndex" | "commits"> },
): Promise<void> {
  const { domainId, vectorStoreId } = domain;
  const { backend } = parts;
  const found = [...domain.sources, ...(await findRetired(domain, parts))].filter(({ kind }) => !kind.abilities.hasIds);
  if (vectorStoreId === "" || found.length === 0 || backend.commits !== "atomic") return;
  const index = await backend.openIndex(vectorStoreId, domainId);
  if (!index) return;
  const isPinned = (await index.generations?.state())?.pinned === true;
  for (const { sourceId } of found) {
    await (isPinned ? endRetentionOfHidden : purgeHidden)(index, sourceId);
  }
}

async function endRetentionOfHidden(index: Index, sourceId: SourceId): Promise<void> {
  for await (const items of index.hidden?.(sourceId) ?? []) await index.letGo?.(sourceId, items);
}

async function purgeHidden(index: Index, sourceId: SourceId): Promise<void> {
  for await (const items of index.hidden?.(sourceId) ?? []) await index.forget?.(sourceId, items);
}
