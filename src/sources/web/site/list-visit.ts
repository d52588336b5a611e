import type { ItemId } from "../../../contracts/ids.ts";
import type { IngestItem } from "../../../contracts/registry.ts";
import type { Departed, Listed, Undecided, Unreadable } from "../../../contracts/source.ts";
import type { Visit } from "../../../contracts/web.ts";
import { pagePath, sightingOf } from "../page-sighting.ts";
import type { SiteMembers } from "./site-members.ts";
import type { SiteScope } from "./site-scope.ts";

/** What a look at a page came to; recalled ones are those of a crawl that was cut off. */
export type PageOutcome = Pick<Visit, "outcome" | "item" | "aliases" | "reason">;

export const OUTSIDE = "it is outside the rules of the source";

/** What the engine is told of a page that was looked at. Members follow. */
export function listVisit(
  { outcome, item, aliases, reason }: PageOutcome,
  scope: SiteScope,
  members: SiteMembers,
): readonly Listed[] {
  switch (outcome) {
    case "new":
    case "changed":
    case "unchanged": {
      if (!scope.has(item.foundSource)) return depart(item, OUTSIDE, members);
      members.keep(item.id);
      return [sightingOf(item), ...departAliases(aliases, item, members)];
    }
    case "missing":
      // Not yet often enough.
      return [undecided(item.id, withoutPeriod(reason)), ...keepAliases(aliases, item, withoutPeriod(reason), members)];
    case "gone":
      return depart(item, withoutPeriod(reason), members);
    case "refused":
      return isWithheld(item)
        ? [undecided(item.id, withoutPeriod(reason))]
        : depart(item, withoutPeriod(reason), members);
    case "failed":
      return [
        unreadable(item.id, item, withoutPeriod(reason)),
        ...keepAliases(aliases, item, withoutPeriod(reason), members),
      ];
  }
}

/** Not shown to us (403, redirects that lead nowhere): passed over, unless the ledger has it and only the registry was lost. */
function isWithheld(item: IngestItem): boolean {
  const { statusCode, robotsAllowed } = item.http;
  return !isDocument(item) && robotsAllowed && statusCode > 300 && statusCode !== 304;
}

export function undecided(itemId: ItemId, reason: string): Undecided {
  return { kind: "undecided", itemId, reason };
}

function unreadable(itemId: ItemId, item: IngestItem, reason: string): Unreadable {
  return { kind: "unreadable", path: pagePath(item), itemId, reason };
}

/** An address that leads elsewhere since a crawl that was cut off: what the index has of it stays until the other is there. */
function keepAliases(
  aliases: readonly ItemId[],
  item: IngestItem,
  reason: string,
  members: SiteMembers,
): readonly Unreadable[] {
  return aliases.filter((id) => id !== item.id && members.has(id)).map((id) => unreadable(id, item, reason));
}

/** For sentences of which it becomes a part. */
export function withoutPeriod(sentence: string): string {
  return sentence.replace(/\.$/, "");
}

/** A page of which nothing was ever here has nothing to leave. */
export function depart(item: IngestItem, reason: string, members: SiteMembers): readonly Departed[] {
  if (!members.has(item.id) && !isDocument(item)) return [];
  members.leave(item.id);
  return [{ kind: "departed", itemId: item.id, reason }];
}

function departAliases(aliases: readonly ItemId[], item: IngestItem, members: SiteMembers): Departed[] {
  const departed = aliases.filter((id) => id !== item.id && members.has(id));
  for (const id of departed) members.leave(id);
  return departed.map((itemId) => ({
    kind: "departed",
    itemId,
    successor: item.id,
    reason: `it is another address of ${item.displaySource}`,
  }));
}

export function isDocument({ content }: IngestItem): boolean {
  return content.contentHash !== "";
}

export function isPresent(outcome: PageOutcome["outcome"]): boolean {
  return outcome === "new" || outcome === "changed" || outcome === "unchanged";
}

/** Nobody was asked, so there is nothing to say of it. What was asked before in vain has failed all the same. */
export function wasDeferred({ isDeferred = false, item }: Pick<Visit, "isDeferred" | "item">): boolean {
  return isDeferred && item.scheduling.failureCount === 0;
}
