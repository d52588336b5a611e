import type { Backend } from "../contracts/backend.ts";
import type { Domain } from "../contracts/domain.ts";
import type { SourceId } from "../contracts/ids.ts";
import type { Index } from "../contracts/search-index.ts";
import type { SourceRun } from "../contracts/source-kind.ts";
import type { EngineParts } from "./engine-parts.ts";
import { findRetired, type RetiredParts } from "./retired-sources.ts";

/** Nothing of a tree that was taken out of its domain may return; kept generations show it until they are too old. Repeatable. */
export async function letGoOfRetired(run: SourceRun, index: Index, parts: EngineParts): Promise<void> {
  const { sourceId } = run.config;
  if (!run.sharesId) return await letGoOfHidden(index, sourceId);
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
    await (isPinned ? letGoOfHidden : forgetHidden)(index, sourceId);
  }
}

async function letGoOfHidden(index: Index, sourceId: SourceId): Promise<void> {
  for await (const items of index.hidden?.(sourceId) ?? []) await index.letGo?.(sourceId, items);
}

async function forgetHidden(index: Index, sourceId: SourceId): Promise<void> {
  for await (const items of index.hidden?.(sourceId) ?? []) await index.forget?.(sourceId, items);
}
