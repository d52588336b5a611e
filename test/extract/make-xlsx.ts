import { makePackage, properties, type Relation, relations } from "./make-package.ts";

/** A text, a number with its format, nothing, or a cell of its own. */
export type CellRecipe = string | number | readonly [value: number, format: string] | null | { readonly xml: string };

export interface SheetRecipe {
  readonly name: string;
  readonly rows: readonly (readonly CellRecipe[])[];
  readonly merges?: readonly string[];
  readonly state?: "hidden" | "veryHidden";
}

/** Texts are shared, as Excel writes them. */
export function makeXlsx(sheets: readonly SheetRecipe[], { title = "", date1904 = false } = {}): Buffer {
  const strings: string[] = [];
  const formats = ["General"];
  const parts: Record<string, string> = { "docProps/core.xml": properties(title) };
  for (const [at, sheet] of sheets.entries()) {
    const rows = sheet.rows.map((row, r) => {
      const cells = row.map((cell, c) => cellXml(cell, `${letters(c)}${r + 1}`, strings, formats));
      return row.length ? `<row r="${r + 1}">${cells.join("")}</row>` : "";
    });
    const merges = (sheet.merges ?? []).map((ref) => `<mergeCell ref="${ref}"/>`).join("");
    parts[`xl/worksheets/sheet${at + 1}.xml`] =
      `<worksheet><sheetData>${rows.join("")}</sheetData><mergeCells>${merges}</mergeCells></worksheet>`;
  }
  const list = sheets.map(
    ({ name, state = "visible" }, at) =>
      `<sheet name="${name}" sheetId="${at + 1}" state="${state}" r:id="rId${at + 1}"/>`,
  );
  parts["xl/workbook.xml"] =
    `<workbook xmlns:r="urn:r"><workbookPr date1904="${date1904 ? 1 : 0}"/><sheets>${list.join("")}</sheets></workbook>`;
  parts["xl/_rels/workbook.xml.rels"] = relations(
    ...sheets.map((_, at): Relation => [`rId${at + 1}`, "worksheet", `worksheets/sheet${at + 1}.xml`]),
    ["rId98", "sharedStrings", "sharedStrings.xml"],
    ["rId99", "styles", "/xl/styles.xml"],
  );
  parts["xl/sharedStrings.xml"] = `<sst>${strings.map((text) => `<si><t>${text}</t></si>`).join("")}</sst>`;
  const codes = formats.map(
    (code, at) => `<numFmt numFmtId="${200 + at}" formatCode="${code.replaceAll('"', "&quot;")}"/>`,
  );
  const styles = formats.map((_, at) => `<xf numFmtId="${200 + at}"/>`);
  parts["xl/styles.xml"] =
    `<styleSheet><numFmts>${codes.join("")}</numFmts><cellStyleXfs><xf numFmtId="14"/></cellStyleXfs><cellXfs>${styles.join("")}</cellXfs></styleSheet>`;
  return makePackage("xl/workbook.xml", parts);
}

function cellXml(cell: CellRecipe, place: string, strings: string[], formats: string[]): string {
  if (cell === null) return "";
  if (typeof cell === "number") return `<c r="${place}"><v>${cell}</v></c>`;
  if (typeof cell === "string") return `<c r="${place}" t="s"><v>${strings.push(cell) - 1}</v></c>`;
  if ("xml" in cell) return cell.xml.replace("PLACE", place);
  const [value, format] = cell;
  const known = formats.indexOf(format);
  return `<c r="${place}" s="${known === -1 ? formats.push(format) - 1 : known}"><v>${value}</v></c>`;
}

function letters(column: number): string {
  const rest = column % 26;
  return (column >= 26 ? letters(Math.floor(column / 26) - 1) : "") + String.fromCharCode(65 + rest);
}
