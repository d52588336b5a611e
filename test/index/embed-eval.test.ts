// The evaluation scores text search, vector search and both.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { test } from "node:test";

const MAIN = resolve(import.meta.dirname, "../../eval/main.ts");

function evaluate(...folders: readonly string[]): { status: number | null; stdout: string; stderr: string } {
  return spawnSync(process.execPath, [MAIN, ...folders], { encoding: "utf8" });
}

test("eval scores text, vectors and both beside plain BM25", async () => {
  const folder = await mkdtemp(join(tmpdir(), "eval-"));
  try {
    const animals = ["otter", "badger", "heron"];
    await mkdir(join(folder, "animals"));
    const corpus = animals.map((animal, at) => ({ _id: `d${at}`, title: animal, text: `The ${animal} sleeps.` }));
    const queries = animals.map((animal, at) => ({ _id: `q${at}`, text: `where does the ${animal} sleep` }));
    const answers = animals.map((_, at) => `q${at}\td${at}\t1`);
    const jsonl = (rows: readonly object[]): string => rows.map((row) => `${JSON.stringify(row)}\n`).join("");
    await writeFile(join(folder, "animals/corpus.jsonl"), jsonl(corpus));
    await writeFile(join(folder, "animals/queries.jsonl"), jsonl([...queries, { _id: "q9", text: "not judged" }]));
    await writeFile(join(folder, "animals/qrels.tsv"), `query-id\tcorpus-id\tscore\n${answers.join("\n")}\n`);
    const { status, stdout, stderr } = evaluate(folder);
    assert.equal(status, 0, stderr);
    assert.match(stdout, /^animals: 3 documents, 3 questions$/m);
    for (const row of ["text only", "vectors only", "fused"]) {
      assert.match(stdout, new RegExp(`^${row} +1\\.0000 +\\+0\\.0 % +1\\.000 +1\\.000`, "m"));
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});

test("eval says what a collection is when there is none", () => {
  const { status, stderr } = evaluate(import.meta.dirname);
  assert.equal(status, 2);
  assert.match(stderr, /corpus\.jsonl/);
});
