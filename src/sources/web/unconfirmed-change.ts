import type { IngestItem } from "../../contracts/registry.ts";
import type { TextChange, VisitOptions } from "../../contracts/web.ts";
import { plural } from "../../lib/text.ts";
import { type CheckPolicy, hasDocument } from "../../plan/web/item-state.ts";
import { CONFIRMATIONS, countMove } from "../../plan/web/item-transitions.ts";
import { findTextChanges } from "../../plan/web/shared-text.ts";
import { type PageResult, PERMANENT, type RedirectChain, type RedirectHop } from "./fetch-page.ts";
import type { PageReading } from "./read-page.ts";
import type { PageRefusal, ResolvedUrl, VisitorParts } from "./request-page.ts";

/** A document that was replaced by something else, which later visits have to confirm. */
export interface UnconfirmedChange {
  readonly from: ResolvedUrl;
  /** Redirects that led to it. */
  readonly before: readonly RedirectHop[];
  /** Id of another item, or a word such as `type`. */
  readonly to: string;
  readonly reason: string;
  readonly statusCode?: number;
}

/**
 * A temporary redirect or a canonical link away from a document. A site that redirects everything to its sign-in page for an hour, or
 * whose template names one page as canonical for all, has not lost its documents. undefined: nothing to confirm.
 */
export function findUnconfirmedMove(
  { hops, resolved: to }: RedirectChain,
  policy: CheckPolicy,
): UnconfirmedChange | undefined {
  for (const [at, { resolved: from, http }] of hops.entries()) {
    const { statusCode = 0, redirectChain = [] } = http;
    if (!hasDocument(from.item) || PERMANENT.has(statusCode)) continue;
    const { movedCount } = countMove(from.item, to.id, from.context.at, policy);
    if (movedCount >= CONFIRMATIONS) continue;
    const isRedirect = redirectChain.length > 0;
    const { displaySource } = to.identity;
    const what = isRedirect ? `is redirected to ${displaySource} for now` : `names ${displaySource} as canonical now`;
    const reason = `It ${what} (${movedCount} of ${CONFIRMATIONS}).`;
    return { from, before: hops.slice(0, at), to: to.id, reason, ...(isRedirect && { statusCode }) };
  }
  return undefined;
}

/** A document replaced by content that is refused. undefined: nothing to confirm. */
export function findUnconfirmedRefusal(
  { hops }: RedirectChain,
  subject: ResolvedUrl,
  { instead, reason, http }: PageRefusal,
  policy: CheckPolicy,
): UnconfirmedChange | undefined {
  const { item } = subject;
  if (instead === undefined || !(hasDocument(item) || item.aliasOf !== "")) return undefined;
  return unconfirmed(hops, subject, { to: instead, reason, statusCode: http?.statusCode }, policy);
}

/** A document of another type, or an empty one. undefined: nothing to confirm. */
export function findUnconfirmedContent(chain: RedirectChain, policy: CheckPolicy): UnconfirmedChange | undefined {
  const { hops, resolved, result } = chain;
  if (result.kind !== "read") return undefined;
  const subject = hops.find((hop) => hasDocument(hop.resolved.item))?.resolved ?? resolved;
  const other = hasDocument(subject.item) ? otherThan(subject.item, result) : undefined;
  return other && unconfirmed(hops, subject, { ...other, statusCode: result.http.statusCode }, policy);
}

/** A document that now equals another URL of its path. undefined: nothing to confirm. */
export function findUnconfirmedDuplicate(
  { hops, resolved, result }: RedirectChain,
  { displaySource }: IngestItem,
  policy: CheckPolicy,
): UnconfirmedChange | undefined {
  if (!hasDocument(resolved.item)) return undefined;
  const statusCode = "http" in result ? result.http?.statusCode : undefined;
  return unconfirmed(
    hops,
    resolved,
    { to: "twin", reason: `It shows the same as ${displaySource} now.`, statusCode },
    policy,
  );
}

/** A document that now shows the same text as many others. undefined: nothing to confirm. */
function findUnconfirmedText(
  { hops, resolved }: RedirectChain,
  from: ResolvedUrl,
  reason: string,
  policy: CheckPolicy,
): UnconfirmedChange | undefined {
  const isKnown = hasDocument(from.item) || from.item.aliasOf !== "";
  return isKnown
    ? unconfirmed(hops, from, { to: from === resolved ? "shared" : resolved.id, reason, statusCode: 200 }, policy)
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

function unconfirmed(
  hops: readonly RedirectHop[],
  from: ResolvedUrl,
  { to, reason, statusCode }: { readonly to: string; readonly reason: string; readonly statusCode: number | undefined },
  policy: CheckPolicy,
): UnconfirmedChange | undefined {
  const { movedCount } = countMove(from.item, to, from.context.at, policy);
  if (movedCount >= CONFIRMATIONS) return undefined;
  const at = hops.findIndex(({ resolved }) => resolved === from);
  const before = at < 0 ? hops : hops.slice(0, at);
  const counted = `${reason.replace(/\.$/, "")} (${movedCount} of ${CONFIRMATIONS}).`;
  return { from, before, to, reason: counted, ...(statusCode !== undefined && { statusCode }) };
}

/** Longer texts are not compared. */
const MAX_NOTICE_BYTES = 1024 * 1024;

/**
 * If many pages that used to differ show one text, it is a notice (maintenance, consent, a parked domain), or their new content:
 * after three visits it is accepted. undefined: not such a text, or confirmed.
 */
export async function judgeShared(
  chain: RedirectChain,
  result: PageResult,
  parts: VisitorParts,
  { countSharedText }: Pick<VisitOptions, "countSharedText">,
): Promise<UnconfirmedChange | "unsettled" | undefined> {
  const { resolved, hops } = chain;
  const subject = hops.find((hop) => hasDocument(hop.resolved.item))?.resolved ?? resolved;
  const textChanges = countSharedText ? await textChangesOf(subject, resolved, result, parts) : [];
  const count = textChanges.length > 0 ? countSharedText?.(subject.id, textChanges) : 0;
  if (count === 0) return undefined;
  if (count === undefined) return "unsettled";
  const reason = `It shows the same as ${plural(count - 1, "other page")} that used to differ.`;
  return findUnconfirmedText(chain, subject, reason, parts.policy);
}

async function textChangesOf(
  subject: ResolvedUrl,
  resolved: ResolvedUrl,
  result: PageResult,
  { documents }: VisitorParts,
): Promise<TextChange[]> {
  const { content, aliasOf } = subject.item;
  const isMoved = subject !== resolved;
  const shown = result.kind === "read" ? result.content : resolved.item.content;
  if (shown.textHash === content.textHash || (result.kind !== "read" && !isMoved)) return [];
  const previous = content.textHash || content.contentHash || aliasOf;
  const moved = isMoved ? [{ now: resolved.id, before: previous }] : [];
  if (result.kind !== "read") return moved;
  if (!result.page || result.raw.bytes.length > MAX_NOTICE_BYTES) return [];
  const { markdown, language } = result.page;
  const before = await documents.get(subject.id, content.contentHash);
  if (before && before.length > MAX_NOTICE_BYTES) return [];
  const known = before && { markdown: Buffer.from(before).toString(), language: content.language, url: subject.url };
  const textChanges = findTextChanges({ markdown, language, url: resolved.url }, known ?? previous, subject.context.at);
  return textChanges.length > 0 ? [...moved, ...textChanges] : [];
}
