import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import type { Domain, SourceConfig } from "../../contracts/domain.ts";
import { BadInputError, ConflictError, NotFoundError } from "../../contracts/errors.ts";
import type { DomainId, ItemId } from "../../contracts/ids.ts";
import type { IngestItem, RegisteredItem } from "../../contracts/registry.ts";
import type { DomainStore } from "../../domains/domain-store.ts";
import { parseSource } from "../../domains/source-codec.ts";
import { findAddressSecret } from "../../lib/secret-parameters.ts";
import { toUtcMicros } from "../../lib/time.ts";
import { sourceFolder } from "../../mirror/layout.ts";
import { type Identity, identifyUrl } from "../../plan/web/item-identity.ts";
import { newItem, newMember } from "../../plan/web/item-state.ts";
import { afterForce, afterRegistration, withIndexStatus } from "../../plan/web/item-transitions.ts";
import { whyBlocked } from "../erase/blocked-items.ts";
import type { OpenIngestParts } from "./create-ingest.ts";
import { type AddRequest, REGISTERED_SOURCE, type Registered, type WantedItem } from "./ingest.ts";
import { asQueued, isQueued, sendItem } from "./item-queue.ts";
import { changeItem, findIdentity, type ItemRecords, syncMembers } from "./item-records.ts";

export type AddParts = Pick<
  OpenIngestParts,
  "registry" | "members" | "queue" | "domains" | "erasures" | "crawlerFolder" | "defaultDomain" | "now"
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

/** Refuses a URL with a secret: the secret would be dropped, and another URL would be fetched than the user gave. */
function refuseSecrets(address: string): void {
  const url = URL.parse(address);
  const secret = url && findAddressSecret(url);
  if (!secret) return;
  throw new BadInputError(
    `The address holds ${secret}, which is neither kept nor used. Register it without that, if it can be read so. A blob of Azure Storage is registered as a file.`,
  );
}

/**
 * Registers an item. The same address, however it is spelled, is one record and one member, and one queue message until
 * a worker takes it.
 */
export async function addItem(
  identity: Identity,
  request: Omit<AddRequest, "url">,
  parts: AddParts,
  options: { readonly dryRun: boolean },
): Promise<Registered> {
  const { registry, now } = parts;
  const domainId = request.domainId ?? parts.defaultDomain;
  await refuseErased(identity.id, domainId, parts);
  await ensureSource(domainId, parts, options);
  let isSent = true;
  for (;;) {
    const found = await registry.get(identity.id);
    const at = now();
    const item = afterRegistration(found?.item ?? newItem(identity, at), { ...request, identity }, at);
    if (options.dryRun) return toRegistered(item, domainId, { isNew: !found });
    isSent &&= isQueued(item, at);
    try {
      await registry.put(isSent ? item : asQueued(item, at), found?.version ?? null);
    } catch (error) {
      if (error instanceof ConflictError) continue;
      throw error;
    }
    const status = await addMember(item, domainId, parts);
    // Check again: a purge that saw the record without a member may have deleted it, or ended its watch.
    if (!(await registry.get(item.id))?.item.watched) continue;
    if (!isSent) await sendItem(item, parts);
    return toRegistered({ ...item, status }, domainId, { isNew: !found });
  }
}

/** In whatever source of the domain it was. */
async function refuseErased(id: ItemId, domainId: DomainId, { erasures }: Pick<AddParts, "erasures">): Promise<void> {
  const erased = (await erasures.read(domainId)).erased.find(({ item }) => item === id);
  if (!erased) return;
  throw new BadInputError(
    `Address '${id}' was ${whyBlocked(erased)}. To let it in again: lockstep erase ${domainId} --allow ${id}`,
  );
}

/** Adds the item to the domain. If only another domain has indexed it, its status goes back to Crawled. */
async function addMember(item: IngestItem, domainId: DomainId, records: ItemRecords): Promise<IngestItem["status"]> {
  let isNew = false;
  await records.members.change([newMember(domainId, REGISTERED_SOURCE, item.id)], (known, added) => {
    isNew = known?.wanted !== "asked";
    return isNew ? { ...(known ?? added), wanted: "asked" } : known;
  });
  if (!isNew) return item.status;
  if (item.aliasOf !== "") await syncMembers(item.id, item.aliasOf, records);
  await syncMembers(item.id, item.id, records);
  return withIndexStatus(item, await records.members.of(item.id)).status;
}

