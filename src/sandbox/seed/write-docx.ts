import { strToU8, zipSync } from "fflate";
import { escapeXml } from "../sharepoint/odata/response.ts";
import type { Block } from "./text-blocks.ts";

const WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main";
const PACKAGE = "http://schemas.openxmlformats.org/package/2006";
const OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";
const PROLOGUE = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>';
/** Zip entries carry a time; a fixed one gives the same bytes on every start. */
const ZIP_TIME = new Date(2024, 0, 1);

/** A Word document with real heading styles, lists and tables. */
export function writeDocx(blocks: readonly Block[], title: string): Uint8Array {
  const body = blocks.map(blockXml).join("");
  const files = {
    "[Content_Types].xml": contentTypes(),
    "_rels/.rels": relationships([
      ["officeDocument", "word/document.xml"],
      ["metadata/core-properties", "docProps/core.xml"],
    ]),
    "docProps/core.xml": coreProperties(title),
    "word/_rels/document.xml.rels": relationships([
      ["styles", "styles.xml"],
      ["numbering", "numbering.xml"],
    ]),
    "word/document.xml": `${PROLOGUE}<w:document xmlns:w="${WORD}"><w:body>${body}<w:sectPr><w:pgSz w:w="11906" w:h="16838"/></w:sectPr></w:body></w:document>`,
    "word/styles.xml": styles(),
    "word/numbering.xml": numbering(),
  };
  const entries = Object.entries(files).map(([name, text]) => [name, strToU8(text)] as const);
  return zipSync(Object.fromEntries(entries), { mtime: ZIP_TIME });
}

function blockXml(block: Block): string {
  if (block.kind === "heading") return paragraph(block.text, `<w:pStyle w:val="Heading${block.level}"/>`);
  if (block.kind === "bullets") return block.items.map((item) => paragraph(item, LIST_ITEM)).join("");
  if (block.kind === "paragraph") return paragraph(block.text, "");
  const rows = block.rows.map((row) => `<w:tr>${row.map(cell).join("")}</w:tr>`).join("");
  return `<w:tbl><w:tblPr><w:tblW w:w="0" w:type="auto"/></w:tblPr><w:tblGrid>${"<w:gridCol/>".repeat(block.rows[0]?.length ?? 1)}</w:tblGrid>${rows}</w:tbl>${paragraph("", "")}`;
}

const LIST_ITEM = '<w:pStyle w:val="ListParagraph"/><w:numPr><w:ilvl w:val="0"/><w:numId w:val="1"/></w:numPr>';

function cell(text: string): string {
  return `<w:tc><w:tcPr><w:tcW w:w="0" w:type="auto"/></w:tcPr>${paragraph(text, "")}</w:tc>`;
}

function paragraph(text: string, properties: string): string {
  const run = text === "" ? "" : `<w:r><w:t xml:space="preserve">${escapeXml(text)}</w:t></w:r>`;
  return `<w:p>${properties === "" ? "" : `<w:pPr>${properties}</w:pPr>`}${run}</w:p>`;
}

function styles(): string {
  const headings = [1, 2, 3].map(
    (level) =>
      `<w:style w:type="paragraph" w:styleId="Heading${level}"><w:name w:val="heading ${level}"/><w:basedOn w:val="Normal"/><w:pPr><w:outlineLvl w:val="${level - 1}"/></w:pPr><w:rPr><w:b/><w:sz w:val="${36 - level * 4}"/></w:rPr></w:style>`,
  );
  return `${PROLOGUE}<w:styles xmlns:w="${WORD}"><w:style w:type="paragraph" w:default="1" w:styleId="Normal"><w:name w:val="Normal"/></w:style><w:style w:type="paragraph" w:styleId="ListParagraph"><w:name w:val="List Paragraph"/><w:basedOn w:val="Normal"/></w:style>${headings.join("")}</w:styles>`;
}

function numbering(): string {
  const level =
    '<w:lvl w:ilvl="0"><w:start w:val="1"/><w:numFmt w:val="bullet"/><w:lvlText w:val="•"/><w:lvlJc w:val="left"/></w:lvl>';
  return `${PROLOGUE}<w:numbering xmlns:w="${WORD}"><w:abstractNum w:abstractNumId="0">${level}</w:abstractNum><w:num w:numId="1"><w:abstractNumId w:val="0"/></w:num></w:numbering>`;
}

function relationships(targets: readonly (readonly [string, string])[]): string {
  const rows = targets.map(([type, target], at) => {
    const uri = type.includes("/") ? `${PACKAGE}/relationships/${type}` : `${OFFICE}/${type}`;
    return `<Relationship Id="rId${at + 1}" Type="${uri}" Target="${target}"/>`;
  });
  return `${PROLOGUE}<Relationships xmlns="${PACKAGE}/relationships">${rows.join("")}</Relationships>`;
}

function contentTypes(): string {
  const part = (name: string, type: string): string => `<Override PartName="${name}" ContentType="${type}"/>`;
  const word = "application/vnd.openxmlformats-officedocument.wordprocessingml";
  return `${PROLOGUE}<Types xmlns="${PACKAGE}/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Default Extension="xml" ContentType="application/xml"/>${part("/word/document.xml", `${word}.document.main+xml`)}${part("/word/styles.xml", `${word}.styles+xml`)}${part("/word/numbering.xml", `${word}.numbering+xml`)}${part("/docProps/core.xml", "application/vnd.openxmlformats-package.core-properties+xml")}</Types>`;
}

function coreProperties(title: string): string {
  return `${PROLOGUE}<cp:coreProperties xmlns:cp="${PACKAGE}/metadata/core-properties" xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>${escapeXml(title)}</dc:title><dc:creator>Tidewheel Cargo Bikes GmbH</dc:creator></cp:coreProperties>`;
}
