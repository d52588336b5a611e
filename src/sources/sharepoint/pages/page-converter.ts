import { readFile, stat } from "node:fs/promises";
import type { Converter } from "../../../contracts/converter.ts";
import { explain } from "../../../contracts/errors.ts";
import { type HtmlNode, parseHtml } from "../../../lib/html.ts";
import { canvasNodes } from "./canvas-nodes.ts";
import { cleanHtml, escapeHtml } from "./clean-html.ts";
import { type PageOriginal, readPageOriginal } from "./page-original.ts";

/** SharePoint saves no page of this size; a larger file is no page. */
const MAX_ORIGINAL_BYTES = 32 * 1024 * 1024;
/** Time and memory depend on the number of elements, not bytes. */
const MAX_ELEMENTS = 400_000;

/** Converts the original of a site page to the HTML that is embedded, at the same path: `News/Home.aspx.html`. */
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

/** Reports problems of the page as a value; throws only when the signal aborts. */
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

/** The banner above the canvas. */
const BANNER = "LayoutWebpartsContent";
const CANVAS = "CanvasContent1";
/** Columns of older pages without a canvas. */
const PLAIN_MARKUP = ["WikiField", "PublishingPageContent"];

/** Names of the columns in SharePoint. */
export const MARKUP_COLUMNS: readonly string[] = [BANNER, CANVAS, ...PLAIN_MARKUP];

function pageNodes({ columns, title }: PageOriginal, check: () => void): HtmlNode[] {
  const context = { pageTitle: title, check };
  const banner = canvasNodes(columns.get(BANNER) ?? "", context);
  const canvas = columns.get(CANVAS) ?? "";
  // A page converted to a modern one may still have its old text, which is no longer displayed.
  if (canvas.trim()) return [...banner, ...canvasNodes(canvas, context)];
  return [...banner, ...PLAIN_MARKUP.flatMap((name) => parseHtml(columns.get(name) ?? "", check).root.children)];
}

/** Returns "" if there is nothing to read. */
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

/** Whether the body contains the summary: by default, SharePoint's description is the first words of the page. */
function saysAlready(body: string, summary: string): boolean {
  const words = (markup: string): string =>
    markup
      .replaceAll(/<[^>]*>/g, " ")
      .replaceAll(/[\s.…]+/g, " ")
      .trim();
  return words(body.slice(0, 20_000)).includes(words(summary));
}

/** Also counts elements escaped in attributes or JSON: they are parsed later. */
function countElements(text: string): number {
  const opening = /(?:<|&lt;|&#60;|&#x3c;|\\u003c)[a-z]/gi;
  let count = 0;
  while (count <= MAX_ELEMENTS && opening.test(text)) count += 1;
  return count;
}
