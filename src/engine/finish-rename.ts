import { join } from "node:path";
import type { Domain } from "../contracts/domain.ts";
import type { DomainId, SourceId, VectorStoreId } from "../contracts/ids.ts";
import type { JobContext } from "../contracts/job.ts";
import type { LedgerSource } from "../contracts/ledger.ts";
import { type DomainRename, endRename, moveDomain } from "../domains/domain-rename.ts";
import type { EngineParts } from "./engine-parts.ts";
import { foldersIn } from "./retired-sources.ts";

/** Whoever wants to know how it goes, and may end it. */
export type RenameWatch = Pick<JobContext, "signal" | "log">;

/**
 * Brings everything that belongs to a domain to its new id, once the domain itself has it. What was done already is found
 * done, so this goes on wherever an earlier attempt was killed. Only for whoever holds the lease of renames.
 */
export async function finishRename(rename: DomainRename, parts: EngineParts, watch: RenameWatch): Promise<void> {
  const { from, to } = rename;
  await parts.ledgers.release(from);
  await moveDomain(parts, rename);
  await parts.ledgers.renameDomain(rename);
  const domain = await parts.domains.get(to);
  const roots = await sourceRoots(to, parts);
  const stores = await ownedStores(domain, roots, parts);
  const steps = roots.length + stores.length + 1;
  let at = 0;
  const begin = (line: string): void => {
    watch.signal.throwIfAborted();
    at += 1;
    watch.log(`[ ${at} / ${steps} ] ${line}`);
  };
  for (const { root, config } of roots) {
    begin(`Paths in the map files of crawler/${root}...`);
    if (config.kind.abilities.keepsMaps) {
      await (await parts.ledgers.open({ domainId: to, config }, { readOnly: false })).close();
    }
  }
  begin("Paths in files_metadata.json...");
  for (const warning of await parts.ledgers.metadata.write(to)) watch.log(`WARNING: ${warning}`);
  for (const store of stores) {
    begin(`Marks in the vector store '${store}'...`);
    const folders = { from: join(parts.crawlerFolder, from), to: join(parts.crawlerFolder, to) };
    const { signal } = watch;
    await parts.backend.changeOwner(store, { from, to, folders }, { signal, report: (line) => watch.log(line) });
  }
  await endRename(parts.domainsFolder, rename);
  watch.log(`Domain '${from}' is called '${to}' now.`);
}

/** Where a source has its folder, relative to `crawler/`. */
export interface SourceRoot {
  readonly root: string;
  readonly config: LedgerSource["config"];
}

/** Of the domain's sources, also of those it does not have any more. */
export async function sourceRoots(
  domainId: DomainId,
  { domains, crawlerFolder }: Pick<EngineParts, "domains" | "crawlerFolder">,
): Promise<SourceRoot[]> {
  const roots: SourceRoot[] = [];
  for (const kind of domains.kinds.all) {
    const folder = `${domainId}/${kind.folder}`;
    for (const name of await foldersIn(join(crawlerFolder, folder))) {
      const config = { kind, sourceType: kind.type, sourceId: name as SourceId };
      roots.push({ root: `${folder}/${name}`, config });
    }
  }
  return roots;
}

/** Stores with documents that are marked as the domain's: its own, those it had or is to have, those it was embedded into. */
export async function ownedStores(
  { domainId, vectorStoreId }: Domain,
  roots: readonly SourceRoot[],
  parts: EngineParts,
): Promise<VectorStoreId[]> {
  const others = (await parts.ledgers.stores.list(domainId)).map((one) => one.vectorStoreId);
  const mapped = await parts.ledgers.indexedStores(
    domainId,
    roots.map(({ config }) => config),
  );
  return [...new Set([...(vectorStoreId ? [vectorStoreId] : []), ...others, ...mapped])];
}
