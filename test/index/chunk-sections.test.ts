// Sections are cut into chunks at the best border: blocks, sentences, words, characters.
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { Chunk, ChunkOptions } from "../../src/index/chunk-sections.ts";
import { estimateTokens } from "../../src/index/estimate-tokens.ts";
import { chunkSections, parseSections } from "./whole-sections.ts";

function chunk(markdown: string, options: Partial<ChunkOptions> = {}): Chunk[] {
  return chunkSections(parseSections(markdown), { maxTokens: 100, overlapTokens: 0, ...options });
}

const sentence = (n: number): string => `Sentence number ${n} says something that nobody will remember tomorrow.`;
const sentences = (n: number): string => Array.from({ length: n }, (_, at) => sentence(at)).join(" ");

test("a chunk knows where it stands", () => {
  const [first, second] = chunk(`# Travel\n${sentences(3)}\n## Hotels\n${sentences(4)}`);
  assert.deepEqual(
    [first?.sectionPath, first?.heading, first?.level, first?.position, first?.text],
    ["Travel", "Travel", 1, 0, sentences(3)],
  );
  assert.deepEqual(
    [second?.sectionPath, second?.heading, second?.level, second?.position],
    ["Travel > Hotels", "Hotels", 2, 1],
  );
});

test("long sections are cut between blocks first", () => {
  const paragraphs = [sentences(3), sentences(3), sentences(3)];
  const chunks = chunk(`# A\n${paragraphs.join("\n\n")}`);
  assert.deepEqual(
    chunks.map((each) => each.text),
    paragraphs,
  );
});

test("then between sentences, then words, then characters", () => {
  for (const { text } of chunk(sentences(20))) assert.match(text, /^Sentence .* tomorrow\.$/);
  const words = chunk("wort ".repeat(500));
  assert.ok(words.length > 4);
  for (const { text } of words) assert.match(text, /^wort( wort)*$/);
  const letters = chunk("x".repeat(4000));
  assert.equal(letters.map((each) => each.text).join(""), "x".repeat(4000));
  assert.equal(letters.length, 10);
});

test("abbreviations do not end a sentence before a small letter", () => {
  const [first] = chunk(`${"Take e.g. this one. ".repeat(40)}`, { maxTokens: 12 });
  assert.equal(first?.text, "Take e.g. this one. Take e.g. this one.");
});

test("list items stay whole", () => {
  const items = Array.from({ length: 12 }, (_, at) => `- item ${at} ${"word ".repeat(12).trim()}`);
  const chunks = chunk(items.join("\n"));
  assert.ok(chunks.length > 1);
  for (const { text } of chunks) for (const line of text.split("\n")) assert.ok(items.includes(line), line);
});

test("a table that fits is not cut, a larger one repeats its header", () => {
  const row = (n: number): string => `| ${n} | ${"x".repeat(30)} |`;
  const head = "| Number | Text |\n| --- | --- |";
  const small = `${head}\n${Array.from({ length: 7 }, (_, at) => row(at)).join("\n")}`;
  const texts = chunk(`${sentences(3)}\n\n${small}`).map((each) => each.text);
  assert.deepEqual(texts, [sentences(3), small]);
  const large = chunk(`${head}\n${Array.from({ length: 50 }, (_, at) => row(at)).join("\n")}`);
  assert.ok(large.length > 3);
  for (const { text } of large) assert.ok(text.startsWith(`${head}\n| `), text);
  const rows = large.flatMap((each) => each.text.split("\n").slice(2));
  assert.deepEqual(
    rows,
    Array.from({ length: 50 }, (_, at) => row(at)),
  );
});

test("code is not cut when it fits; parts of longer code are fenced again", () => {
  const code = "```ts\nconst first = 1;\n\nconst second = 2;\n\nconst third = first + second;\n```";
  assert.deepEqual(
    chunk(`${sentences(5)}\n\n${code}`).map((each) => each.text),
    [sentences(5), code],
  );
  const long = Array.from({ length: 60 }, (_, at) => `  call(${at});`);
  const parts = chunk(`~~~js\n${long.join("\n")}\n~~~`);
  assert.ok(parts.length > 1);
  for (const { text } of parts) assert.match(text, /^~~~js\n {2}call[\s\S]*\n~~~$/);
  assert.deepEqual(
    parts.flatMap((part) => part.text.split("\n").slice(1, -1)),
    long,
  );
});

test("overlap repeats whole sentences, and only inside a section", () => {
  const chunks = chunk(`# A\n${sentences(12)}\n# B\n${sentences(3)}`, { overlapTokens: 20 });
  const inA = chunks.filter((each) => each.heading === "A");
  assert.ok(inA.length > 2);
  for (const [at, { text }] of inA.entries()) {
    if (at === 0) continue;
    const last = inA[at - 1]?.text.slice(-sentence(1).length) ?? "";
    assert.ok(text.startsWith(last.slice(last.indexOf("Sentence"))), text);
  }
  assert.equal(chunks.at(-1)?.text, sentences(3));
});

test("small neighbours share a chunk that keeps their headings and bears the path of the largest", () => {
  const chunks = chunk("# FAQ\n## One\nYes.\n## Two\nNo, never on Sundays.\n# Other\nText");
  assert.deepEqual(
    chunks.map((each) => [each.sectionPath, each.text]),
    [
      ["FAQ > Two", "## One\n\nYes.\n\n## Two\n\nNo, never on Sundays."],
      ["Other", "Text"],
    ],
  );
});

