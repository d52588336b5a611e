// A process killed while it makes new vectors loses one page of them at most.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { test } from "node:test";
import { createFixedModel } from "../../src/index/embedding/vector-model.ts";
import { embedFixture, wordEmbedder } from "./embed-fixture.ts";
import { LAND, manyPassages, SEA } from "./embed-spaces-suite.ts";

test("a process killed while it makes new vectors loses a page of them at most, and readers notice nothing", async (t) => {
  const fixture = await embedFixture();
  try {
    const first = await fixture.open(createFixedModel(wordEmbedder("sea", SEA)));
    await first.commit(manyPassages());
    const script = join(import.meta.dirname, "embed-kill-child.ts");
    const child = spawn(process.execPath, [script, join(fixture.folder, "index"), "land", JSON.stringify(LAND)], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    t.after(() => child.kill("SIGKILL"));
    let pages = 0;
    for await (const line of createInterface(child.stdout)) if (line === "embedded" && ++pages === 2) break;
    assert.equal((await first.found("seal", "vectors"))[0], "long.md", "the old vectors answer");
    const ended = once(child, "exit");
    child.kill("SIGKILL");
    await ended;
    assert.equal((await first.found("seal", "vectors"))[0], "long.md");

    const land = wordEmbedder("land", LAND);
    const second = await fixture.open(createFixedModel(land));
    await second.refresh();
    assert.equal(land.asked.length, 701);
    assert.deepEqual(await second.vectors(), [1201]);
    assert.equal((await second.found("weasel", "vectors"))[0], "long.md");
  } finally {
    await fixture.close();
  }
});
