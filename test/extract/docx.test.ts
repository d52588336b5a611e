import assert from "node:assert/strict";
import { test } from "node:test";
import { strToU8, zipSync } from "fflate";
import { extractFile } from "./extract-file.ts";
import { listItem, makeDocx, paragraph, styled, table } from "./make-docx.ts";

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
const compound = Buffer.concat([Buffer.from("d0cf11e0a1b11ae1", "hex"), Buffer.alloc(600)]);

const refused: readonly [title: string, bytes: Buffer, message: RegExp][] = [
  ["no archive", Buffer.from("this is no archive, whatever its name says"), /damaged/],
  ["cut short", good.subarray(0, good.length - 200), /damaged/],
  ["damaged inside", corrupt(good, "word/document.xml"), /damaged/],
  ["protected", compound, /password/],
  ["encrypted entries", encryptFlag(good), /password/],
  ["another kind of archive", zipOf({ "readme.xml": strToU8("<x/>") }), /not a Word document/],
  ["broken XML", makeDocx({ body: "<w:p><w:r>" }), /damaged/],
  ["no text", makeDocx({ body: paragraph(" ") }), /no text/],
];

for (const [title, bytes, message] of refused) {
  test(`docx refused: ${title}`, async () => {
    await assert.rejects(extractFile("docx", bytes), { name: "ExtractError", code: "invalid_file", message });
  });
}

test("docx: an archive that unpacks to too much is refused by its directory", async () => {
  const bomb = makeDocx({ body: paragraph("x"), extra: { "word/bomb.xml": new Uint8Array(30_000_000) } });
  await assert.rejects(extractFile("docx", bomb), { name: "ExtractError", message: /far more than its size can/ });
  const large = makeDocx({ body: paragraph("x".repeat(3_000_000)) });
  await assert.rejects(extractFile("docx", large, { maxUnpackedBytes: 1_000_000 }), {
    name: "ExtractError",
    message: /too large: its text unpacks to more than 1 MB/,
  });
});

test("docx: an archive that lies about its sizes is refused while unpacking", async () => {
  const bomb = makeDocx({ body: paragraph("x"), extra: { "word/bomb.xml": new Uint8Array(30_000_000) } });
  bomb.writeUInt32LE(1000, directoryEntry(bomb, "word/bomb.xml") + 24);
  await assert.rejects(extractFile("docx", bomb), (error: Error) => {
    assert.match(error.message, /damaged/);
    assert.equal((error.cause as NodeJS.ErrnoException).code, "ERR_BUFFER_TOO_LARGE");
    return true;
  });
});

test("docx: pictures are not unpacked, however large", async () => {
  const extra = { "word/media/image1.png": new Uint8Array(30_000_000) };
  assert.equal((await extractFile("docx", makeDocx({ body: paragraph("Text"), extra }))).markdown, "Text");
});

test("docx: what holds no text counts for nothing", async () => {
  const extra = {
    "customXml/item1.xml": strToU8(`<x>${"<y/>".repeat(200)}</x>`),
    "word/charts/chart1.xml": strToU8(`<x>${"<y/>".repeat(200)}</x>`),
  };
  const docx = makeDocx({ body: paragraph("Text"), extra });
  assert.equal((await extractFile("docx", docx, { maxElements: 100 })).markdown, "Text");
});

test("docx: deep nesting ends in an error, not in a crash", async () => {
  const body = `${"<w:sdt><w:sdtContent>".repeat(20_000)}${paragraph("x")}${"</w:sdtContent></w:sdt>".repeat(20_000)}`;
  await assert.rejects(extractFile("docx", makeDocx({ body })), { name: "ExtractError", code: "invalid_file" });
});

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
