import type { ItemId } from "../../../contracts/ids.ts";
import type { Registry } from "../../../contracts/registry.ts";
import type { Listed } from "../../../contracts/source.ts";
import type { HostPatience } from "./host-patience.ts";
import { asPart, depart, type LookedAt, OUTSIDE, undecided, wasLeftAlone } from "./list-visit.ts";
import { type SiteMembers, UNLINKED_LIMIT } from "./site-members.ts";
import type { SiteScope } from "./site-scope.ts";
import type { SiteVisits } from "./site-visits.ts";

export interface UnlinkedTools {
  readonly members: SiteMembers;
  readonly registry: Registry;
  readonly scope: SiteScope;
  readonly visits: SiteVisits;
  readonly patience: HostPatience;
  /** Everything else was looked at, so that nobody links to it is certain. */
  readonly isComplete: boolean;
  readonly list: (looked: LookedAt) => readonly Listed[];
}

/** The next look while so many are under way; undefined: none for now. */
export type NextLook = (running: number) => (() => Promise<readonly Listed[]>) | undefined;

const UNLINKED = `no page has linked to it in ${UNLINKED_LIMIT} complete crawls`;

/** Items of the source that no page links to: are they still there, and for how much longer do they stay? What fails, or is not settled, is looked at twice. */
export async function* lookAtUnlinked(
  ids: ItemId[],
  handOver: (next: NextLook) => AsyncGenerator<readonly Listed[]>,
  tools: UnlinkedTools,
): AsyncGenerator<readonly Listed[]> {
  const failed: ItemId[] = [];
  for (const [left, again] of [[ids, failed], [failed]] as const) {
    yield* handOver(() => {
      const id = left.pop();
      return id && (() => lookAt(id, tools, again));
    });
  }
}

/** `again`: where it waits for another try if it fails. */
async function lookAt(id: ItemId, tools: UnlinkedTools, again?: ItemId[]): Promise<readonly Listed[]> {
  const { members, scope, patience } = tools;
  const known = (await tools.registry.get(id))?.item;
  if (!known) return judgeLost(id, tools);
  if (!scope.has(known.foundSource)) return depart(known, OUTSIDE, members);
  if (patience.hasGivenUp(known.foundSource)) {
    patience.passOver(known.foundSource);
    return [];
  }
  const visit = await tools.visits.visitMember(known, { isLast: !again });
  patience.note(known.foundSource, visit);
  if ((visit.isHostTrouble || visit.settle) && again) {
    again.push(id);
    return [];
  }
  if (wasLeftAlone(visit)) {
    patience.passOver(known.foundSource, asPart(visit.reason));
    return [];
  }
  const unlinked = members.unlinkedCount(id);
  // By today's rules its address may be another item's: then that is its successor.
  const listed = tools.list({ ...visit, aliases: [...visit.aliases, id] });
  const isThere = visit.item.id === id && visit.outcome !== "missing" && listed.some(({ kind }) => kind === "sighting");
  if (!isThere) return listed;
  members.keep(id, { unlinked });
  if (isTimeOver(id, tools)) return depart(visit.item, UNLINKED, members);
  if (tools.isComplete) members.noteUnlinked(id);
  return listed;
}

/** A registry that was lost or is an older one knows nothing of it, and a page that links to it would have told. */
function judgeLost(id: ItemId, tools: UnlinkedTools): readonly Listed[] {
  if (isTimeOver(id, tools)) {
    tools.members.remove(id);
    return [{ kind: "departed", itemId: id, reason: UNLINKED }];
  }
  if (tools.isComplete) tools.members.noteUnlinked(id);
  return [undecided(id, "the registry knows nothing of it")];
}

function isTimeOver(id: ItemId, { members, isComplete }: UnlinkedTools): boolean {
  return isComplete && members.unlinkedCount(id) + 1 >= UNLINKED_LIMIT;
}
