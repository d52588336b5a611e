import { BadInputError, ConflictError } from "../../contracts/errors.ts";
import type { DomainId, ItemId } from "../../contracts/ids.ts";
import type { Member, Members } from "../../contracts/members.ts";
import type { IngestItem, RegisteredItem, Registry } from "../../contracts/registry.ts";
import { type Identity, type IdentityRules, identifyFile, identifyUrl } from "../../plan/web/item-identity.ts";
import { newMember } from "../../plan/web/item-state.ts";
import { withIndexStatus } from "../../plan/web/item-transitions.ts";
import { REGISTERED_SOURCE } from "./ingest.ts";
import type { ItemRecords } from "./remove-items.ts";

/** So often in a row somebody else is faster only when something is wrong. */
const MOST_TRIES = 50;

/**
 * Reads, changes and puts; once more when somebody was faster. Given back the very same item, it puts nothing. Returns the
 * record as it then is; undefined when there is none. A change that goes by the members reads them itself, after the record:
 * whoever changes a member looks at the record afterwards, so of two at once one sees what the other did.
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
 * After a look at `address`, which turned out to be `item`: the domains in which the one was registered have the other, and
 * it is Crawled as long as one of them is behind.
 */
export async function syncMembers(address: ItemId, item: ItemId, records: ItemRecords): Promise<void> {
  if (address !== item) await addFollowers(address, item, records);
  await changeItem(records.registry, item, async (now) => withIndexStatus(now, await records.members.of(item)));
}

/** Nobody asked for these themselves: they are there while an address that somebody asked for leads to them. */
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
  /** Where it was registered, if anywhere. */
  readonly domainId: DomainId;
}

/**
 * Of an address, or of the path of a file. An address may be that of a page and of a blob: the one that is registered in the
 * domain is meant, then one that is there otherwise, then one that is known at all, and of equals the page.
 */
export async function findIdentity(source: string, parts: IdentityParts): Promise<Identity> {
  if (!/^\s*https?:/i.test(source)) return identifyFile(source);
  const page = identifyUrl(source, parts.rules);
  const blob = identifyBlob(source);
  if (!blob) return page;
  return (await nearnessOf(blob.id, parts)) > (await nearnessOf(page.id, parts)) ? blob : page;
}

/** undefined: no blob can have this address. */
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
