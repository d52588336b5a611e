import type { ItemId } from "../../../contracts/ids.ts";
import { BELIEVED_AFTER, countMove } from "../../../detect/web/count-looks.ts";
import { type CheckPolicy, hasDocument } from "../../../detect/web/schedule-item.ts";
import type { PageStop } from "./page-stop.ts";
import { PERMANENT, type TrailStop, type Walk } from "./page-walk.ts";

/** A document that leads elsewhere all of a sudden, and not for good. */
export interface DoubtfulMove {
  readonly from: PageStop;
  /** What led to it. */
  readonly before: readonly TrailStop[];
  readonly to: ItemId;
  readonly reason: string;
  readonly statusCode?: number;
}

/**
 * A site that sends everybody to its sign-in page for an hour, or whose template names one page as canonical for all, has not
 * lost its documents: what is not said to be for good has to be said again and again. undefined: nothing is in doubt.
 */
export function findDoubtfulMove({ trail, stop: to }: Walk, policy: CheckPolicy): DoubtfulMove | undefined {
  for (const [at, { stop: from, http }] of trail.entries()) {
    const { statusCode = 0, redirectChain = [] } = http;
    if (!hasDocument(from.item) || PERMANENT.has(statusCode)) continue;
    const { movedCount } = countMove(from.item, to.id, from.look.at, policy);
    if (movedCount >= BELIEVED_AFTER) continue;
    const isRedirect = redirectChain.length > 0;
    const { displaySource } = to.identity;
    const what = isRedirect ? `is redirected to ${displaySource} for now` : `names ${displaySource} as canonical now`;
    const reason = `It ${what} (${movedCount} of ${BELIEVED_AFTER}).`;
    return { from, before: trail.slice(0, at), to: to.id, reason, ...(isRedirect && { statusCode }) };
  }
  return undefined;
}
