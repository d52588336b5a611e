// A process killed in the middle of a draft leaves the old state, and the next draft converges.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { test } from "node:test";
import { apply, found, indexFixture, LIBRARY, never, openIndexIn, openStores } from "./index-fixture.ts";

for (const killAfter of [3, 850]) {
  test(`a process killed after ${killAfter} puts leaves the old state, and the next draft converges`, async (t) => {
    const at = await indexFixture();
    t.after(() => at.close());
    await at.commit({ a1: "The oldword stands.", a2: "The second oldword stands." });
    await killDraft(at.indexFolder, at.folder, killAfter);
    const drafts = await at.count("SELECT count(*) AS n FROM generations WHERE number IS NULL");
    if (killAfter > 800) assert.equal(drafts, 1, "a batch was written, so the draft of the killed process is on disk");

    const reopened = openStores(at.indexFolder);
    t.after(() => reopened.close());
    const index = openIndexIn(reopened);
    assert.deepEqual((await found(index, "oldword")).sort(), ["a1.md", "a2.md"]);
    assert.deepEqual(await found(index, "killedword"), []);

    const draft = await index.draft(LIBRARY);
    await apply(draft, { a1: "The newword stands.", a2: null, a3: "The third newword stands." }, at.makeFile);
    const { failed } = await draft.commit(never);
    assert.deepEqual(failed, []);
    for (const one of [index, at.index]) {
      assert.deepEqual((await found(one, "newword")).sort(), ["a1.md", "a3.md"]);
      assert.deepEqual(await found(one, "oldword"), []);
      assert.deepEqual(await found(one, "killedword"), []);
    }
    const held = [];
    for await (const refs of index.holdings(LIBRARY)) held.push(...refs.map(({ itemId }) => itemId));
    assert.deepEqual(held.sort(), ["a1", "a3"]);
  });
}

async function killDraft(indexFolder: string, folder: string, killAfter: number): Promise<void> {
  const files = join(folder, "child");
  await mkdir(files);
  const script = join(import.meta.dirname, "draft-child.ts");
  const child = spawn(process.execPath, [script, indexFolder, files], { stdio: ["ignore", "pipe", "inherit"] });
  const ended = once(child, "exit");
  for await (const line of createInterface({ input: child.stdout })) {
    if (Number(line) >= killAfter) break;
  }
  child.kill("SIGKILL");
  const [, signal] = await ended;
  assert.equal(signal, "SIGKILL");
}
