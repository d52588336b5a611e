import { NotFoundError } from "../../contracts/errors.ts";
import type { ItemId } from "../../contracts/ids.ts";
import type { IngestItem, RegisteredItem } from "../../contracts/registry.ts";
import { toUtcMicros } from "../../lib/time.ts";
import { afterForce } from "../../plan/web/schedule-item.ts";
import type { Identity } from "../../plan/web/web-identity.ts";
import { told } from "./add-item.ts";
import { changeItem } from "./change-item.ts";
import type { OpenIngestParts } from "./create-ingest.ts";
import { findIdentity } from "./find-identity.ts";
import type { Registered, WantedItem } from "./ingest.ts";
import { asQueued, isQueued, sendItem } from "./queue-item.ts";

/** An address that leads to another item stands for that one. */
export async function reindexItem(
  wanted: WantedItem,
  parts: OpenIngestParts,
  { dryRun }: { readonly dryRun: boolean },
): Promise<Registered> {
  const { id, displaySource = "" } = "id" in wanted ? { id: wanted.id } : await identityOf(wanted, parts);
  const found = await parts.registry.get(id);
  if (!found) throw new NotFoundError(`${displaySource ? `'${displaySource}'` : `Item '${id}'`} is not registered.`);
  const target = found.item.aliasOf ? await parts.registry.get(found.item.aliasOf) : undefined;
  const { item } = target ?? found;
  const [member] = await parts.members.of(item.id);
  const domainId = member?.domainId ?? parts.defaultDomain;
  const requested = dryRun
    ? afterForce(item, parts.now())
    : ((await requestLook(item.id, parts, { force: true })) ?? item);
  return told(requested, domainId, { isNew: false });
}

function identityOf(
  { source, domainId }: Extract<WantedItem, { source: string }>,
  parts: OpenIngestParts,
): Promise<Identity> {
  return findIdentity(source, { ...parts, domainId: domainId ?? parts.defaultDomain });
}

/** It is due now, and queued unless it is already. undefined: it is not registered any more. */
export async function requestLook(
  id: ItemId,
  parts: Pick<OpenIngestParts, "registry" | "queue" | "now">,
  { force }: { readonly force: boolean },
): Promise<IngestItem | undefined> {
  const now = parts.now();
  let wasQueued = false;
  const requested: RegisteredItem | undefined = await changeItem(parts.registry, id, (item) => {
    wasQueued = isQueued(item, now);
    const due = force ? afterForce(item, now) : dueAt(item, now);
    return wasQueued ? due : asQueued(due, now);
  });
  if (requested && !wasQueued) await sendItem(requested.item, parts);
  return requested?.item;
}

function dueAt(item: IngestItem, now: Date): IngestItem {
  return { ...item, scheduling: { ...item.scheduling, nextCrawlAt: toUtcMicros(now) } };
}
