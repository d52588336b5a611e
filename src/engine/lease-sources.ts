import { join } from "node:path";
import { ConflictError } from "../contracts/errors.ts";
import type { DomainId } from "../contracts/ids.ts";
import { acquireLease, type Lease } from "../lib/file-lease.ts";
import { PRIVATE_FOLDER } from "../mirror/layout.ts";
import type { EngineParts } from "./engine-parts.ts";
import { sourceRoots } from "./finish-rename.ts";

/**
 * Takes what whoever works on a source of the domain holds, for all of its sources at once: a job whose process seems to be
 * gone may still write. Waits for nobody: ConflictError names who is in the way.
 */
export async function leaseSources(
  domainId: DomainId,
  { crawlerFolder }: Pick<EngineParts, "crawlerFolder">,
  owner: string,
): Promise<Lease[]> {
  const leases: Lease[] = [];
  try {
    for (const { root } of await sourceRoots(domainId, { crawlerFolder })) {
      for (const name of ["lease-download", "lease-embed"]) {
        leases.push(await leaseNow(root, join(crawlerFolder, root, PRIVATE_FOLDER, name), owner));
      }
    }
  } catch (error) {
    for (const lease of leases) await lease.release();
    throw error;
  }
  return leases;
}

async function leaseNow(root: string, path: string, owner: string): Promise<Lease> {
  const late = new AbortController();
  const onWait = (holder: string): void => {
    late.abort(new ConflictError(`crawler/${root} is in use by ${holder}. Try again when that is over.`));
  };
  return await acquireLease(path, { owner, signal: late.signal, onWait });
}
