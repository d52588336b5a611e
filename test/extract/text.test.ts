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
  ["windows-1252", Buffer.from("Gr\xfc\xdfe aus K\xf6ln \x96 10 \x80", "latin1"), UMLAUTS],
];

for (const [name, bytes, text] of encodings) {
  test(`txt in ${name}`, async () => {
    assert.deepEqual(await extractFile("txt", bytes), { title: "", markdown: text });
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

const markdowns: readonly [title: string, input: string, title_: string, markdown: string][] = [
  ["title from the first heading", "text\n\n## Über uns ##\n\nmore", "Über uns", "text\n\n## Über uns ##\n\nmore"],
  ["title from an underlined heading", "Titel\n=====\ntext", "Titel", "Titel\n=====\ntext"],
  ["headings in code do not count", "```\n# no\n```\n\n# Yes", "Yes", "```\n# no\n```\n\n# Yes"],
  ["front matter is taken out", '---\ntitle: "Mein: Titel"\ntags: [a]\n---\n\n# H\n', "Mein: Titel", "# H"],
  ["front matter without title", "---\nlayout: page\n...\n# H\ntext", "H", "# H\ntext"],
  ["a rule is no front matter", "---\n\ntext\n\n---\nmore", "", "---\n\ntext\n\n---\nmore"],
  ["unclosed front matter stays", "---\ntitle: x\n\ntext", "", "---\ntitle: x\n\ntext"],
  ["no heading at all", "just text", "", "just text"],
];

for (const [name, input, title, markdown] of markdowns) {
  test(`md: ${name}`, async () => {
    assert.deepEqual(await extractFile("md", input), { title, markdown });
  });
}
