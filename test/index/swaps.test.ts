// Readers of two processes see whole generations during many swaps.
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { test } from "node:test";
import { openIndexIn, openStores, STORE } from "./index-fixture.ts";
import { SWAPPED, watched, watchOnce } from "./swap-documents.ts";

const SWAPS = 50;
const KILLED_AT = 25;

test("readers of two processes see one whole generation during 50 swaps, one of which is killed half-way", async (t) => {
  const folder = await mkdtemp(join(tmpdir(), "swaps-"));
  const indexFolder = join(folder, "index");
  const children: ChildProcess[] = [];
  const provider = openStores(indexFolder);
  t.after(async () => {
    for (const child of children) child.kill("SIGKILL");
    await provider.close();
    await rm(folder, { recursive: true, force: true });
  });
  const start = (script: string, ...args: string[]): ChildProcess & { lines: AsyncIterator<string> } => {
    const path = join(import.meta.dirname, script);
    const child = spawn(process.execPath, [path, indexFolder, ...args], { stdio: ["pipe", "pipe", "inherit"] });
    children.push(child);
    return Object.assign(child, { lines: createInterface({ input: child.stdout })[Symbol.asyncIterator]() });
  };
  const files = join(folder, "files");
  const ended = async (child: ChildProcess): Promise<unknown> => (await once(child, "exit"))[0];
  assert.equal(await ended(start("swap-writer.ts", files, "1", "1")), 0);

  const index = openIndexIn(provider);
  const here = watched();
  const reader = start("swap-reader.ts");
  assert.equal((await reader.lines.next()).value, "reading");
  let over = false;
  const hammering = (async () => {
    while (!over) {
      await watchOnce(index, here);
      await new Promise((resolve) => setImmediate(resolve));
    }
    await watchOnce(index, here);
  })();

  const killed = start("swap-writer.ts", files, "2", String(KILLED_AT - 1), "hang");
  const gone = once(killed, "exit");
  assert.equal((await killed.lines.next()).value, "half-way");
  killed.kill("SIGKILL");
  await gone;
  assert.equal(await ended(start("swap-writer.ts", files, String(KILLED_AT), String(SWAPS))), 0);
  over = true;
  await hammering;
  reader.stdin?.end();
  const there = JSON.parse((await reader.lines.next()).value) as Record<string, number>;

  for (const [where, seen] of Object.entries({ here, there })) {
    assert.equal(seen["mixed"], 0, `${where}: ${seen["mixed"]} of ${seen["answers"]} answers were mixed`);
    assert.equal(
      seen["incomplete"],
      0,
      `${where}: ${seen["incomplete"]} of ${seen["answers"]} answers lacked documents`,
    );
    assert.equal(seen["last"], SWAPS, where);
  }
  assert.ok(here.seen.size > 2 && (there["seen"] ?? 0) > 2, "the readers saw swaps happen");
  assert.equal((await index.generations.state()).newest, SWAPS);
  const { db } = await provider.open(STORE);
  assert.equal((await db.get<{ n: number }>("SELECT count(*) AS n FROM documents_active"))?.n, SWAPPED);
});