test("a heading without text is found by its words", () => {
  assert.deepEqual(
    chunk("# A\n## Lonely heading").map((each) => [each.sectionPath, each.text]),
    [["A > Lonely heading", "Lonely heading"]],
  );
});

test("pages are read from their marks and are no text", () => {
  const pages = [1, 2, 3].map((page) => `<!-- page ${page} -->\n\n${sentences(4)}`);
  const chunks = chunk(`${pages.join("\n\n")}\n\n<!-- page 4 -->\n\n## Annex\n\n${sentences(4)}`);
  assert.deepEqual(
    chunks.map((each) => each.page),
    [1, 2, 3, 4],
  );
  for (const { text } of chunks) assert.ok(!text.includes("<!--"));
  assert.equal(chunk("no marks")[0]?.page, 0);
});

test("the caller's token counter is obeyed", () => {
  const countTokens = (text: string): number => text.split(/\s+/).filter(Boolean).length;
  const chunks = chunk("a ".repeat(100), { maxTokens: 10, countTokens });
  assert.deepEqual(
    chunks.map((each) => countTokens(each.text)),
    Array.from({ length: 10 }, () => 10),
  );
  assert.throws(() => chunk("a", { maxTokens: 0 }), RangeError);
});

const word = fc.oneof(
  fc.stringMatching(/^[a-zäöü]{1,9}[.!?,]?$/),
  fc.constantFrom(
    "漢字",
    "かな。",
    "|",
    "#",
    "##",
    "-",
    "1.",
    "```",
    "~~~",
    ">",
    "---",
    "===",
    "| a | b |",
    "𠀋",
    "<b>",
  ),
);
const line = fc.array(word, { maxLength: 12 }).map((words) => words.join(" "));
const table = fc
  .array(line, { minLength: 1, maxLength: 6 })
  .map((rows) => ["| h | k |", "| --- | --- |", ...rows.map((row) => `| ${row} | x |`)].join("\n"));
const code = fc.array(line, { maxLength: 6 }).map((lines) => ["```ts", ...lines, "```"].join("\n"));
const headingLine = fc
  .tuple(fc.integer({ min: 1, max: 6 }), line)
  .map(([level, text]) => `${"#".repeat(level)} ${text}`);
const markdown = fc
  .array(fc.oneof(line, table, code, headingLine, fc.constant("")), { maxLength: 30 })
  .map((lines) => lines.join("\n"));

/** Letters and digits only: heading marks, fences and table rules may be written anew. */
function content(text: string): string {
  return text.replaceAll(/[^\p{L}\p{N}]/gu, "");
}

test("property: no text is lost, order is kept, no chunk is too long", () => {
  fc.assert(
    fc.property(markdown, fc.integer({ min: 8, max: 80 }), fc.integer({ min: 0, max: 40 }), (text, max, overlap) => {
      const chunks = chunk(text, { maxTokens: max, overlapTokens: overlap });
      for (const each of chunks) assert.ok(estimateTokens(each.text) <= max, `${max}: ${each.text}`);
      const found = chunks.map((each) => content(`${each.sectionPath} ${each.text}`)).join("");
      let at = 0;
      for (const letter of content(text)) {
        at = found.indexOf(letter, at) + 1;
        assert.notEqual(at, 0, `lost '${letter}'`);
      }
    }),
    { numRuns: 500 },
  );
});

test("property: running text without overlap comes back word for word", () => {
  const words = fc.array(fc.stringMatching(/^[a-zäöü漢]{1,9}[.!?]?$/), { minLength: 1, maxLength: 80 });
  fc.assert(
    fc.property(fc.array(words, { minLength: 1, maxLength: 5 }), fc.integer({ min: 16, max: 60 }), (list, max) => {
      const paragraphs = list.map((each) => each.join(" "));
      const chunks = chunk(paragraphs.join("\n\n"), { maxTokens: max });
      assert.deepEqual(
        chunks.flatMap((each) => each.text.split(/\s+/)),
        list.flat(),
      );
    }),
  );
});

test("hostile text is cut in one pass", () => {
  assert.ok(chunk("x".repeat(5_000_000), { maxTokens: 800 }).length > 1500);
  assert.ok(chunk("word ".repeat(1_000_000), { maxTokens: 800, overlapTokens: 400 }).length > 3000);
  assert.ok(chunk("中".repeat(500_000), { maxTokens: 800, overlapTokens: 400 }).length > 1000);
  assert.ok(chunk("> ".repeat(100_000)).length > 400);
  assert.ok(chunk("#\n".repeat(1_000_000)).length === 0);
  assert.ok(chunk("# a\n".repeat(200_000), { maxTokens: 800 }).length > 5000);
  assert.ok(chunk(`${"|".repeat(500_000)}\n${"|-".repeat(250_000)}\n| x |`).length > 1000);
  assert.ok(chunk("```\n".repeat(300_000)).length > 1000);
  assert.ok(chunk(". ".repeat(2_000_000)).length > 1000);
  assert.equal(chunk(`a${" ".repeat(5_000_000)}b`)[0]?.text, "a b");
  assert.equal(chunk("\n".repeat(5_000_000)).length, 0);
});
