import type { ExtractedDocument } from "../contracts/document.ts";
import { parseHtml } from "../lib/html/parse-html.ts";
import type { Deadline } from "./deadline.ts";
import { decodeText } from "./decode-text.ts";
import { guardElements } from "./guard-elements.ts";
import { htmlToMarkdown } from "./html/html-to-markdown.ts";
import { chooseContent } from "./html/page-content.ts";
import { firstHeading } from "./markdown.ts";

/** Browsers look for the declaration in the first kilobyte; generators with long comments need more. */
const DECLARATION_BYTES = 8192;

export async function extractHtml(
  bytes: Uint8Array,
  limits: { readonly maxElements: number },
  deadline: Deadline,
): Promise<ExtractedDocument> {
  const html = decodeText(bytes, declaredEncoding(bytes));
  guardElements(html, limits.maxElements);
  await deadline.breathe();
  const page = parseHtml(html, deadline.check);
  await deadline.breathe();
  const markdown = htmlToMarkdown(chooseContent(page.root), deadline.check);
  return { title: page.title || firstHeading(markdown), markdown };
}

function declaredEncoding(bytes: Uint8Array): string {
  const head = Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(bytes.length, DECLARATION_BYTES)).toString(
    "latin1",
  );
  const meta = /<meta[^>]{0,500}?charset\s{0,9}=\s{0,9}["']?([\w:.-]{1,40})/i.exec(head);
  const xml = /^<\?xml[^>]{0,200}?encoding\s{0,9}=\s{0,9}["']([\w.-]{1,40})/i.exec(head);
  return meta?.[1] ?? xml?.[1] ?? "";
}
