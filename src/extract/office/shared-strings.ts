import { scanXml } from "./scan-xml.ts";

/** Texts that cells refer to by number. */
export function readSharedStrings(part: Buffer | undefined): string[] {
  const strings: string[] = [];
  let text = "";
  let inText = false;
  let inReading = false;
  scanXml(part?.toString("utf8") ?? "", {
    open(name) {
      if (name === "si") text = "";
      else if (name === "t") inText = true;
      // How a Japanese text is pronounced, not what it says.
      else if (name === "rPh") inReading = true;
    },
    close(name) {
      if (name === "si") strings.push(text);
      else if (name === "t") inText = false;
      else if (name === "rPh") inReading = false;
    },
    text(part) {
      if (inText && !inReading) text += part;
    },
  });
  return strings;
}
