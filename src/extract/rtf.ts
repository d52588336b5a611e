import { ExtractError } from "../contracts/document.ts";
import type { ReadText } from "./formats.ts";
import { firstHeading } from "./markdown.ts";
import { RtfDocument } from "./rtf/rtf-document.ts";
import { scanRtf } from "./rtf/scan-rtf.ts";

export function extractRtf(bytes: Buffer): ReadText {
  const rtf = bytes.toString("latin1");
  if (!/^\s*\{\\rtf/.test(rtf.slice(0, 100))) {
    throw new ExtractError("invalid_file", "The file is not a Rich Text document.");
  }
  const document = new RtfDocument();
  scanRtf(rtf, document);
  const { markdown } = document;
  return { title: document.title.trim() || firstHeading(markdown), markdown };
}
