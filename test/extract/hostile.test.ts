// Hostile files of every type are refused or cut within bounds of time and memory.
import assert from "node:assert/strict";
import { test } from "node:test";
import { deflateSync } from "node:zlib";
import { strToU8, zipSync } from "fflate";
import { createExtractor } from "../../src/extract/extractor.ts";
import { extractFile } from "./extract-file.ts";
import { makeDocx, paragraph, styled, table, WORD } from "./make-docx.ts";
import { makeMsg } from "./make-msg.ts";
import { makePackage, relations } from "./make-package.ts";
import { makePdf, makePdfWithContent } from "./make-pdf.ts";
import { makePptx, shape } from "./make-pptx.ts";
import { makeXlsx } from "./make-xlsx.ts";
import { writeFiles } from "./write-files.ts";

const PNG = Buffer.from("\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "latin1");
const ENTITIES = `<!DOCTYPE x [<!ENTITY a "${"x".repeat(100)}">${"bcdefghi"
  .split("")
  .map((name, at) => `<!ENTITY ${name} "${`&${"abcdefgh"[at]};`.repeat(10)}">`)
  .join("")}]>`;

const docx = makeDocx({ body: paragraph("Text") });
const xlsx = makeXlsx([{ name: "S", rows: [["a", "b"]] }]);
const pdf = makePdf({ pages: [[{ text: "Text of a page", y: 700 }]] });

/** Parts of an archive whose directory says that two of them are the same bytes. */
function overlapping(): Buffer {
  const archive = Buffer.from(makePptx([{ shapes: shape("", "one") }, { shapes: shape("", "two") }]));
  const places: number[] = [];
  for (
    let at = archive.indexOf("PK\x01\x02", 0, "latin1");
    at !== -1;
    at = archive.indexOf("PK\x01\x02", at + 4, "latin1")
  ) {
    if (archive.toString("latin1", at + 46, at + 46 + 21).startsWith("ppt/slides/slide")) places.push(at);
  }
  const [first = 0, second = 0] = places;
  archive.copy(archive, second + 16, first + 16, first + 28);
  archive.copy(archive, second + 42, first + 42, first + 46);
  return archive;
}

function workbookWith(sheet: string | Uint8Array): Buffer {
  return makePackage("xl/workbook.xml", {
    "xl/workbook.xml": '<workbook><sheets><sheet name="S" r:id="rId1"/></sheets></workbook>',
    "xl/_rels/workbook.xml.rels": relations(["rId1", "worksheet", "worksheets/sheet1.xml"]),
    "xl/worksheets/sheet1.xml": sheet,
  });
}

const refused: readonly [title: string, type: string, bytes: string | Uint8Array, message: RegExp][] = [
  ["a picture called .docx", "docx", PNG, /not a Word document: it seems to be a PNG picture/],
  ["a picture called .txt", "txt", PNG, /not text: it seems to be a PNG picture/],
  ["a Word document called .pdf", "pdf", docx, /not a PDF document: it seems to be a Word document/],
  ["a workbook called .pptx", "pptx", xlsx, /not a PowerPoint presentation: it seems to be an Excel workbook/],
  ["a PDF called .html", "html", pdf, /not a web page: it seems to be a PDF document/],
  ["a PDF called .eml", "eml", pdf, /not an e-mail message: it seems to be a PDF document/],
  ["an archive called .xlsx", "xlsx", zipSync({ "a.txt": strToU8("a") }), /seems to be a zip archive/],
  ["a Word document called .msg", "msg", docx, /not an Outlook message: it seems to be a Word document/],
  ["a cut workbook", "xlsx", xlsx.subarray(0, xlsx.length / 2), /damaged/],
  ["a cut PDF", "pdf", pdf.subarray(0, 300), /damaged|no text|no pages/],
  ["a PDF without pages", "pdf", makePdf({ pages: [] }), /no pages/],
  ["parts that overlap", "pptx", overlapping(), /overlap/],
  ["a sheet that unpacks a thousandfold", "xlsx", workbookWith(new Uint8Array(12_000_000)), /far more than its size/],
  ["entities in a workbook", "xlsx", workbookWith(`${ENTITIES}<worksheet>&i;</worksheet>`), /entities of its own/],
  [
    "entities in a document",
    "docx",
    makeDocx({ body: "", extra: { "word/document.xml": strToU8(`${ENTITIES}<w:document>&i;</w:document>`) } }),
    /entities of its own/,
  ],
  [
    "a file fetched by a document",
    "docx",
    makeDocx({
      body: "",
      extra: { "word/document.xml": strToU8('<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]><x>&a;</x>') },
    }),
    /entities of its own/,
  ],
  [
    "100 MB in one line",
    "txt",
    Buffer.alloc(100_000_000, "word "),
    /too large: 100000000 bytes, and the limit is 50 MB/,
  ],
  ["nothing but blanks", "csv", " \n ,, \n", /no text/],
];

for (const [title, type, bytes, message] of refused) {
  test(`refused: ${title}`, async () => {
    await assert.rejects(extractFile(type, bytes), { name: "ExtractError", code: "invalid_file", message });
  });
}

test("elements nested without end are read through", async () => {
  const depth = 30_000;
  const html = `${"<div>".repeat(depth)}deep${"</div>".repeat(depth)}`;
  assert.equal((await extractFile("html", html)).markdown, "deep");
  const sheet = workbookWith(`<worksheet>${"<x>".repeat(depth)}<row><c t="str"><v>deep</v></c></row>`);
  assert.match((await extractFile("xlsx", sheet)).markdown, /deep/);
  const json = `${"[".repeat(depth)}${"]".repeat(depth)}`;
  assert.match((await extractFile("json", json)).markdown, /^```json\n/);
  assert.match((await extractFile("xml", `${ENTITIES}<x>&i;</x>`)).markdown, /<x>&i;<\/x>/);
});

test("a workbook that claims a cell at the end of the world costs what it holds", async () => {
  const sheet =
    '<worksheet><row r="1"><c r="A1" t="str"><v>a</v></c></row><row r="1048576"><c r="XFD1048576"><v>1</v></c><c r="B1048576"><v>2</v></c></row><mergeCell ref="A1:A1048576"/></worksheet>';
  assert.equal((await extractFile("xlsx", workbookWith(sheet))).markdown, "## S\n\n- a\n\n- 2");
});

test("10,000 pages are cut with a note", async () => {
  const pages = Array.from({ length: 10_000 }, (_, page) => [{ text: `Page ${page}`, y: 700 }]);
  const { markdown } = await extractFile("pdf", makePdf({ pages }), { maxPages: 20 });
  assert.match(
    markdown,
    /<!-- page 20 -->\n\nPage 19\n\n\(9980 more pages are left out: the document is too long\.\)$/,
  );
});

test("a page that unpacks to hundreds of megabytes ends in a verdict", async () => {
  const bomb = makePdfWithContent(deflateSync(Buffer.alloc(100_000_000, "q ")), "/Filter /FlateDecode");
  await assert.rejects(extractFile("pdf", bomb, { timeoutMs: 1000, maxMemoryBytes: 60_000_000 }), {
    name: "ExtractError",
    message: /too long|too much memory|no text/,
  });
});

test("names of all kinds", async (t) => {
  const names = ["a b.txt", "-rf", "größe ☃ 漢字", "new\nline", "%2e%2e", "quote'\"`$(x)", `${"n".repeat(250)}`];
  const path = await writeFiles(t, Object.fromEntries(names.map((name) => [name, pdf])));
  const { extract } = createExtractor();
  for (const name of names) {
    assert.match((await extract(path(name), "pdf", new AbortController().signal)).markdown, /Text of a page/, name);
  }
});

/** What is damaged, and how a file is made of it. */
const samples: readonly [title: string, type: string, bytes: Buffer, make?: (damaged: Buffer) => Buffer][] = [
  ["docx", "docx", docx],
  ["xlsx", "xlsx", xlsx],
  ["pdf", "pdf", pdf],
  ["msg", "msg", makeMsg({ subject: "S", from: ["A", "a@b.c"], to: ["B", "b@b.c"], body: "text" })],
  [
    "rtf",
    "rtf",
    Buffer.from("{\\rtf1\\ansi{\\fonttbl{\\f0 A;}}\\pard\\s1 Hello \\'e4\\u8364?\\par{\\b x}\\cell\\row}"),
  ],
  [
    "eml",
    "eml",
    Buffer.from('Subject: S\r\nContent-Type: multipart/mixed; boundary="b"\r\n\r\n--b\r\n\r\ntext\r\n--b--'),
  ],
  [
    "the XML of a document",
    "docx",
    Buffer.from(`<w:document ${WORD}><w:body>${styled("Titel", "T")}${table([["a", "b"]])}</w:body></w:document>`),
    (damaged) => makeDocx({ body: "", extra: { "word/document.xml": damaged } }),
  ],
  [
    "the XML of a sheet",
    "xlsx",
    Buffer.from('<worksheet><row r="1"><c r="A1" t="str"><v>a</v></c><c r="B1"><v>1.5</v></c></row></worksheet>'),
    workbookWith,
  ],
];

for (const [title, type, bytes, make = (damaged: Buffer) => damaged] of samples) {
  test(`damaged at random: ${title} gives text or a verdict`, async () => {
    const random = seeded(20);
    for (let times = 0; times < 20; times += 1) {
      const damaged = make(damage(bytes, random));
      try {
        assert.ok((await extractFile(type, damaged, { timeoutMs: 500, maxMemoryBytes: 60_000_000 })).markdown);
      } catch (error) {
        assert.equal((error as Error).name, "ExtractError", `${times}: ${error}\n${damaged.toString("base64")}`);
      }
    }
  });
}

/** A few bytes changed, a part cut out or doubled. */
function damage(bytes: Buffer, random: (below: number) => number): Buffer {
  const copy = Buffer.from(bytes);
  for (let times = random(8); times >= 0; times -= 1) copy[random(copy.length)] = random(256);
  const [from, to] = [random(copy.length), random(copy.length)].toSorted((a, b) => a - b);
  const kind = random(4);
  if (kind === 0) return Buffer.concat([copy.subarray(0, from), copy.subarray(to)]);
  if (kind === 1) return Buffer.concat([copy.subarray(0, to), copy.subarray(from)]);
  return copy;
}

function seeded(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}
