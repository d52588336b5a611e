import type { Block } from "./text-blocks.ts";

const PAGE = { width: 595, height: 842, margin: 64 };
const LINE_FACTOR = 1.4;

interface Line {
  readonly text: string;
  readonly font: "F1" | "F2";
  readonly size: number;
  readonly indent: number;
  /** Extra room above. */
  readonly gap: number;
}

/** A PDF 1.4 with the built-in Helvetica, as many pages as the text needs, real text on each. */
export function writePdf(blocks: readonly Block[], title: string): Uint8Array {
  const pages = paginate(blocks.flatMap(blockLines));
  const objects = [
    "<< /Type /Catalog /Pages 2 0 R >>",
    `<< /Type /Pages /Count ${pages.length} /Kids [${pages.map((_, at) => `${6 + at * 2} 0 R`).join(" ")}] >>`,
    font("Helvetica"),
    font("Helvetica-Bold"),
    `<< /Title (${escapePdf(title)}) /Author (Tidewheel Cargo Bikes GmbH) >>`,
  ];
  pages.forEach((content, at) => {
    objects.push(
      `<< /Type /Page /Parent 2 0 R /MediaBox [0 0 ${PAGE.width} ${PAGE.height}] /Resources << /Font << /F1 3 0 R /F2 4 0 R >> >> /Contents ${7 + at * 2} 0 R >>`,
      `<< /Length ${content.length} >>\nstream\n${content}\nendstream`,
    );
  });
  return assemble(objects);
}

function font(name: string): string {
  return `<< /Type /Font /Subtype /Type1 /BaseFont /${name} /Encoding /WinAnsiEncoding >>`;
}

/** One character is one byte from here on, so offsets can be counted in the text. */
function assemble(objects: readonly string[]): Uint8Array {
  let text = "%PDF-1.4\n%\xe2\xe3\xcf\xd3\n";
  const offsets = objects.map((object, at) => {
    const offset = text.length;
    text += `${at + 1} 0 obj\n${object}\nendobj\n`;
    return offset;
  });
  const table = offsets.map((offset) => `${String(offset).padStart(10, "0")} 00000 n \n`).join("");
  const size = objects.length + 1;
  const trailer = `xref\n0 ${size}\n0000000000 65535 f \n${table}trailer\n<< /Size ${size} /Root 1 0 R /Info 5 0 R >>\nstartxref\n${text.length}\n%%EOF\n`;
  return Buffer.from(text + trailer, "latin1");
}

function blockLines(block: Block): Line[] {
  if (block.kind === "heading") {
    const size = block.level === 1 ? 18 : 13;
    return wrap(block.text, { font: "F2", size, indent: 0, gap: size * 0.9 });
  }
  const style = { font: "F1", size: 10.5, indent: 0, gap: 6 } as const;
  if (block.kind === "paragraph") return wrap(block.text, style);
  if (block.kind === "bullets")
    return block.items.flatMap((item) => wrap(`• ${item}`, { ...style, indent: 14, gap: 2 }));
  return block.rows.flatMap((row, at) =>
    wrap(row.join("  |  "), { ...style, font: at === 0 ? "F2" : "F1", gap: at === 0 ? 6 : 1 }),
  );
}

function wrap(text: string, style: Omit<Line, "text">): Line[] {
  const room = PAGE.width - 2 * PAGE.margin - style.indent;
  const lines: string[] = [];
  let line = "";
  for (const word of text.split(" ")) {
    const longer = line === "" ? word : `${line} ${word}`;
    if (line !== "" && widthOf(longer, style.size) > room) {
      lines.push(line);
      line = word;
    } else line = longer;
  }
  lines.push(line);
  return lines.map((each, at) => ({ ...style, text: each, gap: at === 0 ? style.gap : 0 }));
}

/** The drawing instructions of each page. */
function paginate(lines: readonly Line[]): string[] {
  const pages: string[][] = [[]];
  let y = PAGE.height - PAGE.margin;
  for (const line of lines) {
    const height = line.size * LINE_FACTOR + line.gap;
    if (y - height < PAGE.margin) {
      pages.push([]);
      y = PAGE.height - PAGE.margin;
    }
    y -= height;
    const x = PAGE.margin + line.indent;
    pages
      .at(-1)
      ?.push(`BT /${line.font} ${line.size} Tf 1 0 0 1 ${x} ${y.toFixed(2)} Tm (${escapePdf(line.text)}) Tj ET`);
  }
  return pages.map((page) => page.join("\n"));
}

/** Codes of WinAnsiEncoding that are not the Unicode ones. */
const WIN_ANSI: Readonly<Record<string, number>> = {
  "€": 0x80,
  "…": 0x85,
  "‘": 0x91,
  "’": 0x92,
  "“": 0x93,
  "”": 0x94,
  "•": 0x95,
  "–": 0x96,
  "—": 0x97,
};

function escapePdf(text: string): string {
  return Array.from(text, (character) => {
    const code = WIN_ANSI[character] ?? character.codePointAt(0) ?? 0;
    if (code > 0xff) throw new Error(`write PDF: Helvetica has no '${character}'`);
    return String.fromCharCode(code).replace(/[\\()]/g, "\\$&");
  }).join("");
}

/** Advance widths of Helvetica from space to tilde, in thousandths of the font size. */
const WIDTHS = (
  "278 278 355 556 556 889 667 191 333 333 389 584 278 333 278 278 556 556 556 556 556 556 556 556 556 556 278 278 " +
  "584 584 584 556 1015 667 667 722 722 667 611 778 722 278 500 667 556 833 722 778 667 778 722 667 611 722 667 944 " +
  "667 667 611 278 278 278 469 556 333 556 556 500 556 556 278 556 556 222 222 500 222 833 556 556 556 556 333 500 " +
  "278 556 500 722 500 500 500 334 260 334 584"
)
  .split(" ")
  .map(Number);

function widthOf(text: string, size: number): number {
  let units = 0;
  for (const character of text) units += WIDTHS[character.charCodeAt(0) - 32] ?? 556;
  return (units * size) / 1000;
}
