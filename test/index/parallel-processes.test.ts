import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import type { SourceId } from "../../src/contracts/ids.ts";
import { DEMO, found, openBackend, openIndex } from "./embedded-fixture.ts";

test("processes that open a new store at once and commit side by side lose nothing", async (t) => {
  const folder = await mkdtemp(join(tmpdir(), "parallel-"));
  const indexFolder = join(folder, "index");
  const backend = openBackend(indexFolder);
  t.after(async () => {
    await backend.close();
    await rm(folder, { recursive: true, force: true });
  });
  const store = await backend.createVectorStore("shared");
  const script = join(import.meta.dirname, "writer-child.ts");
  const sources = ["red", "green", "blue"];
  const codes = await Promise.all(
    sources.map(async (source) => {
      const args = [script, indexFolder, store, join(folder, source), source];
      const [code] = await once(spawn(process.execPath, args, { stdio: ["ignore", "ignore", "inherit"] }), "exit");
      return code;
    }),
  );
  assert.deepEqual(codes, [0, 0, 0]);
  const index = await openIndex(backend, store, DEMO);
  for (const source of sources) {
    let held = 0;
    for await (const refs of index.holdings(source as SourceId)) {
      assert.ok(refs.every(({ itemId }) => itemId.startsWith(source)));
      held += refs.length;
    }
    assert.equal(held, 450);
    const hits = await index.search({ text: `secondword ${source}`, limit: 10 });
    assert.ok(hits.length === 10 && hits.every((hit) => hit.text.includes(`secondword of ${source}`)));
  }
  assert.deepEqual(await found(index, "firstword"), []);
});
