import { builtInFormat } from "./format-number.ts";
import { attribute, scanXml } from "./scan-xml.ts";

/** The code of the number format, by the style of a cell. */
export function readCellFormats(styles: Buffer | undefined): string[] {
  const custom = new Map<number, string>();
  const formats: string[] = [];
  let inCells = false;
  scanXml(styles?.toString("utf8") ?? "", {
    open(name, attributes) {
      if (name === "numFmt")
        custom.set(Number(attribute(attributes, "numFmtId")), attribute(attributes, "formatCode").slice(0, 255));
      else if (name === "cellXfs") inCells = true;
      else if (name === "xf" && inCells) {
        const id = Number(attribute(attributes, "numFmtId"));
        formats.push(custom.get(id) ?? builtInFormat(id));
      }
    },
    close(name) {
      if (name === "cellXfs") inCells = false;
    },
  });
  return formats;
}
