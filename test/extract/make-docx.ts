import { strToU8, zipSync } from "fflate";

export const WORD = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"';
const RELATIONSHIPS = "http://schemas.openxmlformats.org/package/2006/relationships";
const OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";

const STYLES = [
  ["Titel", "Title"],
  ["berschrift1", "heading 1"],
  ["berschrift2", "heading 2"],
].map(([id, name]) => `<w:style w:type="paragraph" w:styleId="${id}"><w:name w:val="${name}"/></w:style>`);

const NUMBERING = `<w:numbering ${WORD}>
<w:abstractNum w:abstractNumId="0"><w:lvl w:ilvl="0"><w:numFmt w:val="bullet"/></w:lvl>
<w:lvl w:ilvl="1"><w:numFmt w:val="decimal"/></w:lvl></w:abstractNum>
<w:num w:numId="1"><w:abstractNumId w:val="0"/></w:num></w:numbering>`;

export function paragraph(text: string, properties = ""): string {
  return `<w:p><w:pPr>${properties}</w:pPr><w:r><w:t xml:space="preserve">${text}</w:t></w:r></w:p>`;
}

export function styled(style: string, text: string): string {
  return paragraph(text, `<w:pStyle w:val="${style}"/>`);
}

export function listItem(level: number, text: string): string {
  return paragraph(text, `<w:numPr><w:ilvl w:val="${level}"/><w:numId w:val="1"/></w:numPr>`);
}

export function table(rows: readonly (readonly string[])[]): string {
  const cells = (row: readonly string[]): string => row.map((cell) => `<w:tc>${paragraph(cell)}</w:tc>`).join("");
  return `<w:tbl>${rows.map((row) => `<w:tr>${cells(row)}</w:tr>`).join("")}</w:tbl>`;
}

export interface DocxRecipe {
  readonly body: string;
  readonly title?: string;
  readonly extra?: Readonly<Record<string, Uint8Array>>;
}

/** The parts Word writes, with the localised style ids of a German one. */
export function makeDocx({ body, title, extra = {} }: DocxRecipe): Buffer {
  const xml = (text: string): Uint8Array => strToU8(`<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n${text}`);
  const core = `<cp:coreProperties xmlns:cp="http://schemas.openxmlformats.org/package/2006/metadata/core-properties"
xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>${title ?? ""}</dc:title></cp:coreProperties>`;
  const override = (part: string, type: string): string =>
    `<Override PartName="/word/${part}.xml" ContentType="application/vnd.openxmlformats-officedocument.wordprocessingml.${type}+xml"/>`;
  const relation = (id: string, type: string, target: string): string =>
    `<Relationship Id="${id}" Type="${OFFICE}/${type}" Target="${target}"/>`;
  return Buffer.from(
    zipSync({
      "[Content_Types].xml": xml(`<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">
<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>
${override("document", "document.main")}${override("styles", "styles")}${override("numbering", "numbering")}</Types>`),
      "_rels/.rels": xml(
        `<Relationships xmlns="${RELATIONSHIPS}">${relation("rId1", "officeDocument", "word/document.xml")}</Relationships>`,
      ),
      "word/_rels/document.xml.rels": xml(
        `<Relationships xmlns="${RELATIONSHIPS}">${relation("rId1", "styles", "styles.xml")}${relation("rId2", "numbering", "numbering.xml")}</Relationships>`,
      ),
      "word/styles.xml": xml(`<w:styles ${WORD}>${STYLES.join("")}</w:styles>`),
      "word/numbering.xml": xml(NUMBERING),
      "word/document.xml": xml(`<w:document ${WORD}><w:body>${body}</w:body></w:document>`),
      "docProps/core.xml": xml(core),
      ...extra,
    }),
  );
}
