// Text is parsed into sections by its headings, also when it is hostile.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Section } from "../../src/contracts/document.ts";
import { parseSections } from "./whole-sections.ts";

/** `level heading: content` per line, indented by depth. */
function outline(section: Section, depth = 0): string[] {
  const own = `${"  ".repeat(depth)}${section.level} ${section.heading}: ${section.content.replaceAll("\n", "/")}`;
  return [own.trimEnd(), ...section.children.flatMap((child) => outline(child, depth + 1))];
}

const cases: readonly [title: string, markdown: string, expected: readonly string[]][] = [
  ["empty", "", ["0 :"]],
  ["no heading", "\n\n  one\n\ntwo\n\n", ["0 :   one//two"]],
  ["nested", "intro\n# A\na\n## B\nb\n# C\nc", ["0 : intro", "  1 A: a", "    2 B: b", "  1 C: c"]],
  ["skipped levels", "### C\nc\n# A\n#### D\n## B", ["0 :", "  3 C: c", "  1 A:", "    4 D:", "    2 B:"]],
  ["closing marks and C#", "# A ##\n## C#\n### #", ["0 :", "  1 A:", "    2 C#:", "      3 :"]],
  ["not headings", "#hash\n####### seven\n    # code\n\\# no", ["0 : #hash/####### seven/    # code/\\# no"]],
  ["up to three blanks before", "   # A\nx", ["0 :", "  1 A: x"]],
  ["Setext", "Title\n=====\ntext\n\nSub\nline\n---\nmore", ["0 :", "  1 Title: text", "    2 Sub line: more"]],
  ["a rule is no underline", "text\n\n---\n\nmore", ["0 : text//---//more"]],
  ["lists, quotes and tables are not underlined", "- a\n---\n> b\n---\n| c |\n---", ["0 : - a/---/> b/---/| c |/---"]],
  ["fences hide marks", "# A\n```sh\n# no\n~~~\n```\n# B", ["0 :", "  1 A: ```sh/# no/~~~/```", "  1 B:"]],
  ["a longer fence", "````\n```\n# no\n````\n# B", ["0 : ````/```/# no/````", "  1 B:"]],
  ["an open fence reaches the end", "~~~\n# no", ["0 : ~~~/# no"]],
  ["inline code is no fence", "``` a ``` b\n# A", ["0 : ``` a ``` b", "  1 A:"]],
  ["CRLF", "# Ä\r\n\r\ntext\r\n", ["0 :", "  1 Ä: text"]],
  ["a heading of a thousand characters is text", `# ${"x".repeat(1000)}`, [`0 : # ${"x".repeat(1000)}`]],
];

for (const [title, markdown, expected] of cases) {
  test(`parseSections: ${title}`, () => {
    assert.deepEqual(outline(parseSections(markdown)), expected);
  });
}

test("parseSections reads a million marks, quotes and empty headings", () => {
  assert.equal(parseSections("#".repeat(1_000_000)).children.length, 0);
  assert.equal(parseSections("#\n".repeat(1_000_000)).children.length, 1_000_000);
  const quotes = ">".repeat(100_000);
  assert.equal(parseSections(`${quotes}\n# A\n${"> ".repeat(100_000)}x`).children[0]?.heading, "A");
  assert.equal(parseSections("-".repeat(1_000_000)).content.length, 1_000_000);
  assert.equal(parseSections("a\n-".repeat(300_000)).children.length, 0);
  const line = "word ".repeat(20_000_000);
  assert.equal(parseSections(line).content.length, line.length - 1);
});
