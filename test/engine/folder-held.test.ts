// What is held because everything vanished is untouched when it comes back.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { FolderStage } from "./folder-stage.ts";

const NAMES = ["alder.md", "birch.md", "cedar.md", "drafts/elm.md"];

let stage: FolderStage;
before(async () => {
  stage = await FolderStage.open();
});
after(() => stage.close());

test("what is held because everything vanished is simply there again when it comes back, untouched", async () => {
  for (const name of NAMES) await stage.write(name, `The tree of ${name} grows near the quarry.`);
  await stage.crawl();
  const ids = (await stage.manifest()).map(({ docId }) => docId);
  for (const name of NAMES) await stage.rename(name, `../aside/${name}`);
  for (let run = 0; run < 2; run++) {
    const { source, job } = await stage.tryCrawl();
    assert.deepEqual([source.download.held, job.result?.ok], [NAMES.length, false]);
    assert.equal((await stage.found("quarry")).length, NAMES.length, "held means found");
  }
  // By rename: neither size, nor time, nor inode of a file changes.
  for (const name of NAMES) await stage.rename(`../aside/${name}`, name);
  const { source } = await stage.crawl();
  assert.deepEqual([source.download.held, source.download.unchanged], [0, NAMES.length]);
  const { source: again } = await stage.crawl({ confirmDeletes: true });
  assert.deepEqual([again.download.removed, again.embed.removed], [0, 0]);
  assert.deepEqual(await stage.found("quarry"), NAMES);
  assert.deepEqual(
    (await stage.manifest()).map(({ docId, status }) => [docId, status]),
    ids.map((id) => [id, "active"]),
  );
});
