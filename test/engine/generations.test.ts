// A rolled-back domain shows what readers saw, and is in step again after its release.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { NotFoundError } from "../../src/contracts/errors.ts";
import { parseDomainId } from "../../src/contracts/ids.ts";
import { DOMAIN, World } from "./world.ts";

describe("a domain that is rolled back", () => {
  let world: World;
  before(async () => {
    world = await World.open();
  });
  after(() => world.close());
  const names = async (text: string, generation?: number): Promise<string[]> => {
    const request = { text, limit: 10, domainId: DOMAIN, vectorStoreId: undefined, using: "text" as const };
    const { sources } = await world.app.query(generation === undefined ? request : { ...request, generation });
    return [...new Set(sources.map(({ name }) => name))].sort();
  };

  test("shows what readers saw, whatever is crawled, and the newest again, without a crawl, after its release", async () => {
    assert.deepEqual((await world.app.generations(DOMAIN)).kept, [], "nothing was crawled yet");
    await assert.rejects(world.app.rollback(DOMAIN, 1, { dryRun: false }), /is not kept\. These are: none\./);
    await assert.rejects(world.app.generations(parseDomainId("NOBODY")), NotFoundError);
    await world.change("add", { path: "a.txt", text: "The zebra rule is one." });
    await world.change("add", { path: "b.txt", text: "The quagga rule is one." });
    await world.change("add", { path: "c.txt", text: "The okapi rule is one." });
    assert.equal((await world.crawl()).job.result?.error, "");
    await world.change("update", { path: "a.txt", text: "The giraffe rule is two." });
    await world.change("rename", { path: "b.txt", name: "renamed.txt" });
    await world.change("delete", { path: "c.txt" });
    await world.change("add", { path: "d.txt", text: "The dugong rule is new." });
    assert.equal((await world.crawl()).job.result?.error, "");
    const { shown, newest, pinned, kept } = await world.app.generations(DOMAIN);
    assert.deepEqual([shown, newest, pinned, kept.map(({ number }) => number)], [2, 2, false, [2, 1]]);
    assert.deepEqual([kept[0]?.sourceId, kept[0]?.domainId], ["docs", DOMAIN]);

    assert.deepEqual(await names("zebra", 1), ["a.txt"]);
    assert.deepEqual(await names("zebra"), []);
    const changes: string[] = [];
    for await (const page of world.app.difference(DOMAIN, { from: 1, to: 2 })) {
      changes.push(...page.map(({ kind, path }) => `${kind} ${path}`));
    }
    assert.deepEqual(changes.sort(), ["added d.txt", "changed a.txt", "changed renamed.txt", "removed c.txt"]);

    assert.deepEqual(await world.app.rollback(DOMAIN, 1, { dryRun: true }).then((view) => view.shown), 1);
    assert.deepEqual(await names("giraffe"), ["a.txt"], "a dry run changes nothing");
    assert.equal((await world.app.rollback(DOMAIN, 1, { dryRun: false })).pinned, true);
    assert.deepEqual(
      [
        await names("zebra"),
        await names("quagga"),
        await names("okapi"),
        await names("giraffe"),
        await names("dugong"),
      ],
      [["a.txt"], ["b.txt"], ["c.txt"], [], []],
    );

    await world.change("add", { path: "e.txt", text: "The eland rule is newest." });
    assert.equal((await world.crawl()).job.result?.error, "");
    assert.deepEqual([await names("zebra"), await names("eland"), await names("eland", 3)], [["a.txt"], [], ["e.txt"]]);
    const crawled = await world.app.generations(DOMAIN);
    assert.deepEqual([crawled.shown, crawled.newest, crawled.pinned], [1, 3, true]);

    assert.equal((await world.app.release(DOMAIN, { dryRun: true })).pinned, false);
    assert.equal((await world.app.generations(DOMAIN)).pinned, true, "a dry run only tells");
    assert.equal((await world.app.release(DOMAIN)).pinned, false);
    assert.deepEqual(
      [
        await names("zebra"),
        await names("quagga"),
        await names("okapi"),
        await names("giraffe"),
        await names("dugong"),
      ],
      [[], ["renamed.txt"], [], ["a.txt"], ["d.txt"]],
    );
    assert.deepEqual(await names("eland"), ["e.txt"]);
    assert.equal((await world.crawl()).source.embed.unchanged, 4, "there is nothing to put in step");
    assert.equal((await world.app.generations(DOMAIN)).newest, 3);
    assert.deepEqual(await world.contradictions(), []);
  });

  test("says what is kept when asked for something else", async () => {
    await assert.rejects(world.app.rollback(DOMAIN, 99, { dryRun: false }), /Generation 99 .* is not kept/);
    await assert.rejects(world.app.release(DOMAIN), /not rolled back/);
    await assert.rejects(names("zebra", 99), /[Gg]eneration 99/);
  });
});

test("a crawl after which no document could be read is not shown", async () => {
  const world = await World.open();
  try {
    for (const name of ["a", "b", "c"]) await world.change("add", { path: `${name}.txt`, text: `The zebra ${name}` });
    assert.equal((await world.crawl()).job.result?.error, "");
    const base64 = Buffer.from([0, 1, 2, 0, 255, 254, 0, 7]).toString("base64");
    for (const name of ["a", "b", "c"]) await world.change("update", { path: `${name}.txt`, base64 });
    const { job } = await world.crawl();
    assert.notEqual(job.result?.error, "");
    assert.equal((await world.found("zebra")).length > 0, true, "readers keep what they had");
    const confirmed = await world.crawl({ confirmDeletes: true });
    assert.match(confirmed.job.result?.error ?? "", /could not be embedded/);
    assert.deepEqual(await world.found("zebra"), []);
  } finally {
    await world.close();
  }
});

test("a crawl of several sources can be taken back as a whole, however many generations it made", async () => {
  const world = await World.open();
  try {
    const before = await world.app.domains.get(DOMAIN);
    const [first] = before.sources;
    assert.ok(first?.sourceType === "file_sources");
    const sources = ["one", "two"].map((name) => ({
      ...first,
      sourceId: name as typeof first.sourceId,
      urlPart: `/Shared Documents/${name}`,
    }));
    await world.app.domains.update({ ...before, sources }, before);
    for (const name of ["one", "two"])
      await world.change("add", { path: `${name}/a.txt`, text: `The zebra of ${name}.` });
    await world.crawl();
    for (const name of ["one", "two"]) {
      await world.change("add", { path: `${name}/b.txt`, text: `The okapi of ${name}.` });
      await world.change("delete", { path: `${name}/a.txt` });
    }
    const { job } = await world.crawl();
    assert.equal(job.result?.error, "");
    const { kept } = await world.app.generations(DOMAIN);
    const crawls = new Set(kept.map(({ crawl }) => crawl));
    assert.equal(crawls.size, 2, "one mark for each crawl");
    assert.deepEqual(
      kept.filter(({ intermediate }) => !intermediate).map(({ crawl }) => crawl),
      [...crawls],
      "one state of each is whole",
    );
    assert.ok(kept.length > 2, "there are others in between");
    assert.match(kept[0]?.crawl ?? "", new RegExp(`^${job.jobId} `));
    const whole = kept.filter(({ intermediate }) => !intermediate)[1] ?? assert.fail("there is no state before");
    await world.app.rollback(DOMAIN, whole.number, { dryRun: false });
    assert.deepEqual([(await world.found("zebra")).length, (await world.found("okapi")).length], [1, 0]);
  } finally {
    await world.close();
  }
});
