// Word documents become Markdown, and broken or hostile ones are refused.
import assert from "node:assert/strict";
import { test } from "node:test";
import { strToU8, zipSync } from "fflate";
import { extractFile } from "./extract-file.ts";
import { listItem, makeDocx, paragraph, styled, table, WORD } from "./make-docx.ts";

test("docx: headings, lists and tables become Markdown", async () => {
  const body = [
    styled("Titel", "Handbuch"),
    styled("berschrift1", "Größe &amp; Maß"),
    paragraph("Erster Absatz mit 漢字."),
    listItem(0, "eins"),
    listItem(1, "zwei"),
    listItem(0, "drei"),
    styled("berschrift2", "Preise"),
    table([
      ["Art", "EUR"],
      ["a|b", "1"],
    ]),
  ].join("");
  assert.deepEqual(await extractFile("docx", makeDocx({ body, title: "Eigenschaft" })), {
    title: "Handbuch",
    language: "",
    markdown: [
      "# Handbuch",
      "# Größe & Maß",
      "Erster Absatz mit 漢字.",
      "- eins\n  1. zwei\n- drei",
      "## Preise",
      "| Art | EUR |\n| --- | --- |\n| a\\|b | 1 |",
    ].join("\n\n"),
  });
});

test("docx: without a heading the title comes from the properties", async () => {
  const { title, markdown } = await extractFile("docx", makeDocx({ body: paragraph("Text"), title: "A &amp; B" }));
  assert.deepEqual([title, markdown], ["A & B", "Text"]);
});

test("docx: split runs stay words, bold is dropped, breaks are kept", async () => {
  const run = (text: string): string => `<w:r><w:rPr><w:b/></w:rPr><w:t>${text}</w:t></w:r>`;
  const body = `<w:p>${run("Donau")}${run("dampf")}<w:r><w:br/><w:t>schiff</w:t></w:r></w:p>`;
  assert.equal((await extractFile("docx", makeDocx({ body }))).markdown, "Donaudampf\nschiff");
});

const good = makeDocx({ body: paragraph("Text") });

/** The start of a compound file, with the name of a stream in its directory. */
function compound(stream: string): Buffer {
  return Buffer.concat([Buffer.from("d0cf11e0a1b11ae1", "hex"), Buffer.alloc(600), Buffer.from(stream, "utf16le")]);
}

function encryptedPackage(): Buffer {
  return compound("EncryptedPackage");
}

const refused: readonly [title: string, bytes: Buffer, message: RegExp][] = [
  ["no archive", Buffer.from("this is no archive, whatever its name says"), /damaged/],
  ["cut short", good.subarray(0, good.length - 200), /damaged/],
  ["damaged inside", corrupt(good, "word/document.xml"), /damaged/],
  ["protected", encryptedPackage(), /password/],
  ["an old Word document", compound("WordDocument"), /seems to be an old Word document \(\.doc\)/],
  ["a PDF", Buffer.from("%PDF-1.7\n"), /not a Word document: it seems to be a PDF document/],
  ["encrypted entries", encryptFlag(good), /password/],
  [
    "another kind of archive",
    zipOf({ "readme.xml": strToU8("<x/>") }),
    /not a Word document: it seems to be a zip archive/,
  ],
  ["broken XML", makeDocx({ body: "<w:p><w:r>" }), /damaged/],
  ["no text", makeDocx({ body: paragraph(" ") }), /no text/],
];

for (const [title, bytes, message] of refused) {
  test(`docx refused: ${title}`, async () => {
    await assert.rejects(extractFile("docx", bytes), { name: "ExtractError", code: "invalid_file", message });
  });
}

test("docx: an archive that unpacks to too much is refused by its directory", async () => {
  const bomb = makeDocx({ body: paragraph("x"), extra: { "word/footnotes.xml": new Uint8Array(12_000_000) } });
  await assert.rejects(extractFile("docx", bomb), { name: "ExtractError", message: /far more than its size can/ });
  const large = makeDocx({ body: paragraph("x".repeat(3_000_000)) });
  await assert.rejects(extractFile("docx", large, { maxUnpackedBytes: 1_000_000 }), {
    name: "ExtractError",
    message: /too large: its text unpacks to more than 1 MB/,
  });
});

