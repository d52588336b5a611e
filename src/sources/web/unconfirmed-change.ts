import type { IngestItem } from "../../contracts/registry.ts";
import type { Likeness, VisitOptions } from "../../contracts/web.ts";
import { plural } from "../../lib/plural.ts";
import { type CheckPolicy, hasDocument } from "../../plan/web/item-state.ts";
import { BELIEVED_AFTER, countMove } from "../../plan/web/item-transitions.ts";
import { findLikenesses } from "../../plan/web/shared-text.ts";
import { type Heard, PERMANENT, type TrailStop, type Walk } from "./fetch-page.ts";
import type { VisitorParts } from "./page-visitor.ts";
import type { PageReading } from "./read-page.ts";
import type { PageRefusal, PageStop } from "./request-page.ts";

/** A document in whose place something else is all of a sudden. */
export interface DoubtfulMove {
  readonly from: PageStop;
  /** What led to it. */
  readonly before: readonly TrailStop[];
  /** Another item, or a word for what it is. */
  readonly to: string;
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

/** A document that is refused for what is there now, and may be back tomorrow. undefined: nothing is in doubt. */
export function findDoubtfulRefusal(
  { trail }: Walk,
  subject: PageStop,
  { instead, reason, http }: PageRefusal,
  policy: CheckPolicy,
): DoubtfulMove | undefined {
  const { item } = subject;
  if (instead === undefined || !(hasDocument(item) || item.aliasOf !== "")) return undefined;
  return doubt(trail, subject, { to: instead, reason, statusCode: http?.statusCode }, policy);
}

/** A document of another type, or of none: an answer for an hour, or what the page is from now on. undefined: nothing is in doubt. */
export function findDoubtfulReading(walk: Walk, policy: CheckPolicy): DoubtfulMove | undefined {
  const { trail, stop, heard } = walk;
  if (heard.kind !== "read") return undefined;
  const subject = trail.find((each) => hasDocument(each.stop.item))?.stop ?? stop;
  const other = hasDocument(subject.item) ? otherThan(subject.item, heard) : undefined;
  return other && doubt(trail, subject, { ...other, statusCode: heard.http.statusCode }, policy);
}

/** A document that shows what another address of its path shows. undefined: nothing is in doubt. */
export function findDoubtfulTwin(
  { trail, stop, heard }: Walk,
  { displaySource }: IngestItem,
  policy: CheckPolicy,
): DoubtfulMove | undefined {
  if (!hasDocument(stop.item)) return undefined;
  const statusCode = "http" in heard ? heard.http?.statusCode : undefined;
  return doubt(trail, stop, { to: "twin", reason: `It shows the same as ${displaySource} now.`, statusCode }, policy);
}

/** A document that shows what many others show all of a sudden. undefined: nothing is in doubt. */
function findDoubtfulShare(
  { trail, stop }: Walk,
  from: PageStop,
  reason: string,
  policy: CheckPolicy,
): DoubtfulMove | undefined {
  const isKnown = hasDocument(from.item) || from.item.aliasOf !== "";
  return isKnown
    ? doubt(trail, from, { to: from === stop ? "shared" : stop.id, reason, statusCode: 200 }, policy)
    : undefined;
}

function otherThan(
  { content: known }: IngestItem,
  { content, document, page }: PageReading,
): { readonly to: string; readonly reason: string } | undefined {
  if (content.contentHash === known.contentHash) return undefined;
  const text = page ? page.markdown.replace(/^# .*/, "").trim() : document;
  if (text.length === 0) return { to: "blank", reason: "There is nothing to read in it now." };
  if (known.documentType === "" || content.documentType === known.documentType) return undefined;
  return { to: "type", reason: `It is ${content.mimeType || content.documentType} now, and was ${known.mimeType}.` };
}

function doubt(
  trail: readonly TrailStop[],
  from: PageStop,
  { to, reason, statusCode }: { readonly to: string; readonly reason: string; readonly statusCode: number | undefined },
  policy: CheckPolicy,
): DoubtfulMove | undefined {
  const { movedCount } = countMove(from.item, to, from.look.at, policy);
  if (movedCount >= BELIEVED_AFTER) return undefined;
  const at = trail.findIndex(({ stop }) => stop === from);
  const before = at < 0 ? trail : trail.slice(0, at);
  const told = `${reason.replace(/\.$/, "")} (${movedCount} of ${BELIEVED_AFTER}).`;
  return { from, before, to, reason: told, ...(statusCode !== undefined && { statusCode }) };
}

/** What has more to say is no notice. */
const MAX_NOTICE_BYTES = 1024 * 1024;

/**
 * What many pages show that used to differ is a notice for an hour (maintenance, consent, a parked domain), or what they say from now on:
 * after three checks it is taken. undefined: it is no such page, or it is believed.
 */
export async function judgeShared(
  walk: Walk,
  heard: Heard,
  parts: VisitorParts,
  { sharedBy }: Pick<VisitOptions, "sharedBy">,
): Promise<DoubtfulMove | "unsettled" | undefined> {
  const { stop, trail } = walk;
  const subject = trail.find((each) => hasDocument(each.stop.item))?.stop ?? stop;
  const likenesses = sharedBy ? await likenessesOf(subject, stop, heard, parts) : [];
  const count = likenesses.length > 0 ? sharedBy?.(subject.id, likenesses) : 0;
  if (count === 0) return undefined;
  if (count === undefined) return "unsettled";
  const reason = `It shows the same as ${plural(count - 1, "other page")} that used to differ.`;
  return findDoubtfulShare(walk, subject, reason, parts.policy);
}

async function likenessesOf(
  subject: PageStop,
  stop: PageStop,
  heard: Heard,
  { documents }: VisitorParts,
): Promise<Likeness[]> {
  const { content, aliasOf } = subject.item;
  const isMoved = subject !== stop;
  const shown = heard.kind === "read" ? heard.content : stop.item.content;
  if (shown.textHash === content.textHash || (heard.kind !== "read" && !isMoved)) return [];
  const mark = content.textHash || content.contentHash || aliasOf;
  const led = isMoved ? [{ now: stop.id, before: mark }] : [];
  if (heard.kind !== "read") return led;
  if (!heard.page || heard.raw.bytes.length > MAX_NOTICE_BYTES) return [];
  const { markdown, language } = heard.page;
  const before = await documents.get(subject.id, content.contentHash);
  if (before && before.length > MAX_NOTICE_BYTES) return [];
  const known = before && { markdown: Buffer.from(before).toString(), language: content.language, url: subject.url };
  const likenesses = findLikenesses({ markdown, language, url: stop.url }, known ?? mark, subject.look.at);
  return likenesses.length > 0 ? [...led, ...likenesses] : [];
}
