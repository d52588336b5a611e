// Storage folders of earlier releases are opened and crawled without loss.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { setTimeout } from "node:timers/promises";
import type { StepCounts } from "../../src/engine/crawl-request.ts";
import { type Expected, readFixtures } from "./earlier/fixture.ts";
import { OpenFixture } from "./earlier/open-fixture.ts";
import { FolderPlace } from "./earlier/source-state.ts";

const NOTHING = { added: 0, changed: 0, moved: 0, removed: 0, failed: 0, held: 0 };

const fixtures = await readFixtures();

/** `earlier/make-fixtures.ts` made them; CONTRIBUTING tells how one is added. */
describe("storage of an earlier release", { concurrency: 2 }, () => {
  for (const { name, about, expect, ...fixture } of fixtures) {
    test(`${name}: ${about}`, async (t) => {
      const opened = await OpenFixture.open(fixture);
      t.after(() => opened.close());
      if (expect.idle) await assertIdle(opened);
      else await assertConverges(opened, expect);
      await assertInStep(opened, expect);
      await assertReturns(opened, expect);
      await assertLeaving(opened, expect);
      if (expect.due) await assertDue(opened);
    });
  }
});

/** Nothing is fetched, read anew or embedded. */
async function assertIdle(opened: OpenFixture): Promise<void> {
  opened.place.fetched();
  await assertNothingToDo(opened);
  assert.deepEqual(opened.place.fetched(), [], "nothing was fetched");
}

/** One crawl brings everything in step, the next one finds nothing to do. */
async function assertConverges(opened: OpenFixture, expect: Expected): Promise<void> {
  opened.place.fetched();
  const { log } = await opened.crawl();
  const unexpected = opened.place.fetched().filter((name) => !expect.fetched.includes(name));
  assert.deepEqual(unexpected, [], `fetched again without need\n${log}`);
  await assertNothingToDo(opened);
}

async function assertNothingToDo(opened: OpenFixture): Promise<void> {
  const { result, error, log } = await opened.crawl();
  assert.equal(error, "", log);
  for (const { source_id, complete, download, process, embed } of result.sources) {
    assert.ok(complete, log);
    for (const step of [download, process, embed]) assert.deepEqual(workOf(step), NOTHING, `${source_id}\n${log}`);
  }
}

function workOf({ added, changed, moved, removed, failed, held }: StepCounts): typeof NOTHING {
  return { added, changed, moved, removed, failed, held };
}

async function assertInStep(opened: OpenFixture, expect: Expected): Promise<void> {
  for (const [word, names] of Object.entries(expect.found)) assert.deepEqual(await opened.found(word), names, word);
  const documents = await opened.documents();
  const ids = Object.entries(expect.documents).map(([path, id]) => [path, id || (documents[path] ?? "missing")]);
  assert.deepEqual(
    documents,
    Object.fromEntries(ids),
    "each document once, and embedded again only where it has to be",
  );
  for (const [word, properties] of Object.entries(expect.properties ?? {})) {
    const metadata = (await opened.hits(word))[0]?.metadata ?? {};
    const shown = Object.fromEntries(Object.keys(properties).map((key) => [key, metadata[key]]));
    assert.deepEqual(shown, properties, "what a user wrote beside the document");
  }
  const stores = await opened.storeIds();
  for (const id of expect.superseded ?? []) assert.ok(!stores.includes(id), "a superseded store was not deleted");
  for (const [called, count] of Object.entries(expect.versions ?? {})) {
    const { versions } = await opened.app.documents.get({ domainId: opened.domainId, called });
    assert.equal(versions.length, count, `versions of '${called}'`);
  }
}

/** A file that was missing when the storage was made is the document it was. */
async function assertReturns(opened: OpenFixture, { missing }: Expected): Promise<void> {
  if (!missing || !(opened.place instanceof FolderPlace)) return;
  const { path, docId, text, word } = missing;
  assert.deepEqual(await opened.found(word), []);
  await opened.place.write(path, text, Date.parse("2026-01-06T10:00:00Z"));
  const { log } = await opened.crawl();
  const { entry } = await opened.app.documents.get({ domainId: opened.domainId, called: path });
  assert.equal(entry.docId, docId, log);
  assert.deepEqual(await opened.found(word), [path]);
}

/** Pages that were gone or unlinked before leave as early as they would have. */
async function assertLeaving(opened: OpenFixture, { leaving = [] }: Expected): Promise<void> {
  if (leaving.length === 0) return;
  const { log } = await opened.crawl();
  for (const word of leaving) assert.deepEqual(await opened.found(word), [], `${word}\n${log}`);
}

/** The clock was looked after until then, and a time of the schedule has passed since. */
async function assertDue({ app }: OpenFixture): Promise<void> {
  const before = (await app.jobs.list()).length;
  const said: string[] = [];
  const { stop } = app.schedule.start((line) => said.push(line));
  try {
    while ((await app.jobs.list()).length === before) {
      // The job may begin, and be told of, between the two looks.
      assert.deepEqual(
        said.filter((line) => !line.startsWith("Started ")),
        [],
      );
      await setTimeout(20);
    }
  } finally {
    stop();
  }
}