test("docx: an archive that lies about its sizes is refused while unpacking", async () => {
  const bomb = makeDocx({ body: paragraph("x"), extra: { "word/footnotes.xml": new Uint8Array(12_000_000) } });
  bomb.writeUInt32LE(1000, directoryEntry(bomb, "word/footnotes.xml") + 24);
  await assert.rejects(extractFile("docx", bomb), { name: "ExtractError", message: /damaged/ });
});

test("docx: pictures are not unpacked, however large", async () => {
  const extra = { "word/media/image1.png": new Uint8Array(12_000_000) };
  assert.equal((await extractFile("docx", makeDocx({ body: paragraph("Text"), extra }))).markdown, "Text");
});

test("docx: what holds no text counts for nothing", async () => {
  const extra = {
    "customXml/item1.xml": new Uint8Array(2_000_000),
    "word/charts/chart1.xml": new Uint8Array(2_000_000),
  };
  const docx = makeDocx({ body: paragraph("Text"), extra });
  assert.equal((await extractFile("docx", docx, { maxUnpackedBytes: 1_000_000 })).markdown, "Text");
});

test("docx: footnotes follow the text", async () => {
  const note = `<w:footnotes ${WORD}><w:footnote w:id="1">${paragraph("See the annex.")}</w:footnote></w:footnotes>`;
  const body = '<w:p><w:r><w:t>Limit</w:t></w:r><w:r><w:footnoteReference w:id="1"/></w:r></w:p>';
  const relation =
    '<Relationship Id="rId1" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/footnotes" Target="footnotes.xml"/>';
  const extra = {
    "word/footnotes.xml": strToU8(note),
    "word/_rels/document.xml.rels": strToU8(
      `<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">${relation}</Relationships>`,
    ),
  };
  assert.match((await extractFile("docx", makeDocx({ body, extra }))).markdown, /^Limit\[1\]\n\n1\. See the annex\./);
});

test("docx: deep nesting is read through", async () => {
  const body = `${"<w:sdt><w:sdtContent>".repeat(20_000)}${paragraph("x")}${"</w:sdtContent></w:sdt>".repeat(20_000)}`;
  assert.equal((await extractFile("docx", makeDocx({ body }))).markdown, "x");
});

const bodies: readonly [title: string, body: string, markdown: string][] = [
  [
    "what was deleted or moved away is gone, what was inserted is there",
    "<w:p><w:ins><w:r><w:t>new</w:t></w:r></w:ins><w:del><w:r><w:delText>old</w:delText></w:r></w:del><w:moveFrom><w:r><w:t>moved</w:t></w:r></w:moveFrom></w:p>",
    "new",
  ],
  [
    "text boxes stand before the paragraph they hang on, once",
    `<w:p><w:r><mc:AlternateContent><mc:Choice><w:txbxContent>${paragraph("box")}</w:txbxContent></mc:Choice><mc:Fallback><w:txbxContent>${paragraph("box")}</w:txbxContent></mc:Fallback></mc:AlternateContent><w:t>around</w:t></w:r></w:p>`,
    "box\n\naround",
  ],
  [
    "cells that span rows and columns",
    `<w:tbl><w:tr>${cell("Region")}${cell("Sales", '<w:gridSpan w:val="2"/>')}</w:tr><w:tr>${cell("North", '<w:vMerge w:val="restart"/>')}${cell("1")}${cell("2")}</w:tr><w:tr>${cell("", "<w:vMerge/>")}${cell("3")}${cell("4")}</w:tr></w:tbl>`,
    "| Region | Sales |  |\n| --- | --- | --- |\n| North | 1 | 2 |\n| North | 3 | 4 |",
  ],
  [
    "a table around tables only arranges the page",
    `<w:tbl><w:tr><w:tc>${paragraph("left")}${table([
      ["a", "b"],
      ["1", "2"],
    ])}</w:tc><w:tc>${paragraph("right")}</w:tc></w:tr></w:tbl>`,
    "left\n\n| a | b |\n| --- | --- |\n| 1 | 2 |\n\nright",
  ],
  [
    "counted items go on counting, also across a paragraph",
    listItem(0, "a") +
      listItem(1, "one") +
      listItem(1, "two") +
      paragraph("between") +
      listItem(0, "b") +
      listItem(1, "one"),
    "- a\n  1. one\n  2. two\n\nbetween\n\n- b\n  1. one",
  ],
  [
    "tabs, breaks and hyphens",
    "<w:p><w:pPr><w:tabs><w:tab/></w:tabs></w:pPr><w:r><w:t>a</w:t><w:tab/><w:t>b</w:t><w:noBreakHyphen/><w:t>c</w:t><w:br/><w:t># d</w:t></w:r></w:p>",
    "a b\u2011c\n\\# d",
  ],
  [
    "pictures tell what they show",
    '<w:p><w:r><w:drawing><wp:docPr id="1" descr="A chart &amp; more"/></w:drawing></w:r></w:p>',
    "A chart & more",
  ],
];

