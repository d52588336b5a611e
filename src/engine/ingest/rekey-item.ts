import { BadInputError, ConflictError } from "../../contracts/errors.ts";
import type { ItemId } from "../../contracts/ids.ts";
import type { Member } from "../../contracts/members.ts";
import type { IngestItem } from "../../contracts/registry.ts";
import type { WebDocuments } from "../../contracts/web.ts";
import { findAddressSecret, withoutAddressSecrets } from "../../lib/secret-parameters.ts";
import { toUtcMicros } from "../../lib/time.ts";
import { type Identity, type IdentityRules, identifyTwin, identifyUrl, isTwin } from "../../plan/web/item-identity.ts";
import { hasDocument, newItem, newMember } from "../../plan/web/item-state.ts";
import { withEvent, withWatchOf } from "../../plan/web/item-transitions.ts";
import { REGISTERED_SOURCE } from "./ingest.ts";
import { changeItem, type ItemRecords } from "./item-records.ts";

export interface RekeyParts extends ItemRecords {
  readonly documents: Pick<WebDocuments, "get" | "put">;
  readonly rules: IdentityRules;
  readonly now: () => Date;
}

/**
 * Returns the id of the item's address by the current rules for secrets and tracking parameters. If it is another one,
 * the item continues under it, with its document; the old record becomes an alias without the dropped parameters, and
 * stays a member only where an index has its document. The secret is removed last, so the next call finishes an
 * interrupted one.
 */
export async function rekeyItem(item: IngestItem, parts: RekeyParts): Promise<ItemId> {
  const identity = identityNow(item, parts.rules);
  if (!identity || identity.id === item.id) return item.id;
  const registered = (await parts.members.of(item.id)).filter(({ sourceId }) => sourceId === REGISTERED_SOURCE);
  if (item.normalizedSource !== identity.normalizedSource) {
    await carryOver(item, identity, registered, parts);
    await changeItem(parts.registry, item.id, (old) => ({
      ...newItem({ ...identity, id: old.id }, parts.now()),
      ...{ status: "OutOfScope", aliasOf: identity.id, lock: old.lock, linkage: old.linkage },
    }));
  }
  await parts.members.change(registered, (known) => (known?.lastIndexedDocId === "" ? undefined : known));
  return identity.id;
}

function identityNow(item: IngestItem, rules: IdentityRules): Identity | undefined {
  try {
    if (item.type !== "url") return undefined;
    return isTwin(item) ? identifyTwin(item.foundSource, rules) : identifyUrl(item.foundSource, rules);
  } catch (error) {
    if (error instanceof BadInputError) return undefined;
    throw error;
  }
}

async function carryOver(
  item: IngestItem,
  identity: Identity,
  registered: readonly Member[],
  { registry, members, documents, now }: RekeyParts,
): Promise<void> {
  const { contentHash } = item.content;
  if (!(await registry.get(identity.id))) {
    const bytes = contentHash && (await documents.get(item.id, contentHash));
    if (bytes) await documents.put(identity.id, bytes);
    await registry.put(successorOf(item, identity, now()), null).catch((error: unknown) => {
      if (!(error instanceof ConflictError)) throw error;
    });
  }
  for (const { domainId, sourceId, wanted } of registered) {
    if (wanted === "no") continue;
    await members.change([newMember(domainId, sourceId, identity.id)], (known, added) =>
      known?.wanted === "asked" || known?.wanted === wanted ? known : { ...(known ?? added), wanted },
    );
  }
  await changeItem(registry, identity.id, (known) => withWatchOf(known, item));
}

/** Fetched again: the address may show something else without the dropped parameters. */
function successorOf(item: IngestItem, identity: Identity, now: Date): IngestItem {
  const { http, linkage, scheduling } = item;
  const url = URL.parse(item.foundSource);
  const secret = url && findAddressSecret(url);
  const detail = secret
    ? `Its address held ${secret}, which is neither kept nor used any longer.`
    : "It was known under another spelling of its address.";
  const successor: IngestItem = {
    ...item,
    ...identity,
    status: hasDocument(item) ? "Crawled" : item.status,
    http: {
      ...http,
      etag: "",
      lastModified: "",
      redirectChain: http.redirectChain.map(withoutAddressSecrets),
      canonicalUrl: withoutAddressSecrets(http.canonicalUrl),
      variantUrl: withoutAddressSecrets(http.variantUrl),
    },
    linkage: { ...linkage, lastIndexedDocId: "" },
    scheduling: { ...scheduling, errorMessage: "", nextCrawlAt: toUtcMicros(now), queuedUntil: "" },
    lock: { lockedUntil: "", lockedBy: "" },
    history: [],
  };
  return withEvent(successor, "registered", detail, now);
}
