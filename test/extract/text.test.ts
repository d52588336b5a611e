// Plain text is read in every encoding, and code and JSON stay readable.
import assert from "node:assert/strict";
import { test } from "node:test";
import { extractFile } from "./extract-file.ts";

const UMLAUTS = "Grüße aus Köln – 10 €";

function utf16(text: string, order: "le" | "be"): Buffer {
  const bytes = Buffer.from(`\ufeff${text}`, "utf16le");
  return order === "le" ? bytes : bytes.swap16();
}

const encodings: readonly [name: string, bytes: Buffer, text: string][] = [
  ["UTF-8", Buffer.from(`${UMLAUTS} 漢字 😀`), `${UMLAUTS} 漢字 😀`],
  ["UTF-8 with a mark", Buffer.from(`\ufeff${UMLAUTS}`), UMLAUTS],
  ["UTF-16 LE", utf16(`${UMLAUTS} 漢字`, "le"), `${UMLAUTS} 漢字`],
  ["UTF-16 BE", utf16(`${UMLAUTS} 漢字`, "be"), `${UMLAUTS} 漢字`],
  ["UTF-16 LE without a mark", utf16(UMLAUTS, "le").subarray(2), UMLAUTS],
  ["UTF-16 BE without a mark", utf16(UMLAUTS, "be").subarray(2), UMLAUTS],
  ["windows-1252", Buffer.from("Gr\xfc\xdfe aus K\xf6ln \x96 10 \x80", "latin1"), UMLAUTS],
];

/** Text beyond Latin in the encodings of before, as bytes in hexadecimal. */
const legacy: readonly [name: string, hex: string, text: string][] = [
  [
    "windows-1251",
    "c2f1e520f1eef2f0f3e4ede8eae820eceee3f3f220f0e0e1eef2e0f2fc20e8e720e4eeece020e4ee20f2f0b8f520e4ede5e920e220ede5e4e5ebfe2e",
    "Все сотрудники могут работать из дома до трёх дней в неделю.",
  ],
  [
    "Shift_JIS",
    "82b782d782c482cc8f5d8bc688f582cd81418fe38e6982aa93af88d382b782ea82ce81418ea991ee82c58bce96b182c582ab82dc82b78142",
    "すべての従業員は、上司が同意すれば、自宅で勤務できます。",
  ],
  [
    "EUC-JP",
    "a4b9a4d9a4c6a4cebdbeb6c8b0f7a4cfa1a2bee5bbcaa4acc6b1b0d5a4b9a4eca4d0a1a2bcabc2f0a4c7b6d0ccb3a4c7a4ada4dea4b9a1a3",
    "すべての従業員は、上司が同意すれば、自宅で勤務できます。",
  ],
  [
    "GB18030",
    "cbf9d3d0d4b1b9a4c3bfd6dcd7eeb6e0bfc9d2d4d4dabcd2b9a4d7f7c8fdcceca3acc7b0cce1cac7cbfbc3c7b5c4beadc0edcdacd2e2a1a3",
    "所有员工每周最多可以在家工作三天，前提是他们的经理同意。",
  ],
  [
    "Big5",
    "a9d2a6b3adfba475a843b667b3cca668a569a548a662ae61a475a740a454a4d1a141ab65b4a3ac4fa54cadccaabab867b27aa650b74ea143",
    "所有員工每週最多可以在家工作三天，前提是他們的經理同意。",
  ],
  [
    "EUC-KR",
    "b8f0b5e720c1f7bff8c0ba20b0fcb8aec0dab0a120b5bfc0c7c7cfb4c220b0e6bfec20c1fdbfa1bcad20c0cfc7d220bcf620c0d6bdc0b4cfb4d92e",
    "모든 직원은 관리자가 동의하는 경우 집에서 일할 수 있습니다.",
  ],
  [
    "KOI8-R",
    "f7d3c520d3cfd4d2d5c4cec9cbc920cdcfc7d5d420d2c1c2cfd4c1d4d820c9da20c4cfcdc120c4cf20d4d2c5c820c4cec5ca20d720cec5c4c5ccc02e",
    "Все сотрудники могут работать из дома до трех дней в неделю.",
  ],
];

for (const [name, bytes, text] of encodings) {
  test(`txt in ${name}`, async () => {
    assert.deepEqual(await extractFile("txt", bytes), { title: "", language: "", markdown: text });
  });
}

for (const [name, hex, text] of legacy) {
  test(`txt in ${name}`, async () => {
    assert.equal((await extractFile("txt", Buffer.from(hex, "hex"))).markdown, text);
  });
}

test("line ends become line feeds", async () => {
  const { markdown } = await extractFile("txt", "a\r\nb\rc\n\r\nd\r\n");
  assert.equal(markdown, "a\nb\nc\n\nd");
});

