// A damaged ledger is reported with its cure, the cure works, and the domain can still be deleted.
import assert from "node:assert/strict";
import { existsSync, mkdirSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import type { PlacedFinding } from "../../src/engine/doctor.ts";
import { openStage, type Stage } from "../stories/stage.ts";
import { DOMAIN } from "./world.ts";

const WAYS: readonly [title: string, harm: (file: string) => void][] = [
  ["overwritten", (file) => writeFileSync(file, "this is no database\n".repeat(500))],
  ["cut", (file) => truncateSync(file, Math.floor(statSync(file).size / 2))],
  ["replaced by a folder", replaceByFolder],
  ["damaged in its header", damageHeader],
];
function replaceByFolder(file: string): void {
  rmSync(file);
  mkdirSync(file);
}
/** The number of the schema's format. */
function damageHeader(file: string): void {
  const bytes = readFileSync(file);
  writeFileSync(file, bytes.fill(0xee, 44, 48));
}
const CURE = /Stop lockstep, delete \S*crawler\/STORY\/ledger\.sqlite with its -wal and -shm, start it again and crawl/;

/** With the product closed meanwhile; the file of the domain's ledger. */
async function damage(stage: Stage, harm: (file: string) => void): Promise<string> {
  const file = join(stage.world.storage, "crawler", DOMAIN, "ledger.sqlite");
  await stage.world.app.close();
  harm(file);
  await stage.world.reopen();
  return file;
}

for (const [title, harm] of WAYS) {
  test(`a ledger whose file was ${title} is named with its cure, and the cure works`, async (t) => {
    const stage = await openStage({});
    t.after(() => stage.close());
    await stage.plant();
    const file = await damage(stage, harm);

    const findings: PlacedFinding[] = [];
    for await (const one of stage.world.app.examine(DOMAIN, new AbortController().signal)) findings.push(one);
    const [problem] = findings.filter(({ outcome }) => outcome === "problem");
    assert.equal(problem?.subject, "Ledger");
    assert.match(problem?.detail ?? "", /The ledger of domain 'STORY' is damaged: /);
    assert.match(problem?.remedy ?? "", CURE);

    assert.deepEqual(await stage.world.app.otherStores(DOMAIN), [], "the domain is shown all the same");
    assert.deepEqual(await stage.world.found("zebra"), ["policy.txt"], "what the index holds is found");
    await assert.rejects(stage.world.app.mapFiles(DOMAIN), CURE);
    const job = await stage.world.runToEnd();
    assert.equal(job.result?.ok, false);
    assert.match(job.result?.error ?? "", CURE);

    await stage.world.app.close();
    for (const suffix of ["", "-wal", "-shm"]) rmSync(file + suffix, { recursive: true, force: true });
    await stage.world.reopen();
    await stage.forgetDownloads();
    const { source } = await stage.crawl();
    assert.equal(await stage.downloads(), 0);
    assert.deepEqual([source.embed.added, source.embed.changed, source.embed.removed], [0, 0, 0]);
    assert.deepEqual(await stage.world.found("zebra"), ["policy.txt"]);
  });
}

for (const [title, harm] of WAYS) {
  test(`a domain whose ledger was ${title} can be deleted`, async (t) => {
    const stage = await openStage({});
    t.after(() => stage.close());
    await stage.plant();
    await damage(stage, harm);
    const { apply } = await stage.world.app.planDeletion(DOMAIN, { withVectorStore: false });
    await apply(() => undefined);
    assert.ok(!existsSync(join(stage.world.storage, "crawler", DOMAIN)));
  });
}

test("a ledger that lost its items, but not its place in the change log, is filled by a listing", async (t) => {
  const stage = await openStage({});
  t.after(() => stage.close());
  await stage.plant();
  await stage.crawl();
  await damage(stage, (path) => {
    const db = new DatabaseSync(path);
    db.exec("PRAGMA foreign_keys = ON; DELETE FROM item");
    db.close();
  });
  const { log } = await stage.crawl();
  assert.match(log, /Change feed unusable \(a file was not in the last listing\)/);
  await stage.inStep();
});
