import { join } from "node:path";
import { ConflictError } from "../contracts/errors.ts";
import type { DomainId, SourceId } from "../contracts/ids.ts";
import { sourceLease } from "../contracts/lease.ts";
import type { LedgerSource } from "../contracts/ledger.ts";
import { foldersIn } from "../lib/file-system.ts";
import type { EngineParts } from "./engine-parts.ts";

/**
 * Takes the leases of all sources of the domain, because a job whose process seems to be gone may still write. Does not
 * wait: ConflictError names the holder.
 */
export async function leaseSources(
  domainId: DomainId,
  parts: Pick<EngineParts, "domains" | "crawlerFolder" | "ledgers">,
  owner: string,
): Promise<AsyncDisposable> {
  await using leases = new AsyncDisposableStack();
  for (const { root, config } of await sourceRoots(domainId, parts)) {
    for (const work of ["download", "embed"] as const) {
      const late = new AbortController();
      const onWait = (holder: string): void =>
        late.abort(new ConflictError(`crawler/${root} is in use by ${holder}. Try again when that is over.`));
      const options = { owner, signal: late.signal, onWait };
      leases.use(await parts.ledgers.leases.acquire(domainId, sourceLease(config, work), options));
    }
  }
  return leases.move();
}

/** A source and its folder, relative to `crawler/`. */
export interface SourceRoot {
  readonly root: string;
  readonly config: LedgerSource["config"];
}

/** Returns the source folders of the domain, including those of removed sources. */
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
