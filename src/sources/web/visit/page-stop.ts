import type { ItemId } from "../../../contracts/ids.ts";
import type { IngestItem, RegisteredItem } from "../../../contracts/registry.ts";
import { beginLook, type Look } from "../../../plan/web/look-at-item.ts";
import { newItem } from "../../../plan/web/schedule-item.ts";
import { type Identity, identifyUrl } from "../../../plan/web/web-identity.ts";
import type { VisitorParts } from "./create-page-visitor.ts";

/** An address on the way, and what is known of it. */
export interface PageStop {
  readonly id: ItemId;
  readonly identity: Identity;
  /** What is asked for. */
  readonly url: string;
  /** As it was found this time, where that is spelt otherwise than what is known. */
  readonly otherUrl: string;
  readonly registered: RegisteredItem | undefined;
  /** As it is known, or as it would be registered. */
  readonly item: IngestItem;
  readonly look: Look;
}

/** The address that answered the last time is asked, however it is spelt where it was found this time. */
export async function stopAt(
  address: string,
  { registry, rules }: Pick<VisitorParts, "registry" | "rules">,
  now: Date,
  { force = false } = {},
): Promise<PageStop> {
  const identity = identifyUrl(address, rules);
  const registered = await registry.get(identity.id);
  const item = registered?.item ?? newItem(identity, now);
  const url = item.foundSource;
  const otherUrl = url === identity.foundSource ? "" : identity.foundSource;
  return { id: identity.id, identity, url, otherUrl, registered, item, look: beginLook(item, now, { force }) };
}

/** The same item under another spelling of its address. */
export function respelt(stop: PageStop, url: string): PageStop {
  return { ...stop, url, otherUrl: "" };
}
