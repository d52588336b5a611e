import type { TextChange } from "../../contracts/web.ts";
import { textDigest } from "../../lib/hash.ts";
import { similarityOf, sketchText } from "../lineage/text-similarity.ts";
import { LINK_TARGETS, undatedText } from "./dated-pages.ts";

export interface ShownText {
  readonly markdown: string;
  readonly language: string;
  readonly url: string;
}

/** Texts with a lower similarity are different texts. */
const SAME_TEXT = 0.5;
const REQUEST_ID = /(?=[\w-]{0,64}\d)[\w-]{8,}/g;
const CLOCK = /\d\d?:\d\d(?::\d\d)?(?:[.,]\d+)?/g;

/**
 * Returns digests by which pages with the same notice can be found. The same parts are removed from both texts, so that
 * pages that differed only in those still do. [] if the text is mostly unchanged. `before` may be a digest.
 */
export function findTextChanges(shown: ShownText, before: ShownText | string, at: Date): TextChange[] {
  if (typeof before === "string") return [{ now: comparable(shown, at), before }];
  if (similarityOf(sketchText(shown.markdown), sketchText(before.markdown)) >= SAME_TEXT) return [];
  const likenesses = [comparable, comparableBody].map((of) => ({ now: of(shown, at), before: of(before, at) }));
  return likenesses.filter((each) => each.now !== "" && each.now !== each.before);
}

/** Digest of the text without times, ids and its own URL. */
function comparable({ markdown, language, url }: ShownText, at: Date): string {
  const { pathname } = new URL(url);
  const shown = markdown.replaceAll(LINK_TARGETS, "] ");
  const text = shown.replaceAll(url, " ").replaceAll(pathname === "/" ? url : pathname, " ");
  return digest(text.replaceAll(CLOCK, " ").replaceAll(REQUEST_ID, " "), language, at);
}

/** Digest without title and numbers. */
function comparableBody({ markdown, language }: ShownText, at: Date): string {
  return digest(markdown.replace(/^# .*/, "").replaceAll(/\S{0,200}\d\S{0,200}/g, " "), language, at);
}

function digest(text: string, language: string, at: Date): string {
  const words = undatedText(text, language, [at.getUTCFullYear(), at.getUTCMonth() + 1, at.getUTCDate()]);
  return words === "" ? "" : textDigest(words);
}
