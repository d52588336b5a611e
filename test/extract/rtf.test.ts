// RTF files become text, whatever their groups.
import assert from "node:assert/strict";
import { test } from "node:test";
import { extractFile } from "./extract-file.ts";

const HEAD =
  "{\\rtf1\\ansi\\ansicpg1252\\deff0{\\fonttbl{\\f0\\fswiss\\fcharset0 Arial;}{\\f1\\fcharset204 Arial;}{\\f2\\fcharset128 MS Mincho;}}{\\colortbl;\\red0\\green0\\blue0;}{\\stylesheet{\\s0 Normal;}{\\s1\\b heading 1;}{\\s2 \\'dcberschrift 2;}}";

async function markdownOf(body: string): Promise<string> {
  return (await extractFile("rtf", Buffer.from(`${HEAD}${body}}`, "latin1"))).markdown;
}

const cases: readonly [title: string, rtf: string, markdown: string][] = [
  [
    "headings by style and outline",
    "\\pard\\s1 One\\par\\pard\\s2 Two\\par\\pard\\outlinelevel2 Three\\par\\pard text\\par",
    "# One\n\n## Two\n\n### Three\n\ntext",
  ],
  ["characters of code pages", "K\\'f6ln {\\f1\\'cf\\'f0\\'e8} {\\f2\\'8a\\'bf\\'8e\\'9a}", "Köln При 漢字"],
  ["Unicode with what stands for it", "\\u8364?uro \\uc2\\u-10179 ab\\u-8704\\'3f\\'3fx \\uc0\\u228x", "€uro 😀x äx"],
  [
    "signs and escapes",
    "a\\~b\\_c \\{x\\} \\\\ \\emdash\\endash\\ldblquote q\\rdblquote\\line next",
    "a b‑c {x} \\ —–“q”\nnext",
  ],
  ["bold is dropped, words stay whole", "Donau{\\b dampf}\\i schiff\\i0 .", "Donaudampfschiff."],
  [
    "what is no text is left out",
    "a{\\*\\generator x;}{\\pict\\bin5 {}}{}}b{\\header top}{\\field{\\*\\fldinst HYPERLINK x}{\\fldrslt link}}c",
    "ablinkc",
  ],
  ["lists", "{\\listtext\\'b7\\tab}one\\par{\\listtext\\'b7\\tab}two\\par three", "- one\n\n- two\n\nthree"],
  [
    "tables",
    "\\trowd\\intbl Art\\cell EUR\\cell\\row\\trowd\\intbl a|b\\par c\\cell 1\\cell\\row\\pard after\\par",
    "| Art | EUR |\n| --- | --- |\n| a\\|b c | 1 |\n\nafter",
  ],
  ["text that looks like marks", "# no\\par - no\\par", "\\# no\n\n\\- no"],
];

for (const [title, rtf, markdown] of cases) {
  test(`rtf: ${title}`, async () => assert.equal(await markdownOf(rtf), markdown));
}

test("rtf: the title of the properties", async () => {
  const { title } = await extractFile("rtf", "{\\rtf1{\\info{\\author A}{\\title My Title}{\\doccomm c}}text}");
  assert.equal(title, "My Title");
});

test("rtf: groups without end, and without beginning", async () => {
  assert.equal(await markdownOf(`${"{".repeat(500_000)}deep`), "deep");
  assert.equal(await markdownOf(`a${"}".repeat(1000)}b`), "ab");
  await assert.rejects(extractFile("rtf", "text"), { name: "ExtractError", message: /not a Rich Text document/ });
});
