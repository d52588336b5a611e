// For random texts, chunks keep every word, stay within their size and do not cut what fits.
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { Chunk } from "../../src/index/chunk-sections.ts";
import { estimateTokens } from "../../src/index/estimate-tokens.ts";
import { chunkSections, parseSections } from "./whole-sections.ts";

function chunk(markdown: string, maxTokens: number, overlapTokens = 0): Chunk[] {
  return chunkSections(parseSections(markdown), { maxTokens, overlapTokens });
}

/** A block as it is written, and the words in it that occur nowhere else in the document. */
interface Written {
  readonly kind: "text" | "list" | "table" | "code" | "heading";
  readonly text: string;
}

/** How many words each block has; their numbers run through the document. */
const shape = fc.array(
  fc.record({
    kind: fc.constantFrom<Written["kind"]>("text", "text", "list", "table", "code", "heading"),
    words: fc.integer({ min: 1, max: 120 }),
    perLine: fc.integer({ min: 1, max: 9 }),
  }),
  { minLength: 1, maxLength: 12 },
);
type Shape = typeof shape extends fc.Arbitrary<infer T> ? T : never;

function write(blocks: Shape): { readonly markdown: string; readonly blocks: Written[]; readonly words: string[] } {
  const words: string[] = [];
  const next = (): string => {
    words.push(`W${words.length}w`);
    return words.at(-1) ?? "";
  };
  const written = blocks.map(({ kind, words: count, perLine }): Written => {
    const lines: string[][] = [];
    const shown = kind === "heading" ? Math.min(count, 6) : count;
    for (let at = 0; at < shown; at += 1) {
      if (at % perLine === 0) lines.push([]);
      lines.at(-1)?.push(next());
    }
    return { kind, text: layOut(kind, lines) };
  });
  return { markdown: written.map(({ text }) => text).join("\n\n"), blocks: written, words };
}

function layOut(kind: Written["kind"], lines: readonly string[][]): string {
  if (kind === "heading") return `## ${lines.flat().join(" ")}`;
  if (kind === "list") return lines.map((line) => `- ${line.join(" ")}`).join("\n");
  if (kind === "code") return ["```ts", ...lines.map((line) => `  ${line.join("; ")};`), "```"].join("\n");
  if (kind === "table")
    return ["| Head | Rest |", "| --- | --- |", ...lines.map((l) => `| ${l.join(" ")} | x |`)].join("\n");
  return lines.map((line) => `${line.join(" ")}.`).join(" ");
}

function numbered(text: string): string[] {
  return text.match(/W\d+w/g) ?? [];
}

const limits = fc.integer({ min: 40, max: 300 });

test("property: without overlap every word is there once, in its order; headings stand in the path", () => {
  fc.assert(
    fc.property(shape, limits, (blocks, max) => {
      const { markdown, words } = write(blocks);
      const chunks = chunk(markdown, max);
      const inText = chunks.flatMap(({ text }) => numbered(text));
      const inPath = new Set(chunks.flatMap(({ sectionPath }) => numbered(sectionPath)));
      assert.deepEqual(inText, [...new Set(inText)], "said twice");
      assert.deepEqual(
        inText,
        words.filter((word) => inText.includes(word)),
        "out of order",
      );
      assert.deepEqual(
        words.filter((word) => !inText.includes(word) && !inPath.has(word)),
        [],
        "lost",
      );
    }),
  );
});

test("property: a chunk repeats the end of the one before it, at most half a chunk, and goes on from there", () => {
  fc.assert(
    fc.property(shape, limits, fc.integer({ min: 0, max: 400 }), (blocks, max, overlap) => {
      const { markdown, words } = write(blocks);
      const chunks = chunk(markdown, max, overlap);
      let before: string[] = [];
      const seen = new Set<string>();
      for (const { text, sectionPath } of chunks) {
        const here = numbered(text);
        const repeated = here.filter((word) => seen.has(word));
        assert.deepEqual(here.slice(0, repeated.length), repeated, "repeats in the middle");
        assert.deepEqual(
          before.slice(before.length - repeated.length),
          repeated,
          "repeats something else than the end",
        );
        assert.ok(estimateTokens(repeated.join(" ")) <= Math.min(overlap, max / 2), "repeats too much");
        assert.ok(here.length > repeated.length, `adds nothing: ${text}`);
        for (const word of [...here, ...numbered(sectionPath)]) seen.add(word);
        before = here;
      }
      assert.deepEqual(
        words.filter((word) => !seen.has(word)),
        [],
        "lost",
      );
    }),
  );
});

