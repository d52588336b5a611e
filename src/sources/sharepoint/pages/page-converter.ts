import { readFile, stat } from "node:fs/promises";
import type { Converter } from "../../../contracts/converter.ts";
import { explain } from "../../../contracts/errors.ts";
import { type HtmlNode, parseHtml } from "../../../lib/html.ts";
import { canvasNodes } from "./canvas-nodes.ts";
import { cleanHtml, escapeHtml } from "./clean-html.ts";
import { type PageOriginal, readPageOriginal } from "./page-original.ts";

/** SharePoint refuses to save a page long before this; beyond it, somebody put another file there. */
const MAX_ORIGINAL_BYTES = 32 * 1024 * 1024;
/** Time and memory go by elements, not by bytes. */
const MAX_ELEMENTS = 400_000;

/** Makes of a site page's original the HTML that is embedded. It lies at the same path: `News/Home.aspx.html`. */
export function createPageConverter(): Converter {
  return {
    documentPath: (_item, original) => original,
    originalPath: (_item, document, originals) => (originals.has(document) ? document : undefined),
    async *convert(original, items, signal) {
      const converted = await convertFile(original, signal);
      for (const { itemId } of items) yield { itemId, ...converted };
    },
  };
}

async function convertFile(file: string, signal: AbortSignal): Promise<Outcome> {
  const { size } = await stat(file);
  if (size > MAX_ORIGINAL_BYTES) return { problem: `The page has ${size} bytes, more than ${MAX_ORIGINAL_BYTES}.` };
  return convertPage(await readFile(file, "utf8"), signal);
}

type Outcome = { readonly document: Uint8Array } | { readonly problem: string };

/** Never throws for what is in the page, only when the signal aborts. */
function convertPage(text: string, signal: AbortSignal): Outcome {
  signal.throwIfAborted();
  if (countElements(text) > MAX_ELEMENTS) return { problem: `The page has more than ${MAX_ELEMENTS} elements.` };
  try {
    const page = readPageOriginal(text);
    const check = (): void => signal.throwIfAborted();
    const body = cleanHtml(pageNodes(page, check), { address: page.address, title: page.title, check });
    const document = writeDocument(page, body);
    return document ? { document: Buffer.from(document) } : { problem: "The page has neither a title nor any text." };
  } catch (error) {
    signal.throwIfAborted();
    return { problem: `The page cannot be read: ${explain(error)}` };
  }
}

/** Above the canvas: the banner's texts. */
const BANNER = "LayoutWebpartsContent";
const CANVAS = "CanvasContent1";
/** What a page shows that has no canvas, the older kinds of pages. */
const PLAIN_MARKUP = ["WikiField", "PublishingPageContent"];

/** By their names at the source. */
export const MARKUP_COLUMNS: readonly string[] = [BANNER, CANVAS, ...PLAIN_MARKUP];

function pageNodes({ columns, title }: PageOriginal, check: () => void): HtmlNode[] {
  const context = { pageTitle: title, check };
  const banner = canvasNodes(columns.get(BANNER) ?? "", context);
  const canvas = columns.get(CANVAS) ?? "";
  // A page that was turned into a modern one may keep its old text, which nobody sees any more.
  if (canvas.trim()) return [...banner, ...canvasNodes(canvas, context)];
  return [...banner, ...PLAIN_MARKUP.flatMap((name) => parseHtml(columns.get(name) ?? "", check).root.children)];
}

/** "" when there is nothing to read. */
function writeDocument({ title, description }: PageOriginal, body: string): string {
  const [heading, summary] = [escapeHtml(title.trim()), escapeHtml(description.trim())];
  if (!heading && !summary && !body) return "";
  const parts = [
    `<!doctype html>\n<html>\n<head>\n<meta charset="utf-8">\n<title>${heading}</title>\n</head>\n<body>\n`,
  ];
  if (heading) parts.push(`<h1>${heading}</h1>\n`);
  if (summary && !saysAlready(body, summary)) parts.push(`<p>${summary}</p>\n`);
  parts.push(body, "</body>\n</html>\n");
  return parts.join("");
}

/** Unless somebody writes one, SharePoint makes the description of the first words of the page. */
function saysAlready(body: string, summary: string): boolean {
  const words = (markup: string): string =>
    markup
      .replaceAll(/<[^>]*>/g, " ")
      .replaceAll(/[\s.…]+/g, " ")
      .trim();
  return words(body.slice(0, 20_000)).includes(words(summary));
}

/** Also those that are written as text inside attributes or JSON: they are read as markup later. */
function countElements(text: string): number {
  const opening = /(?:<|&lt;|&#60;|&#x3c;|\\u003c)[a-z]/gi;
  let count = 0;
  while (count <= MAX_ELEMENTS && opening.test(text)) count += 1;
  return count;
}
