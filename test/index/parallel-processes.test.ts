// Several processes write to one store at the same time and lose nothing.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { test } from "node:test";
import type { SourceId } from "../../src/contracts/ids.ts";
import { found, never, OTHER, openIndexIn, openStores, STORE, writeDocument } from "./index-fixture.ts";
import { watchGaps } from "./longest-gap.ts";

test("processes that open a new store at once and commit side by side lose nothing", async (t) => {
  const folder = await mkdtemp(join(tmpdir(), "parallel-"));
  const indexFolder = join(folder, "index");
  const provider = openStores(indexFolder);
  t.after(async () => {
    await provider.close();
    await rm(folder, { recursive: true, force: true });
  });
  const script = join(import.meta.dirname, "writer-child.ts");
  const sources = ["red", "green", "blue"];
  const codes = await Promise.all(
    sources.map(async (source) => {
      const args = [script, indexFolder, join(folder, source), source];
      const [code] = await once(spawn(process.execPath, args, { stdio: ["ignore", "ignore", "inherit"] }), "exit");
      return code;
    }),
  );
  assert.deepEqual(codes, [0, 0, 0]);
  const index = openIndexIn(provider);
  for (const source of sources) {
    let held = 0;
    for await (const refs of index.holdings(source as SourceId)) {
      assert.ok(refs.every(({ itemId }) => itemId.startsWith(source)));
      held += refs.length;
    }
    assert.equal(held, 450);
    const names = await found(index, `secondword of ${source}`);
    assert.ok(names.length >= 10 && names.every((name) => name.startsWith(source)), names.join());
  }
  assert.deepEqual(await found(index, "firstword"), []);
  const { db } = await provider.open(STORE);
  const kept = await index.generations.list();
  assert.deepEqual(
    kept.map(({ number, added }) => [number, added]),
    [6, 5, 4, 3, 2, 1].map((number) => [number, 450]),
  );
  assert.equal((await db.get<{ n: number }>("SELECT count(*) AS n FROM spaces"))?.n, 1);
});

test("while one process writes a large document, another commits its own, and neither stands still", async (t) => {
  const folder = await mkdtemp(join(tmpdir(), "parallel-"));
  const provider = openStores(join(folder, "index"));
  t.after(async () => {
    await provider.close();
    await rm(folder, { recursive: true, force: true });
  });
  const index = openIndexIn(provider);
  await index.search({ text: "anything", limit: 1 });
  const args = [join(import.meta.dirname, "large-writer-child.ts"), join(folder, "index"), join(folder, "child")];
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
  const lines: string[] = [];
  const reading = createInterface({ input: child.stdout }).on("line", (line) => lines.push(line));
  const ended = once(child, "exit");
  await once(reading, "line");

  const gaps = watchGaps();
  const commitsMs: number[] = [];
  while (child.exitCode === null && lines.length < 2) {
    const startedAt = performance.now();
    const draft = await index.draft(OTHER);
    await draft.put(await writeDocument(folder, "small", `The smallword ${commitsMs.length} stands.`), never);
    const { failed } = await draft.commit(never);
    assert.deepEqual(failed, []);
    commitsMs.push(performance.now() - startedAt);
  }
  const longestMs = await gaps.stop();
  assert.deepEqual(await ended, [0, null]);
  const theirs: { writingMs: number; longestMs: number } = JSON.parse(lines[1] ?? "");
  const told = JSON.stringify({ theirs, longestMs, commitsMs });
  assert.ok(commitsMs.length >= 3, told);
  assert.ok(Math.max(...commitsMs) < theirs.writingMs / 2, told);
  assert.ok(Math.max(longestMs, theirs.longestMs) < theirs.writingMs / 3, told);
  assert.deepEqual(await found(index, "smallword"), ["small.md"]);
  assert.ok((await found(index, "largeword")).includes("large.md"));
});
