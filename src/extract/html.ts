import { parseHtml } from "../lib/html/parse-html.ts";
import { declaredEncoding } from "./declared-encoding.ts";
import { decodeText } from "./decode-text.ts";
import type { ReadText } from "./formats.ts";
import { htmlToMarkdown } from "./html/html-to-markdown.ts";
import { chooseContent } from "./html/page-content.ts";
import { revealOpenable } from "./html/reveal-openable.ts";
import { firstHeading } from "./markdown.ts";

export function extractHtml(bytes: Uint8Array): ReadText {
  const page = parseHtml(decodeText(bytes, declaredEncoding(bytes)), () => undefined);
  revealOpenable(page.root);
  const markdown = htmlToMarkdown(chooseContent(page.root));
  return { title: page.title || firstHeading(markdown), markdown };
}
