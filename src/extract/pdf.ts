import { ExtractError } from "../contracts/document.ts";
import type { ReadText } from "./formats.ts";
import type { ExtractLimits } from "./limits.ts";
import { firstHeading } from "./markdown.ts";
import { pageLines } from "./pdf/page-lines.ts";
import { pdfMarkdown } from "./pdf/pdf-markdown.ts";
import { readPdf } from "./pdf/read-pdf.ts";

export async function extractPdf(bytes: Buffer, { maxPages }: ExtractLimits): Promise<ReadText> {
  const { title, pages, leftOut } = await readPdf(bytes, maxPages);
  const lines = pages.map(pageLines);
  if (lines.length === 0) throw new ExtractError("invalid_file", "The PDF has no pages.");
  if (!lines.some((page) => page.length > 0)) {
    throw new ExtractError("invalid_file", "The PDF has no text: its pages are probably scanned images.");
  }
  const note = leftOut > 0 ? `\n\n(${leftOut} more pages are left out: the document is too long.)` : "";
  const markdown = pdfMarkdown(lines) + note;
  return { title: isTelling(title) ? title : firstHeading(markdown), markdown };
}

/** Printer drivers put file names there: "Microsoft Word - Brief.doc", "untitled". */
function isTelling(title: string): boolean {
  return title !== "" && title.length <= 300 && !/^(?:microsoft \w+ - |untitled|unbenannt)|\.\w{2,4}$/i.test(title);
}