for (const [title, body, markdown] of bodies) {
  test(`docx: ${title}`, async () => assert.equal((await extractFile("docx", makeDocx({ body }))).markdown, markdown));
}

test("docx: links keep their targets, styles have what they are based on", async () => {
  const body = `<w:p><w:r><w:t>see </w:t></w:r><w:hyperlink r:id="rId7"><w:r><w:t>the page</w:t></w:r></w:hyperlink><w:hyperlink r:id="rId8"><w:r><w:t> or run</w:t></w:r></w:hyperlink></w:p>${styled("Mine", "Head")}`;
  const office = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";
  const link = (id: string, target: string): string =>
    `<Relationship Id="${id}" Type="${office}/hyperlink" Target="${target}" TargetMode="External"/>`;
  const extra = {
    "word/_rels/document.xml.rels": strToU8(
      `<Relationships><Relationship Id="rId1" Type="${office}/styles" Target="styles.xml"/>${link("rId7", "https://contoso.com/a?b=1&amp;c=(2)")}${link("rId8", "javascript:alert(1)")}</Relationships>`,
    ),
    "word/styles.xml": strToU8(
      '<w:styles><w:style w:styleId="H2"><w:name w:val="heading 2"/></w:style><w:style w:styleId="Mine"><w:basedOn w:val="H2"/></w:style><w:style w:styleId="Loop"><w:basedOn w:val="Loop"/></w:style></w:styles>',
    ),
  };
  assert.equal(
    (await extractFile("docx", makeDocx({ body, extra }))).markdown,
    "see [the page](https://contoso.com/a?b=1&c=%282%29) or run\n\n## Head",
  );
});

function cell(text: string, properties = ""): string {
  return `<w:tc><w:tcPr>${properties}</w:tcPr>${paragraph(text)}</w:tc>`;
}

function directoryEntry(zip: Buffer, name: string): number {
  for (let at = zip.indexOf("PK\u0001\u0002"); at !== -1; at = zip.indexOf("PK\u0001\u0002", at + 4)) {
    if (zip.toString("utf8", at + 46, at + 46 + zip.readUInt16LE(at + 28)) === name) return at;
  }
  throw new Error(`find ${name}: not in the archive`);
}

function corrupt(zip: Buffer, name: string): Buffer {
  const copy = Buffer.from(zip);
  const offset = copy.readUInt32LE(directoryEntry(copy, name) + 42);
  copy.fill(0xff, offset + 30 + name.length, offset + 30 + name.length + 20);
  return copy;
}

function encryptFlag(zip: Buffer): Buffer {
  const copy = Buffer.from(zip);
  const at = directoryEntry(copy, "word/document.xml") + 8;
  copy.writeUInt16LE(copy.readUInt16LE(at) | 1, at);
  return copy;
}

function zipOf(entries: Record<string, Uint8Array>): Buffer {
  return Buffer.from(zipSync(entries));
}