export function toRegistered(item: IngestItem, domainId: DomainId, { isNew }: { readonly isNew: boolean }): Registered {
  const { id, normalizedSource, displaySource, status, reindexGeneration } = item;
  const { nextCrawlAt } = item.scheduling;
  return { id, normalizedSource, displaySource, domainId, status, nextCrawlAt, reindexGeneration, isNew, note: "" };
}

/** An alias stands for the item it leads to. */
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
    : ((await requestVisit(item.id, parts, { force: true })) ?? item);
  return toRegistered(requested, domainId, { isNew: false });
}

function identityOf(
  { source, domainId }: Extract<WantedItem, { source: string }>,
  parts: OpenIngestParts,
): Promise<Identity> {
  return findIdentity(source, { ...parts, domainId: domainId ?? parts.defaultDomain });
}

/** Makes the item due and queues it unless it is queued already. undefined: it is no longer registered. */
export async function requestVisit(
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

interface SourceParts {
  readonly domains: DomainStore;
  readonly crawlerFolder: string;
  readonly defaultDomain: DomainId;
}

/**
 * Makes sure that the domain has a source for registered addresses. NotFoundError for an unknown domain; only the
 * default one is created. BadInputError if another source has its name. Also creates the source's folder: a source that
 * is removed from the domain before its first crawl is then retired like any other.
 */
async function ensureSource(
  domainId: DomainId,
  { domains, crawlerFolder, defaultDomain }: SourceParts,
  { dryRun }: { readonly dryRun: boolean },
): Promise<void> {
  const domain = await unlessMissing(domains.get(domainId), domainId === defaultDomain);
  const isThere = domain !== undefined && hasSource(domain);
  if (dryRun) return;
  const registered = registeredSource(domains);
  if (!domain) await createWithSource(domainId, registered, domains);
  else if (!isThere) await domains.update({ ...domain, sources: [...domain.sources, registered] }, domain);
  await mkdir(join(crawlerFolder, sourceFolder(domainId, registered)), { recursive: true });
}

function registeredSource({ kinds }: DomainStore): SourceConfig {
  const kind = kinds.all.find(({ abilities }) => abilities.registersAddresses);
  const source = kind && parseSource(kind, { source_id: REGISTERED_SOURCE }, REGISTERED_SOURCE, []);
  if (source) return source;
  throw new BadInputError("No kind of source holds addresses that are registered one by one.");
}

async function createWithSource(domainId: DomainId, registered: SourceConfig, domains: DomainStore): Promise<void> {
  await domains.create(newDomain(domainId, registered)).catch(async (error: unknown) => {
    // Another process created it at the same time.
    const found = error instanceof BadInputError && (await unlessMissing(domains.get(domainId), true));
    if (!found || !hasSource(found)) throw error;
  });
}

async function unlessMissing(domain: Promise<Domain>, mayBeMissing: boolean): Promise<Domain | undefined> {
  try {
    return await domain;
  } catch (error) {
    if (mayBeMissing && error instanceof NotFoundError) return undefined;
    throw error;
  }
}

function hasSource({ domainId, sources }: Domain): boolean {
  const found = sources.find(({ sourceId }) => sourceId === REGISTERED_SOURCE);
  if (found && !found.kind.holdsRegistered?.(found)) {
    throw new BadInputError(
      `Domain '${domainId}' has a source '${REGISTERED_SOURCE}' that is something else. Addresses that are registered one by one need that name: give the source another one, or name another domain.`,
    );
  }
  return found !== undefined;
}

function newDomain(domainId: DomainId, registered: SourceConfig): Domain {
  return {
    domainId,
    name: domainId,
    description: "Web pages whose addresses were registered one by one.",
    vectorStoreName: domainId,
    vectorStoreId: "",
    schedule: "",
    sources: [registered],
  };
}
