// PDF files become text in reading order, with headings and pages.
import assert from "node:assert/strict";
import { test } from "node:test";
import { joinLines } from "../../src/extract/pdf.ts";
import { extractFile } from "./extract-file.ts";
import { makePdf, type PlacedText } from "./make-pdf.ts";

/** Lines below each other, 14 points apart, from the given height down. */
function lines(top: number, ...texts: string[]): PlacedText[] {
  return texts.map((text, at) => ({ text, y: top - 14 * at }));
}

test("pdf: headings by size, paragraphs by distance, words healed", async () => {
  const pages = [
    [
      { text: "Reiserichtlinie", y: 780, size: 24 },
      { text: "Grundsätze", y: 740, size: 16 },
      ...lines(
        710,
        "Für alle Reisen gelten die fol-",
        "genden Regeln, mit Vor- und Nach-",
        "teilen der SharePoint-",
        "Bibliothek.",
      ),
      ...lines(640, "Ein neuer Absatz."),
    ],
  ];
  assert.deepEqual(await extractFile("pdf", makePdf({ pages, title: "Microsoft Word - x.docx" })), {
    title: "Reiserichtlinie",
    language: "de",
    markdown: [
      "<!-- page 1 -->",
      "# Reiserichtlinie",
      "## Grundsätze",
      "Für alle Reisen gelten die folgenden Regeln, mit Vor- und Nachteilen der SharePoint-Bibliothek.",
      "Ein neuer Absatz.",
    ].join("\n\n"),
  });
});

test("pdf: a telling title in the properties wins", async () => {
  const pdf = makePdf({ pages: [lines(700, "Text")], title: "Annual report (2024)" });
  assert.equal((await extractFile("pdf", pdf)).title, "Annual report (2024)");
});

test("pdf: pages are marked, and a paragraph across the border stays whole", async () => {
  const pages = [
    [...lines(780, "First page."), ...lines(740, "It ends with-")],
    [...lines(780, "out a stop and goes on."), ...lines(740, "Here.")],
    lines(780, "Third page."),
  ];
  assert.equal(
    (await extractFile("pdf", makePdf({ pages }))).markdown,
    "<!-- page 1 -->\n\nFirst page.\n\nIt ends without a stop and goes on.\n\n<!-- page 2 -->\n\nHere.\n\n<!-- page 3 -->\n\nThird page.",
  );
});

test("pdf: CJK through a Unicode map", async () => {
  const { markdown } = await extractFile("pdf", makePdf({ pages: [lines(700, "漢字かな交じり文", "ĀĂ text")] }));
  assert.equal(markdown, "<!-- page 1 -->\n\n漢字かな交じり文 ĀĂ text");
});

test("pdf: columns keep their order, pages drawn upside down are sorted", async () => {
  const left = lines(700, "one", "two").map((line) => ({ ...line, x: 72 }));
  const right = lines(700, "three", "four").map((line) => ({ ...line, x: 320 }));
  const columns = await extractFile("pdf", makePdf({ pages: [[...left, ...right]] }));
  assert.equal(columns.markdown, "<!-- page 1 -->\n\none two three four");
  const reversed = lines(700, "This is the first line", "and the second line", "and the last.").toReversed();
  const sorted = await extractFile("pdf", makePdf({ pages: [reversed] }));
  assert.match(sorted.markdown, /This is the first line and the second line and the last\./);
});

test("pdf: two columns drawn row by row are read one after the other, a table is not", async () => {
  const words = (side: string, at: number): string => `${side} column in its line ${"abcdefghij"[at]} of ten`;
  const drawn = (left: (at: number) => string, right: (at: number) => string): PlacedText[] =>
    Array.from({ length: 10 }, (_, at) => [
      { text: left(at), x: 72, y: 700 - 14 * at },
      { text: right(at), x: 320, y: 700 - 14 * at },
    ]).flat();
  const heading = {
    text: "One heading above both of the columns, from the left to the right of the page",
    y: 740,
    x: 72,
  };
  const columns = drawn(
    (at) => words("left", at),
    (at) => words("right", at),
  );
  const { markdown } = await extractFile("pdf", makePdf({ pages: [[heading, ...columns]] }));
  const sides = [...markdown.matchAll(/\b(left|right) column/g)].map(([, side]) => side);
  assert.deepEqual(sides, [...Array(10).fill("left"), ...Array(10).fill("right")]);
  const cells = drawn(
    (at) => `Item ${at}`,
    (at) => (at % 2 ? "1" : "a longer remark on the item"),
  );
  assert.match((await extractFile("pdf", makePdf({ pages: [cells] }))).markdown, /Item 1 1 Item 2 a longer/);
});

