import type { DomainId } from "../../contracts/ids.ts";
import type { JobContext } from "../../contracts/job.ts";
import { plural } from "../../lib/plural.ts";
import type { OpenIngestParts } from "./create-ingest.ts";
import { REGISTERED_SOURCE, type RebuildRequest } from "./ingest.ts";
import { requestLook } from "./request-look.ts";

/** Run again after it was interrupted, it finds most of them queued already. */
export async function rebuildItems(
  request: RebuildRequest,
  parts: OpenIngestParts,
  job: JobContext,
): Promise<{ readonly domainId: DomainId; readonly queued: number }> {
  const domainId = request.domainId ?? parts.defaultDomain;
  const { sources } = await parts.domains.get(domainId);
  let queued = 0;
  for await (const page of parts.members.in(domainId, REGISTERED_SOURCE)) {
    for (const { itemId, wanted } of page) {
      if (wanted !== "asked") continue;
      await job.checkpoint();
      if (!job.dryRun && !(await requestLook(itemId, parts, request))) continue;
      queued += 1;
    }
    job.log(`${job.dryRun ? "Would queue" : "Queued"} ${plural(queued, "address", "addresses")} so far.`);
  }
  for (const source of sources) {
    const { kind } = source;
    if (!kind.abilities.registersAddresses || kind.holdsRegistered?.(source)) continue;
    job.log(`Source '${source.sourceId}' is a web site: its pages are looked at when it is crawled (scope web).`);
  }
  return { domainId, queued };
}
