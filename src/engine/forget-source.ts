import { join } from "node:path";
import type { Backend } from "../contracts/backend.ts";
import { type Domain, isTree, SOURCE_KINDS } from "../contracts/domain.ts";
import type { SourceId } from "../contracts/ids.ts";
import type { Index } from "../contracts/search-index.ts";
import type { EngineParts, SourceRun } from "./engine-parts.ts";
import { foldersIn } from "./retired-sources.ts";

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
  { domainId, vectorStoreId, sources }: Domain,
  {
    backend,
    crawlerFolder,
  }: { readonly backend: Pick<Backend, "openIndex" | "commits">; readonly crawlerFolder: string },
): Promise<void> {
  const found: string[] = sources.filter(isTree).map(({ sourceId }) => sourceId);
  for (const type of ["folder_sources", "blob_sources"] as const) {
    found.push(...(await foldersIn(join(crawlerFolder, domainId, SOURCE_KINDS[type].folder))));
  }
  if (vectorStoreId === "" || found.length === 0 || backend.commits !== "atomic") return;
  const index = await backend.openIndex(vectorStoreId, domainId);
  if (!index) return;
  const isPinned = (await index.generations?.state())?.pinned === true;
  for (const sourceId of new Set(found as SourceId[])) {
    await (isPinned ? letGoOfHidden : forgetHidden)(index, sourceId);
  }
}

async function letGoOfHidden(index: Index, sourceId: SourceId): Promise<void> {
  for await (const items of index.hidden?.(sourceId) ?? []) await index.letGo?.(sourceId, items);
}

async function forgetHidden(index: Index, sourceId: SourceId): Promise<void> {
  for await (const items of index.hidden?.(sourceId) ?? []) await index.forget?.(sourceId, items);
}