test("bytes that are no text are refused", async () => {
  const binary = { name: "ExtractError", code: "invalid_file", message: /NUL/ };
  await assert.rejects(extractFile("txt", Buffer.from([0x4d, 0x5a, 0x00, 0x01])), binary);
  await assert.rejects(extractFile("md", utf16("a\0b", "le")), binary);
});

test("source code is fenced, so that its comments are no headings", async () => {
  assert.equal(
    (await extractFile("py", "# not a heading\nx = 1\n")).markdown,
    "```python\n# not a heading\nx = 1\n```",
  );
  assert.equal((await extractFile("ts", "const f = `a`;\n/* ````` */")).markdown.split("\n")[0], "``````ts");
  assert.equal((await extractFile("json", '{"a":\n1}')).markdown, '```json\n{"a":\n1}\n```');
});

test("JSON written in one long line is broken into lines, and only white space is added", async () => {
  const rows = Array.from({ length: 60 }, (_, at) => ({ id: at, text: 'a, "b" {c} \\\\', big: [null, {}] }));
  const json = JSON.stringify({ rows }).replaceAll("null", "12345678901234567890");
  const { markdown } = await extractFile("json", json);
  assert.ok(markdown.split("\n").every((line) => line.length < 100));
  const inner = markdown.split("\n").slice(1, -1).join("\n");
  assert.ok(inner.includes("12345678901234567890"));
  assert.deepEqual(JSON.parse(inner), JSON.parse(json));
  assert.ok((await extractFile("json", "[".repeat(20_000))).markdown.length < 1_000_000);
});

test("XML says its encoding", async () => {
  const xml = Buffer.from('<?xml version="1.0" encoding="windows-1251"?><p>\xcf\xf0\xe8</p>', "latin1");
  assert.match((await extractFile("xml", xml)).markdown, /^```xml\n[\s\S]*<p>При<\/p>\n```$/);
});

const markdowns: readonly [title: string, input: string, title_: string, markdown: string][] = [
  ["title from the first heading", "text\n\n## Über uns ##\n\nmore", "Über uns", "text\n\n## Über uns ##\n\nmore"],
  ["title from an underlined heading", "Titel\n=====\ntext", "Titel", "Titel\n=====\ntext"],
  ["headings in code do not count", "```\n# no\n```\n\n# Yes", "Yes", "```\n# no\n```\n\n# Yes"],
  ["front matter", '---\ntitle: "Mein: Titel"\ntags: [a]\n---\n\n# H\n', "Mein: Titel", "# Mein: Titel\n\n# H"],
  [
    "a title that is the heading, too",
    "---\ntitle: H\ndescription: 'It''s d'\n---\n# H\n\ntext",
    "H",
    "# H\n\nIt's d\n\ntext",
  ],
  [
    "nothing but front matter",
    "---\ntitle: A\ndescription: >-\n  One\n  two.\ndraft: true\n---\n",
    "A",
    "# A\n\nOne two.",
  ],
  ["a description of several lines", '---\ndescription: "One\n  two \\"3\\"."\nlayout: a\n---\n', "", 'One two "3".'],
  ["front matter without title", "---\nlayout: page\n...\n# H\ntext", "H", "# H\ntext"],
  ["a rule is no front matter", "---\n\ntext\n\n---\nmore", "", "---\n\ntext\n\n---\nmore"],
  ["unclosed front matter stays", "---\ntitle: x\n\ntext", "", "---\ntitle: x\n\ntext"],
  ["no heading at all", "just text", "", "just text"],
];

for (const [name, input, title, markdown] of markdowns) {
  test(`md: ${name}`, async () => {
    assert.deepEqual(await extractFile("md", input), { title, language: "", markdown });
  });
}

const PICTURES = [
  "![](x.png)",
  "# ![](a.png)\n\n- [![]( b_(1).png )](https://example.com/)\n\n---\n",
  "---\nlayout: gallery\n---\n| ![](a.png) | ![][one] |\n| --- | --- |\n",
  '<img src="a.png">\n<img src="b.png" alt="">',
];

test("md: a page of pictures has no text, unless a word stands for one", async () => {
  for (const text of PICTURES)
    await assert.rejects(extractFile("md", text), /^ExtractError: The file contains no text/);
  for (const text of ["![Chart](x.png)", '<img src="a.png" alt="Chart">', "![](x.png) Chart", "[Chart](x.png)"]) {
    assert.match((await extractFile("md", text)).markdown, /Chart/);
  }
  const unclosed = "![](".repeat(200_000);
  assert.equal((await extractFile("md", unclosed)).markdown, unclosed);
});
