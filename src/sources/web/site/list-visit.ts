import type { ItemId } from "../../../contracts/ids.ts";
import type { IngestItem } from "../../../contracts/registry.ts";
import type { Departed, Listed, Undecided, Unreadable } from "../../../contracts/source.ts";
import type { Visit } from "../../../contracts/web.ts";
import { pagePath, sightingOf } from "../page-sighting.ts";
import type { SiteMembers } from "./site-members.ts";
import type { SiteScope } from "./site-scope.ts";

/** The result of a visit, or of a visit of the interrupted crawl. */
export type PageOutcome = Pick<Visit, "outcome" | "item" | "aliases" | "reason">;

export const OUTSIDE = "it is outside the rules of the source";

/** Returns what is listed for a visited page, and updates the members. */
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
      // Missing, but not often enough to count as gone.
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

/** Whether the server withholds the page (403, redirects without target). It is undecided: the ledger may have it while only the registry was lost. */
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

/** Lists aliases as unreadable while their target is missing or fails: what is indexed of them stays until the target is there. */
function keepAliases(
  aliases: readonly ItemId[],
  item: IngestItem,
  reason: string,
  members: SiteMembers,
): readonly Unreadable[] {
  return aliases.filter((id) => id !== item.id && members.has(id)).map((id) => unreadable(id, item, reason));
}

/** Removes the final period, for use inside another sentence. */
export function withoutPeriod(sentence: string): string {
  return sentence.replace(/\.$/, "");
}

/** Returns nothing for a page that was never indexed. */
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

/** Whether the visit was postponed without a request, so there is nothing to report. Earlier failures still count as failed. */
export function wasDeferred({ isDeferred = false, item }: Pick<Visit, "isDeferred" | "item">): boolean {
  return isDeferred && item.scheduling.failureCount === 0;
}
