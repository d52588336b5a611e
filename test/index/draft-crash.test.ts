import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import { apply, DEMO, embeddedFixture, found, LIBRARY, never, openBackend, openIndex } from "./embedded-fixture.ts";

for (const killAfter of [3, 410, 850]) {
  test(`a process killed after ${killAfter} puts leaves the old state, and the next draft converges`, async (t) => {
    const at = await embeddedFixture();
    t.after(() => at.close());
    await at.commit({ a1: "The oldword stands.", a2: "The second oldword stands." });
    await killDraft(join(at.folder, "index"), at.store, at.folder, killAfter);

    const file = new DatabaseSync(join(at.folder, "index", `${at.store}.sqlite`), { readOnly: true });
    const drafts = file.prepare("SELECT count(*) AS n FROM generations WHERE number IS NULL").get()?.["n"];
    file.close();
    if (killAfter > 400) assert.equal(drafts, 1, "a batch was full, so the draft of the killed process is on disk");

    const reopened = openBackend(join(at.folder, "index"));
    t.after(() => reopened.close());
    const index = await openIndex(reopened, at.store, DEMO);
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

async function killDraft(indexFolder: string, store: string, folder: string, killAfter: number): Promise<void> {
  const files = join(folder, "child");
  await mkdir(files);
  const script = join(import.meta.dirname, "draft-child.ts");
  const child = spawn(process.execPath, [script, indexFolder, store, files], { stdio: ["ignore", "pipe", "inherit"] });
  const ended = once(child, "exit");
  for await (const line of createInterface({ input: child.stdout })) {
    if (Number(line) >= killAfter) break;
  }
  child.kill("SIGKILL");
  const [, signal] = await ended;
  assert.equal(signal, "SIGKILL");
}