test("property: no chunk is longer than asked for, over all sizes the wire protocol allows", () => {
  const sizes = fc
    .integer({ min: 100, max: 4096 })
    .chain((max) => fc.tuple(fc.constant(max), fc.integer({ min: 0, max: Math.floor(max / 2) })));
  fc.assert(
    fc.property(shape, sizes, (blocks, [max, overlap]) => {
      const chunks = chunk(write(blocks).markdown, max, overlap);
      for (const { text } of chunks) assert.ok(estimateTokens(text) <= max, `${estimateTokens(text)} > ${max}`);
      assert.deepEqual(
        chunks.map(({ position }) => position),
        chunks.map((_, at) => at),
      );
    }),
  );
});

test("property: tables, code, list items and sentences that fit are not cut", () => {
  fc.assert(
    fc.property(shape, limits, fc.integer({ min: 0, max: 100 }), (blocks, max, overlap) => {
      const { markdown, blocks: written } = write(blocks);
      const texts = chunk(markdown, max, overlap).map(({ text }) => text);
      for (const { kind, text } of written) {
        const wholes = kind === "text" ? text.match(/[^.]+\./g) : kind === "list" ? text.split("\n") : [text];
        for (const whole of kind === "heading" ? [] : (wholes ?? [])) {
          if (estimateTokens(whole.trim()) > max) continue;
          assert.ok(
            texts.some((one) => one.includes(whole.trim())),
            `cut: ${whole}\n${texts.join("\n=====\n")}`,
          );
        }
      }
    }),
  );
});

test("property: every part of a table has its header, every part of code its fences", () => {
  fc.assert(
    fc.property(fc.integer({ min: 30, max: 400 }), fc.integer({ min: 1, max: 6 }), (words, perLine) => {
      for (const kind of ["table", "code"] as const) {
        const texts = chunk(write([{ kind, words, perLine }]).markdown, 60, 20).map(({ text }) => text);
        const whole =
          kind === "table" ? /^\| Head \| Rest \|\n\| --- \| --- \|\n(\| .* \| x \|\n?)+$/ : /^```ts\n[^`]*\n```$/;
        for (const text of texts) assert.match(text, whole);
      }
    }),
  );
});

test("property: characters that people see as one stay together in text without blanks", () => {
  const graphemes = new Intl.Segmenter("und", { granularity: "grapheme" });
  const split = (text: string): string[] => [...graphemes.segment(text)].map(({ segment }) => segment);
  const letters = fc.constantFrom("ก", "กำ", "ที่", "नि", "स्ते", "漢", "が", "é", "👍🏽", "👨‍👩‍👧", "🤚");
  fc.assert(
    fc.property(fc.array(letters, { minLength: 100, maxLength: 400 }), (list) => {
      const text = list.join("");
      const parts = chunk(text, 100).map((one) => one.text);
      assert.ok(parts.length > 0);
      assert.deepEqual(parts.flatMap(split), split(text));
    }),
    { numRuns: 30 },
  );
});

test("sentences end in other scripts, too", () => {
  const cases = ["यह पहला वाक्य है। ", "هل هذا سؤال؟ ", "یہ ایک جملہ ہے۔ ", "这是一个句子。", "**Bold ends here.** "];
  for (const sentence of cases) {
    for (const { text } of chunk(sentence.repeat(60), 60)) {
      assert.ok(text.startsWith(sentence.trim()) && text.endsWith(sentence.trim()), text);
    }
  }
});
