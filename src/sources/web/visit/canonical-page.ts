import type { ItemId } from "../../../contracts/ids.ts";
import { BELIEVED_AFTER, countGone } from "../../../detect/web/count-looks.ts";
import { identifyUrl, isSameSite } from "../../../detect/web/web-identity.ts";
import type { VisitorParts } from "./create-page-visitor.ts";
import type { PageWalk, TrailStop, Walk } from "./page-walk.ts";

/**
 * Where the page that a page calls canonical led, when that is to be taken for it; undefined: the page is itself. A page is
 * believed when what it names is of the same site, is there, and calls itself canonical: two that name each other are two.
 */
export async function findCanonical(walk: Walk, from: PageWalk, parts: VisitorParts): Promise<Walk | undefined> {
  const address = await canonicalAddress(walk, parts);
  const id = identityOf(address, parts);
  const { stop } = walk;
  const passed = new Set([stop.id, ...walk.trail.map((each) => each.stop.id)]);
  if (!id || passed.has(id) || !isSameSite(address, stop.url) || !from.isInScope(address)) return undefined;
  const there = await from.walk(await from.stopAt(address), [...walk.trail, asTrailStop(walk)]);
  if (passed.has(there.stop.id)) return undefined;
  return isToBeTaken(there, walk, parts) ? there : undefined;
}

/** As the page says it, or said it when it was last read. */
async function canonicalAddress({ stop, heard }: Walk, { registry }: VisitorParts): Promise<string> {
  const { aliasOf, http } = stop.item;
  // Markdown that was taken for a page's document does not say whose it is.
  if (heard.kind === "read") return heard.canonical || (aliasOf !== "" && !heard.isHtml ? http.canonicalUrl : "");
  if (heard.kind !== "unchanged" || aliasOf === "") return "";
  return (await registry.get(aliasOf))?.item.foundSource ?? "";
}

function identityOf(address: string, { rules }: VisitorParts): ItemId | undefined {
  try {
    return address === "" ? undefined : identifyUrl(address, rules).id;
  } catch {
    return undefined;
  }
}

function asTrailStop({ stop, heard }: Walk): TrailStop {
  if (heard.kind === "read") return { stop, http: heard.http, content: heard.content };
  return { stop, http: heard.kind === "unchanged" ? heard.http : {} };
}

function isToBeTaken({ stop, heard }: Walk, { stop: before }: Walk, parts: VisitorParts): boolean {
  switch (heard.kind) {
    case "read":
      return heard.noindex === "" && (identityOf(heard.canonical, parts) ?? stop.id) === stop.id;
    case "unchanged":
      return !heard.noindex && stop.item.status !== "OutOfScope";
    case "fresh":
      return stop.item.status !== "OutOfScope" && stop.item.status !== "Gone" && stop.item.content.contentHash !== "";
    case "missing":
      // What has been one item does not become two because of one answer.
      return (
        before.item.aliasOf === stop.id && countGone(stop.item, stop.look.at, parts.policy).goneCount < BELIEVED_AFTER
      );
    case "refused":
      return false;
    case "failed":
      return true;
  }
}
