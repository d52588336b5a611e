import type { Likeness, VisitOptions } from "../../../contracts/web.ts";
import { hasDocument } from "../../../detect/web/schedule-item.ts";
import { findLikenesses } from "../../../detect/web/shared-text.ts";
import { plural } from "../../../lib/plural.ts";
import type { VisitorParts } from "./create-page-visitor.ts";
import { type DoubtfulMove, findDoubtfulShare } from "./doubtful-move.ts";
import type { PageStop } from "./page-stop.ts";
import type { Heard, Walk } from "./page-walk.ts";

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