test("pdf: list items stand alone", async () => {
  const pages = [lines(700, "Bring:", "• passport", "• ticket", "1. first", "2. second")];
  const recipe = makePdf({
    pages: pages.map((page) => page.map((line) => ({ ...line, text: line.text.replace("•", "-") }))),
  });
  assert.match(
    (await extractFile("pdf", recipe)).markdown,
    /Bring:\n\n- passport\n\n- ticket\n\n1\. first\n\n2\. second$/,
  );
});

test("pdf: a table of contents is a line per entry, without its dots and without headings", async () => {
  const entries = [`1 Introduction ${". ".repeat(40)}1`, `2 Structure${".".repeat(30)}12`];
  const pages = [
    [
      { text: entries[0] ?? "", y: 700, size: 14 },
      ...lines(680, entries[1] ?? "", "Text that is longer than the entries above, for the body size."),
    ],
  ];
  assert.equal(
    (await extractFile("pdf", makePdf({ pages }))).markdown,
    "<!-- page 1 -->\n\n1 Introduction … 1\n\n2 Structure … 12\n\nText that is longer than the entries above, for the body size.",
  );
});

test("pdf: running heads and page numbers are told once", async () => {
  const pages = [1, 2, 3, 4, 5].map((page) => [
    { text: "ACME handbook", y: 810 },
    ...lines(700, `Text of page ${"abcde"[page]}.`),
    { text: `Page ${page} of 5`, y: 30 },
  ]);
  const { markdown } = await extractFile("pdf", makePdf({ pages }));
  assert.equal(markdown.match(/ACME handbook/g)?.length, 1);
  assert.equal(markdown.match(/of 5/g)?.length, 1);
  assert.equal(markdown.match(/Text of page/g)?.length, 5);
});

test("pdf: heads that change with the chapter are told once, too", async () => {
  const pages = Array.from({ length: 12 }, (_, page) => [
    { text: `Chapter ${page < 6 ? "One" : "Two"} - ${page + 1}`, y: 810 },
    ...lines(700, `Text of page ${"abcdefghijkl"[page]}.`, "More."),
  ]);
  const { markdown } = await extractFile("pdf", makePdf({ pages }));
  assert.equal(markdown.match(/Chapter (?:One|Two)/g)?.length, 2);
});

test("pdf: text that looks like marks is no structure", async () => {
  const { markdown } = await extractFile(
    "pdf",
    makePdf({ pages: [[...lines(700, "# no"), ...lines(600, "<!-- page 9 -->")]] }),
  );
  assert.equal(markdown, "<!-- page 1 -->\n\n\\# no\n\n\\<!-- page 9 -->");
});

const joins: readonly [before: string, after: string, words: readonly string[], joined: string][] = [
  ["a line", "goes on", [], "a line goes on"],
  ["Donau\u00ad", "dampf", [], "Donaudampf"],
  ["the exam-", "ple here", [], "the example here"],
  ["a well-", "known fact", ["well-known"], "a well-known fact"],
  ["an e-", "mail", ["e-mail", "email"], "an email"],
  ["Vor-", "und Nachteile", [], "Vor- und Nachteile"],
  ["SharePoint-", "Bibliothek", [], "SharePoint-Bibliothek"],
  ["ISO-", "9001", [], "ISO-9001"],
  ["from 3 -", "and on", [], "from 3 - and on"],
];

for (const [before, after, words, joined] of joins) {
  test(`joinLines: ${before} | ${after}`, () => {
    assert.equal(joinLines(before, after, new Set(words)), joined);
  });
}

const refused: readonly [title: string, bytes: Buffer, message: RegExp][] = [
  ["protected", makePdf({ pages: [lines(700, "secret")], encrypted: true }), /password/],
  ["no text", makePdf({ pages: [[], []] }), /no text/],
  ["damaged", Buffer.from("%PDF-1.7\nnothing that could be read"), /damaged/],
  ["another format", Buffer.from("hello"), /damaged/],
  ["a picture", Buffer.from("\x89PNG\r\n\x1a\n", "latin1"), /not a PDF document: it seems to be a PNG picture/],
];

for (const [title, bytes, message] of refused) {
  test(`pdf refused: ${title}`, async () => {
    await assert.rejects(extractFile("pdf", bytes), { name: "ExtractError", code: "invalid_file", message });
  });
}
