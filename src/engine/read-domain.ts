import type { Domain } from "../contracts/domain.ts";
import type { DomainId } from "../contracts/ids.ts";
import type { JobContext } from "../contracts/job.ts";
import { withDomainLock } from "../domains/domain-files.ts";
import type { EngineParts } from "./engine-parts.ts";

/**
 * Reads a domain under its lock. This job is visible already, so a deletion either sees it and stops, or has finished
 * and this throws NotFoundError.
 */
export function readDomain(
  domainId: DomainId,
  { domains, domainsFolder }: Pick<EngineParts, "domains" | "domainsFolder">,
  job: Pick<JobContext, "dryRun">,
): Promise<Domain> {
  const read = (): Promise<Domain> => domains.get(domainId);
  return job.dryRun ? read() : withDomainLock(domainsFolder, domainId, read);
}
