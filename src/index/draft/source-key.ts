import { BadInputError } from "../../contracts/errors.ts";
import type { DomainId, SourceId } from "../../contracts/ids.ts";
import { DIRECT_SOURCE } from "../storage/direct-source.ts";
import type { SourceKey } from "../storage/documents.ts";

/** Throws for the id under which files attached over the wire are kept: a crawl would take them for its own. */
export function sourceKey(domainId: DomainId, sourceId: SourceId): SourceKey {
  if (sourceId === DIRECT_SOURCE) throw new BadInputError(`open source: the source id '${DIRECT_SOURCE}' is reserved`);
  return { domainId, sourceId };
}
