/** One line of text on a page. */
export interface PlacedText {
  readonly text: string;
  readonly x?: number;
  readonly y: number;
  readonly size?: number;
}

export interface PdfRecipe {
  readonly pages: readonly (readonly PlacedText[])[];
  readonly title?: string;
  readonly encrypted?: boolean;
}

const WIDE = /[\u0100-\uffff]/;

/** A PDF of Helvetica lines; text beyond Latin-1 goes through a composite font that only maps codes to Unicode. */
export function makePdf({ pages, title, encrypted }: PdfRecipe): Buffer {
  const objects: string[] = [];
  const add = (body: string): number => objects.push(body);
  const stream = (body: string): number =>
    add(`<< /Length ${Buffer.byteLength(body, "latin1")} >>\nstream\n${body}\nendstream`);
  const wide = [...new Set(pages.flat().flatMap((line) => (WIDE.test(line.text) ? [...line.text] : [])))];
  const latin = add("<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>");
  const map = stream(toUnicode(wide));
  const descendant = add(
    "<< /Type /Font /Subtype /CIDFontType2 /BaseFont /Wide /CIDSystemInfo << /Registry (Adobe) /Ordering (Identity) /Supplement 0 >> /DW 1000 >>",
  );
  const composite = add(
    `<< /Type /Font /Subtype /Type0 /BaseFont /Wide /Encoding /Identity-H /DescendantFonts [${descendant} 0 R] /ToUnicode ${map} 0 R >>`,
  );
  const parent = objects.length + 2 * pages.length + 1;
  const kids = pages.map((lines) => {
    const contents = stream(lines.map((line) => draw(line, wide)).join("\n"));
    const fonts = `<< /F1 ${latin} 0 R /F2 ${composite} 0 R >>`;
    return add(
      `<< /Type /Page /Parent ${parent} 0 R /MediaBox [0 0 595 842] /Contents ${contents} 0 R /Resources << /Font ${fonts} >> >>`,
    );
  });
  const tree = add(`<< /Type /Pages /Count ${kids.length} /Kids [${kids.map((id) => `${id} 0 R`).join(" ")}] >>`);
  const root = add(`<< /Type /Catalog /Pages ${tree} 0 R >>`);
  const info = add(`<< /Title (${escapeText(title ?? "")}) >>`);
  const secret = `<${"5a".repeat(32)}>`;
  const encrypt = encrypted
    ? ` /Encrypt << /Filter /Standard /V 1 /R 2 /O ${secret} /U ${secret} /P -4 >> /ID [${secret} ${secret}]`
    : "";
  return assemble(objects, `/Root ${root} 0 R /Info ${info} 0 R${encrypt}`);
}

/** One page whose content is the given bytes. */
export function makePdfWithContent(content: Buffer, filter: string): Buffer {
  return assemble(
    [
      "<< /Type /Catalog /Pages 2 0 R >>",
      "<< /Type /Pages /Count 1 /Kids [3 0 R] >>",
      "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 4 0 R /Resources << >> >>",
      `<< /Length ${content.length} ${filter} >>\nstream\n${content.toString("latin1")}\nendstream`,
    ],
    "/Root 1 0 R",
  );
}

function draw({ text, x = 72, y, size = 11 }: PlacedText, wide: readonly string[]): string {
  if (!WIDE.test(text)) return `BT /F1 ${size} Tf ${x} ${y} Td (${escapeText(text)}) Tj ET`;
  const codes = [...text].map((character) => hex(wide.indexOf(character) + 1)).join("");
  return `BT /F2 ${size} Tf ${x} ${y} Td <${codes}> Tj ET`;
}

function toUnicode(wide: readonly string[]): string {
  const lines = wide.map(
    (character, at) => `<${hex(at + 1)}> <${Buffer.from(character, "utf16le").swap16().toString("hex")}>`,
  );
  return `/CIDInit /ProcSet findresource begin 12 dict begin begincmap /CMapType 2 def
1 begincodespacerange <0000> <ffff> endcodespacerange
${lines.length} beginbfchar\n${lines.join("\n")}\nendbfchar endcmap end end`;
}

function hex(code: number): string {
  return code.toString(16).padStart(4, "0");
}

function escapeText(text: string): string {
  return text.replaceAll(/[\\()]/g, "\\$&");
}

function assemble(objects: readonly string[], trailer: string): Buffer {
  let body = "%PDF-1.4\n";
  const offsets = objects.map((object, at) => {
    const offset = body.length;
    body += `${at + 1} 0 obj\n${object}\nendobj\n`;
    return offset;
  });
  const table = offsets.map((offset) => `${String(offset).padStart(10, "0")} 00000 n \n`).join("");
  const xref = `xref\n0 ${objects.length + 1}\n0000000000 65535 f \n${table}`;
  return Buffer.from(
    `${body}${xref}trailer\n<< /Size ${objects.length + 1} ${trailer} >>\nstartxref\n${body.length}\n%%EOF\n`,
    "latin1",
  );
}
