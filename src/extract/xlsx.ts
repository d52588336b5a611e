import { ExtractError } from "../contracts/document.ts";
import type { ByteSource } from "./byte-source.ts";
import type { ReadText } from "./formats.ts";
import type { ExtractLimits } from "./limits.ts";
import { readCellFormats } from "./office/cell-formats.ts";
import { coreTitle } from "./office/core-title.ts";
import { type OfficePackage, readPackage } from "./office/read-package.ts";
import { readRelationships } from "./office/relationships.ts";
import { attribute, scanXml } from "./office/scan-xml.ts";
import { readSharedStrings } from "./office/shared-strings.ts";
import { readSheetRows } from "./office/sheet-rows.ts";
import { leftOutNote, recordBlocks } from "./record-blocks.ts";

interface Sheet {
  readonly name: string;
  readonly part: string;
}

/** One section per sheet, in their order; each row is a line with the names of its columns. Hidden sheets are left out. */
export function extractXlsx(source: ByteSource, { maxUnpackedBytes, maxRows }: ExtractLimits): ReadText {
  const kind = {
    name: "an Excel workbook",
    folders: /^xl\/(?:_rels\/|workbook\.xml$|worksheets\/|sharedStrings\.xml$|styles\.xml$)/i,
    maxBytes: maxUnpackedBytes,
  };
  const file = readPackage(source, kind);
  const { sheets, since1904 } = readSheets(file);
  if (sheets.length === 0) throw new ExtractError("invalid_file", "The workbook has no sheets that are shown.");
  const workbook = {
    strings: readSharedStrings(partOf(file, "sharedStrings")),
    formats: readCellFormats(partOf(file, "styles")),
    since1904,
  };
  const blocks: string[] = [];
  for (const { name, part } of sheets) {
    const { rows, leftOut } = readSheetRows(file.parts.get(part)?.toString("utf8") ?? "", workbook, maxRows);
    const records = recordBlocks(rows);
    if (records.length > 0) blocks.push(`## ${name}`, ...records);
    if (leftOut > 0) blocks.push(leftOutNote(leftOut));
  }
  return { title: coreTitle(file.parts.get("docProps/core.xml")), markdown: blocks.join("\n\n") };
}

function partOf({ parts, main }: OfficePackage, type: string): Buffer | undefined {
  const found = [...readRelationships(parts, main).values()].find((each) => each.type === type);
  return found && parts.get(found.target);
}

function readSheets({ parts, main }: OfficePackage): { sheets: Sheet[]; since1904: boolean } {
  const relationships = readRelationships(parts, main);
  const sheets: Sheet[] = [];
  let since1904 = false;
  scanXml(parts.get(main)?.toString("utf8") ?? "", {
    open(name, attributes) {
      if (name === "workbookPr") since1904 = /^(?:1|true)$/.test(attribute(attributes, "date1904"));
      if (name !== "sheet" || /hidden/i.test(attribute(attributes, "state"))) return;
      const target = relationships.get(attribute(attributes, "r:id"));
      if (target?.type !== "worksheet" || !parts.has(target.target)) return;
      const title = attribute(attributes, "name")
        .replaceAll(/[\s\p{Cc}]+/gu, " ")
        .trim();
      sheets.push({ name: title || `Sheet ${sheets.length + 1}`, part: target.target });
    },
    close: () => undefined,
  });
  return { sheets, since1904 };
}
