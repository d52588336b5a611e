import { ExtractError, type ExtractedDocument } from "../contracts/document.ts";
import type { Deadline } from "./deadline.ts";
import { firstHeading } from "./markdown.ts";
import { pageLines } from "./pdf/page-lines.ts";
import { pdfMarkdown } from "./pdf/pdf-markdown.ts";
import { readPdf } from "./pdf/read-pdf.ts";

export async function extractPdf(bytes: Uint8Array, deadline: Deadline): Promise<ExtractedDocument> {
  const { title, pages } = await readPdf(bytes, deadline);
  const lines = pages.map(pageLines);
  if (!lines.some((page) => page.length > 0)) {
    throw new ExtractError("invalid_file", "The PDF has no text: its pages are probably scanned images.");
  }
  const markdown = pdfMarkdown(lines);
  return { title: isTelling(title) ? title : firstHeading(markdown), markdown };
}

/** Printer drivers put file names there: "Microsoft Word - Brief.doc", "untitled". */
function isTelling(title: string): boolean {
  return title !== "" && title.length <= 300 && !/^(?:microsoft \w+ - |untitled|unbenannt)|\.\w{2,4}$/i.test(title);
}
