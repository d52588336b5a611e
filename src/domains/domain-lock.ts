import { join } from "node:path";
import type { DomainId } from "../contracts/ids.ts";
import { withFileLock } from "../lib/file-lease.ts";

/** Whoever writes `domains/<id>/` holds this. Beside the domains, not inside: the lock must outlive the folder it guards. */
export function withDomainLock<T>(domainsFolder: string, id: DomainId, work: () => Promise<T>): Promise<T> {
  return withFileLock(join(domainsFolder, ".lockstep", "locks", id), work);
}
