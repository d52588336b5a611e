// A lost ledger is built again from maps, reports and mirror, and nothing is fetched or embedded for it.
import assert from "node:assert/strict";
import { readdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { describe, test } from "node:test";
import type { StepCounts } from "../../src/engine/crawl-request.ts";
import { readFixtures } from "./earlier/fixture.ts";
import { OpenFixture } from "./earlier/open-fixture.ts";
import { FolderPlace } from "./earlier/source-state.ts";

const NOTHING = { added: 0, changed: 0, moved: 0, removed: 0, failed: 0, held: 0 };

const fixtures = await readFixtures();

/** Of every kind: storage with a history, taken over by today's release. */
describe("a ledger that is lost", { concurrency: 2 }, () => {
  for (const { name, expect, ...fixture } of fixtures.filter((one) => one.expect.idle)) {
    test(`${name}: the next crawl builds it again, and nothing is fetched or embedded`, async (t) => {
      const opened = await OpenFixture.open(fixture);
      t.after(() => opened.close());
      // A page that was gone for the third time leaves first.
      for (let crawls = expect.leaving ? 2 : 1; crawls > 0; crawls--) await opened.crawl();
      const before = { documents: await opened.documents(), stores: await opened.storeIds() };
      await lose(opened);
      opened.place.fetched();
      const { result, error, log } = await opened.crawl();
      assert.equal(error, "", log);
      assert.match(log, /WARNING: The ledger knew nothing of source '[^']+', and was built again from /);
      for (const { complete, download, process, embed } of result.sources) {
        assert.ok(complete, log);
        for (const step of [download, process, embed]) assert.deepEqual(workOf(step), NOTHING, log);
      }
      assert.doesNotMatch(log, /^data: (\[ \d+ \/ \d+ \] )?Downloaded/m);
      // The links of a site were only in the ledger: its pages are read to list them.
      if (name !== "site-idle") assert.deepEqual(opened.place.fetched(), [], log);
      assert.deepEqual({ documents: await opened.documents(), stores: await opened.storeIds() }, before);
      const left = new Set(expect.leaving);
      for (const [word, names] of Object.entries(expect.found).filter(([word]) => !left.has(word))) {
        assert.deepEqual(await opened.found(word), names, word);
      }
      for (const [word, properties] of Object.entries(expect.properties ?? {})) {
        const metadata = (await opened.hits(word))[0]?.metadata ?? {};
        for (const [key, value] of Object.entries(properties))
          assert.deepEqual(metadata[key], value, "a user wrote it");
      }
      if (expect.missing && opened.place instanceof FolderPlace) {
        const { path, docId, text } = expect.missing;
        await opened.place.write(path, text, Date.parse("2026-01-06T10:00:00Z"));
        await opened.crawl();
        const { entry } = await opened.app.documents.get({ domainId: opened.domainId, called: path });
        assert.equal(entry.docId, docId, "a file that was missing is the document it was");
      }
    });
  }

  for (const name of ["library-idle", "list-idle", "pages-idle"]) {
    test(`${name}: without its map files, those in the last report are read, and nothing is fetched or embedded`, async (t) => {
      const fixture = fixtures.find((one) => one.name === name) ?? assert.fail();
      const opened = await OpenFixture.open(fixture);
      t.after(() => opened.close());
      await opened.crawl();
      const documents = await opened.documents();
      await lose(opened);
      const crawler = join(opened.storage, "crawler");
      for (const path of await readdir(crawler, { recursive: true })) {
        if (/_map\.csv$/.test(path) && !path.includes(".lockstep")) await rm(join(crawler, path));
      }
      opened.place.fetched();
      const dry = await opened.crawl({}, { dryRun: true });
      assert.match(dry.log, /WARNING: The ledger knows nothing of source '[^']+', .* this plan is made without that/);
      const { result, log } = await opened.crawl();
      assert.match(log, /WARNING: The ledger knew nothing of source '[^']+', and was built again from the report '/);
      assert.match(log, /If that is older than the last crawl, crawl with mode=full, which compares everything anew/);
      for (const { download, process, embed } of result.sources) {
        for (const step of [download, process, embed]) assert.deepEqual(workOf(step), NOTHING, log);
      }
      assert.deepEqual(opened.place.fetched(), [], log);
      assert.deepEqual(await opened.documents(), documents);
      assert.ok((await readdir(crawler, { recursive: true })).some((path) => path.endsWith("files_map.csv")));
    });
  }

  test("a report that is older than mirror and index brings nothing back, and costs nothing", async (t) => {
    const fixture = fixtures.find((one) => one.name === "folder-idle") ?? assert.fail();
    const opened = await OpenFixture.open(fixture);
    t.after(() => opened.close());
    await opened.crawl();
    const { place } = opened;
    assert.ok(place instanceof FolderPlace);
    const words = { edited: "The zebra met an ibex.", added: "A kudu joined." };
    await place.write("manual.md", words.edited, Date.parse("2026-02-06T10:00:00Z"));
    await place.write("kudu.md", words.added, Date.parse("2026-02-06T10:00:00Z"));
    await rename(join(place.root, "b/plan.md"), join(place.root, "b/renamed.md"));
    await rm(join(place.root, "a/memo.txt"));
    for (const step of ["download", "process", "embed"] as const) await opened.crawl({ steps: [step] });
    const documents = await opened.documents();
    assert.deepEqual(Object.keys(documents), ["b/renamed.md", "kudu.md", "manual.md"]);
    await lose(opened);
    const { result, log } = await opened.crawl();
    assert.doesNotMatch(log, /^data: (\[ \d+ \/ \d+ \] )?(Downloaded|Indexing) '(?!broken|empty)/m);
    assert.deepEqual(result.sources[0]?.embed.added, 0, log);
    assert.deepEqual(await opened.documents(), documents, log);
    for (const [word, names] of [
      ["ibex", ["manual.md"]],
      ["kudu", ["kudu.md"]],
      ["gnu", []],
    ] as const) {
      assert.deepEqual(await opened.found(word), names, log);
    }
    await opened.crawl();
    assert.deepEqual(await opened.documents(), documents);
  });

  for (const name of ["container-idle", "folder-idle"]) {
    test(`${name}: without a report, files are recognised in the mirror by their hashes`, async (t) => {
      const fixture = fixtures.find((one) => one.name === name) ?? assert.fail();
      const opened = await OpenFixture.open(fixture);
      t.after(() => opened.close());
      await opened.crawl();
      const documents = await opened.documents();
      await lose(opened);
      await rm(join(opened.storage, "reports"), { recursive: true });
      opened.place.fetched();
      const { result, log } = await opened.crawl();
      assert.deepEqual(opened.place.fetched(), [], log);
      assert.doesNotMatch(log, /^data: (\[ \d+ \/ \d+ \] )?Downloaded/m);
      assert.deepEqual(workOf(result.sources[0]?.download ?? assert.fail()), NOTHING, log);
      assert.deepEqual(await opened.documents(), documents);
      await opened.crawl();
      assert.deepEqual(await opened.documents(), documents);
    });
  }
});

async function lose({ storage, domainId }: OpenFixture): Promise<void> {
  for (const end of ["", "-wal", "-shm"]) {
    await rm(join(storage, "crawler", domainId, `ledger.sqlite${end}`), { force: true });
  }
}

function workOf({ added, changed, moved, removed, failed, held }: StepCounts): typeof NOTHING {
  return { added, changed, moved, removed, failed, held };
}
