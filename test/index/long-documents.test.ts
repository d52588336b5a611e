// The process goes on working while a very long document is cut and analysed.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { ExtractError, type Extractor } from "../../src/contracts/document.ts";
import { createExtractor } from "../../src/extract/extractor.ts";
import { analyze } from "../../src/index/analyzer.ts";
import { type Chunking, DEFAULT_CHUNKING } from "../../src/index/chunk-sections.ts";
import { type PreparedBody, prepareBody } from "../../src/index/prepare-body.ts";
import { never } from "./index-fixture.ts";
import { watchGaps, workedMs } from "./longest-gap.ts";
import { chunkSections, parseSections } from "./whole-sections.ts";

let folder: string;
before(async () => {
  folder = await mkdtemp(join(tmpdir(), "long-"));
});
after(() => rm(folder, { recursive: true, force: true }));

async function prepare(text: string, chunking: Chunking, extractor: Extractor): Promise<PreparedBody> {
  const sha256 = createHash("sha256").update(text).digest("hex");
  const path = join(folder, `${sha256}.md`);
  await writeFile(path, text);
  return prepareBody(extractor, { path, sha256, fileType: "md", chunking }, never);
}

const PROSE = "alpha beta gamma delta epsilon contract invoice number report zeta eta theta.\n".repeat(80_000);
const LONG: Readonly<Record<string, string>> = {
  "running text": PROSE,
  "one line": "x".repeat(6_000_000),
  "one fence": `\`\`\`\n${PROSE}`,
  "many headings": "## Heading\n\nalpha beta gamma delta epsilon\n\n".repeat(60_000),
};

for (const [what, markdown] of Object.entries(LONG)) {
  test(`while ${what} of megabytes is cut and analysed, the process does other things`, async () => {
    // The extractor has a process of its own; here it only hands the text over.
    const extractor = { ...createExtractor(), extract: async () => ({ title: "", markdown, language: "" }) };
    const startedAt = workedMs();
    const expected = chunkSections(parseSections(markdown), DEFAULT_CHUNKING);
    for (const { text } of expected) analyze(text);
    const atOnceMs = workedMs() - startedAt;
    const gaps = watchGaps(workedMs);
    const { chunks } = await prepare(markdown, DEFAULT_CHUNKING, extractor);
    const longest = await gaps.stop();
    assert.deepEqual(
      chunks.map(({ text }) => text),
      expected.map(({ text }) => text),
    );
    assert.ok(longest < atOnceMs / 3, `waited ${longest} ms, at once it takes ${atOnceMs} ms`);
  });
}

test("a document of too many passages or headings is refused, and says so", async () => {
  const extractor = createExtractor();
  const sentences = Array.from({ length: 21_000 }, (_, i) => `Sentence number ${i} stands here for itself.`).join(" ");
  const short = { maxTokens: 16, overlapTokens: 0 };
  const refused = (sentence: string) => (error: unknown) =>
    error instanceof ExtractError && error.code === "invalid_file" && error.message === sentence;
  await assert.rejects(
    prepare(sentences, short, extractor),
    refused("The document is too long: it makes more than 20000 passages."),
  );
  assert.ok((await prepare(sentences, DEFAULT_CHUNKING, extractor)).chunks.length > 100);
  await assert.rejects(
    prepare("# A\n".repeat(100_001), DEFAULT_CHUNKING, extractor),
    refused("The document is too long: it has more than 100000 headings."),
  );
});
