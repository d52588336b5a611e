import { ConflictError } from "../contracts/errors.ts";
import type { DomainId } from "../contracts/ids.ts";
import { type Lease, sourceLease } from "../contracts/lease.ts";
import type { EngineParts } from "./engine-parts.ts";
import { sourceRoots } from "./finish-rename.ts";

/**
 * Takes what whoever works on a source of the domain holds, for all of its sources at once: a job whose process seems to be
 * gone may still write. Waits for nobody: ConflictError names who is in the way.
 */
export async function leaseSources(
  domainId: DomainId,
  parts: Pick<EngineParts, "domains" | "crawlerFolder" | "ledgers">,
  owner: string,
): Promise<Lease[]> {
  const leases: Lease[] = [];
  try {
    for (const { root, config } of await sourceRoots(domainId, parts)) {
      for (const work of ["download", "embed"] as const) {
        const late = new AbortController();
        const onWait = (holder: string): void =>
          late.abort(new ConflictError(`crawler/${root} is in use by ${holder}. Try again when that is over.`));
        const options = { owner, signal: late.signal, onWait };
        leases.push(await parts.ledgers.leases.acquire(domainId, sourceLease(config, work), options));
      }
    }
  } catch (error) {
    for (const lease of leases) await lease.release();
    throw error;
  }
  return leases;
}
