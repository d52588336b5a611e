import { BadInputError, ConflictError } from "../../contracts/errors.ts";
import type { DomainId, ItemId } from "../../contracts/ids.ts";
import type { Member, Members } from "../../contracts/members.ts";
import type { IngestItem, RegisteredItem, Registry } from "../../contracts/registry.ts";
import type { WebDocuments, WebImages } from "../../contracts/web.ts";
import { type Identity, type IdentityRules, identifyFile, identifyUrl } from "../../plan/web/item-identity.ts";
import { newMember } from "../../plan/web/item-state.ts";
import { withIndexStatus } from "../../plan/web/item-transitions.ts";
import { REGISTERED_SOURCE } from "./ingest.ts";

/** Records of addresses, and the sources that have them. */
export interface ItemRecords {
  readonly registry: Registry;
  readonly members: Members;
}

/** Records with their documents and images. */
export interface ItemRepository extends ItemRecords {
  readonly documents: Pick<WebDocuments, "delete" | "erase">;
  readonly images: Pick<WebImages, "delete">;
}

/** So many conflicts in a row mean that something is wrong. */
const MOST_TRIES = 50;

/**
 * Reads, changes and puts the record; retries on conflict. If `change` returns the same object, nothing is put. Returns
 * the current record, or undefined if there is none. A change that depends on the members reads them itself, after the
 * record: a writer of members reads the record afterwards, so of two concurrent writers one sees the other's change.
 */
export async function changeItem(
  registry: Pick<Registry, "get" | "put">,
  id: ItemId,
  change: (item: IngestItem) => IngestItem | Promise<IngestItem>,
): Promise<RegisteredItem | undefined> {
  for (let tries = 1; ; tries++) {
    const found = await registry.get(id);
    if (!found) return undefined;
    const item = await change(found.item);
    if (item === found.item) return found;
    try {
      return { item, version: await registry.put(item, found.version) };
    } catch (error) {
      if (!(error instanceof ConflictError) || tries >= MOST_TRIES) throw error;
    }
  }
}

/**
 * After a visit of `address`, which turned out to be `item`: adds `item` to the domains of `address`. Its status is
 * Crawled as long as one of them has not indexed it.
 */
export async function syncMembers(address: ItemId, item: ItemId, records: ItemRecords): Promise<void> {
  if (address !== item) await addFollowers(address, item, records);
  await changeItem(records.registry, item, async (now) => withIndexStatus(now, await records.members.of(item)));
}

/** Adds members with `wanted: "led"`: not registered themselves; they stay while a registered address leads to them. */
async function addFollowers(address: ItemId, item: ItemId, { members }: ItemRecords): Promise<void> {
  const isWanted = (one: Member): boolean => one.sourceId === REGISTERED_SOURCE && one.wanted !== "no";
  const wanted = (await members.of(address)).filter(isWanted);
  const followers = wanted.map(({ domainId, sourceId }) => newMember(domainId, sourceId, item));
  await members.change(followers, (known, follower) =>
    known && isWanted(known) ? known : { ...(known ?? follower), wanted: "led" },
  );
}

interface IdentityParts {
  readonly registry: Pick<Registry, "get">;
  readonly members: Pick<Members, "of">;
  readonly rules: IdentityRules;
  readonly domainId: DomainId;
}

/**
 * Returns the identity of an address or file path. An address may be a page and a blob: prefers the one registered in
 * the domain, then one in the domain, then one in the registry, and otherwise the page.
 */
export async function findIdentity(source: string, parts: IdentityParts): Promise<Identity> {
  if (!/^\s*https?:/i.test(source)) return identifyFile(source);
  const page = identifyUrl(source, parts.rules);
  const blob = identifyBlob(source);
  if (!blob) return page;
  return (await nearnessOf(blob.id, parts)) > (await nearnessOf(page.id, parts)) ? blob : page;
}

/** undefined: not a possible blob address. */
function identifyBlob(source: string): Identity | undefined {
  try {
    return identifyFile(source);
  } catch (error) {
    if (error instanceof BadInputError) return undefined;
    throw error;
  }
}

async function nearnessOf(id: ItemId, { registry, members, domainId }: IdentityParts): Promise<number> {
  if (!(await registry.get(id))) return 0;
  const here = (await members.of(id)).filter((one) => one.domainId === domainId);
  if (here.some(({ sourceId }) => sourceId === REGISTERED_SOURCE)) return 3;
  return here.length > 0 ? 2 : 1;
}
