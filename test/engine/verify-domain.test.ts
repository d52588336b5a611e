// Each layer of a domain is corrupted on purpose: verify names just that, and repairing mends it.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { FolderStage } from "./folder-stage.ts";
import {
  assertNamed,
  CORRUPTIONS,
  fillStage,
  pickBy,
  playCorruption,
  StoredDomain,
  verify,
} from "./verify-corruptions.ts";

/** One for all of them: each leaves it repaired. */
let stage: FolderStage;
before(async () => {
  stage = await FolderStage.open();
  await fillStage(stage, pickBy(7));
  await stage.crawl();
});
after(() => stage.close());

for (const [at, { name, corrupt }] of CORRUPTIONS.entries()) {
  test(`${name}: verify names it and nothing else, and repairing mends it`, async () => {
    const expected = await corrupt(new StoredDomain(stage, pickBy(at + 1)));
    assertNamed(await verify(stage), expected, name);
    const repaired = await verify(stage, { repair: true });
    assert.equal(repaired.statement.verdict, "agrees", repaired.log);
  });
}

test("a random corruption of a store at a service is named, and repaired", async () => {
  assert.notEqual(await playCorruption(8), "");
  assert.notEqual(await playCorruption(16), "");
});
