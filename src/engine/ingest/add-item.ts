import { BadInputError, ConflictError } from "../../contracts/errors.ts";
import type { DomainId } from "../../contracts/ids.ts";
import type { IngestItem } from "../../contracts/registry.ts";
import { findAddressSecret } from "../../lib/secret-parameters.ts";
import { newMember, withStanding } from "../../plan/web/member-standing.ts";
import { afterRegistration, newItem } from "../../plan/web/schedule-item.ts";
import { type Identity, identifyUrl } from "../../plan/web/web-identity.ts";
import type { OpenIngestParts } from "./create-ingest.ts";
import type { ItemRecords } from "./drop-items.ts";
import { ensureSource } from "./ensure-source.ts";
import { type AddRequest, REGISTERED_SOURCE, type Registered } from "./ingest.ts";
import { asQueued, isQueued, sendItem } from "./queue-item.ts";
import { settleItem } from "./settle-item.ts";

export type AddParts = Pick<
  OpenIngestParts,
  "registry" | "members" | "queue" | "domains" | "crawlerFolder" | "defaultDomain" | "now"
>;

export async function addUrl(
  request: AddRequest,
  parts: AddParts & Pick<OpenIngestParts, "rules">,
  options: { readonly dryRun: boolean },
): Promise<Registered> {
  const identity = identifyUrl(request.url, parts.rules);
  refuseSecrets(request.url);
  return await addItem(identity, request, parts, options);
}

/** What links hold is dropped; whoever writes an address down learns that it would not be the one that is asked. */
function refuseSecrets(address: string): void {
  const url = URL.parse(address);
  const secret = url && findAddressSecret(url);
  if (!secret) return;
  throw new BadInputError(
    `The address holds ${secret}, which is neither kept nor used. Give it without, if it can be read so. A blob of Azure Storage is registered as a file.`,
  );
}

/** The same address twice is one record and one member, however it was written, and one message while nobody has begun with it. */
export async function addItem(
  identity: Identity,
  request: Omit<AddRequest, "url">,
  parts: AddParts,
  options: { readonly dryRun: boolean },
): Promise<Registered> {
  const { registry, now } = parts;
  const domainId = request.domainId ?? parts.defaultDomain;
  await ensureSource(domainId, parts, options);
  let isSent = true;
  for (;;) {
    const found = await registry.get(identity.id);
    const at = now();
    const item = afterRegistration(found?.item ?? newItem(identity, at), { ...request, identity }, at);
    if (options.dryRun) return told(item, domainId, { isNew: !found });
    isSent &&= isQueued(item, at);
    try {
      await registry.put(isSent ? item : asQueued(item, at), found?.version ?? null);
    } catch (error) {
      if (error instanceof ConflictError) continue;
      throw error;
    }
    const status = await join(item, domainId, parts);
    // Whoever saw the record before its member may have taken it away, or off the timer's hands.
    if (!(await registry.get(item.id))?.item.watched) continue;
    if (!isSent) await sendItem(item, parts);
    return told({ ...item, status }, domainId, { isNew: !found });
  }
}

/** What another domain has indexed already, this one has not: then it is Crawled again. */
async function join(item: IngestItem, domainId: DomainId, records: ItemRecords): Promise<IngestItem["status"]> {
  let isNew = false;
  await records.members.change([newMember(domainId, REGISTERED_SOURCE, item.id)], (known, added) => {
    isNew = known?.wanted !== "asked";
    return isNew ? { ...(known ?? added), wanted: "asked" } : known;
  });
  if (!isNew) return item.status;
  if (item.aliasOf !== "") await settleItem(item.id, item.aliasOf, records);
  await settleItem(item.id, item.id, records);
  return withStanding(item, await records.members.of(item.id)).status;
}

export function told(item: IngestItem, domainId: DomainId, { isNew }: { readonly isNew: boolean }): Registered {
  const { id, normalizedSource, displaySource, status, reindexGeneration } = item;
  const { nextCrawlAt } = item.scheduling;
  return { id, normalizedSource, displaySource, domainId, status, nextCrawlAt, reindexGeneration, isNew, note: "" };
}
