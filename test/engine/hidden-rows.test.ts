// Rows that a list hides or drops are removed only when the listing proves that they are gone.
import assert from "node:assert/strict";
import { after, before, beforeEach, describe, test } from "node:test";
import { parseDomain } from "../kinds.ts";
import { DOMAIN, World } from "./world.ts";

const LIST = "/sites/demo/Lists/Tasks";
const ANIMALS = "aardvark bongo caracal dugong eland fossa gerbil hyrax ibex jerboa kudu lemur".split(" ");

/** One place full of rows, and what people and accidents do to it. */
interface Kind {
  readonly title: string;
  /** Of `domain.json`. */
  readonly sources: (world: World, filter: string) => object;
  readonly plant: (world: World, word: string) => Promise<unknown>;
  readonly remove: (world: World, id: number) => Promise<unknown>;
  readonly hide: (world: World, id: number) => Promise<unknown>;
}

const LIBRARY_KIND: Kind = {
  title: "library",
  sources: (world, filter) => world.domainJson({ filter }),
  plant: (world, word) => world.change("add", { path: `${word}.txt`, text: `The ${word} rule is written here.` }),
  remove: (world, id) => world.change("delete", { path: `${ANIMALS[id - 1]}.txt` }),
  hide: (world, id) => world.change("set-hidden", { path: `${ANIMALS[id - 1]}.txt` }),
};

const LIST_KIND: Kind = {
  title: "list",
  sources: (world, filter) => ({
    ...world.domainJson(),
    file_sources: [],
    list_sources: [{ source_id: "tasks", site_url: world.sandbox.siteUrl, list_name: "Tasks", filter }],
  }),
  plant: (world, word) => world.change("add-item", { list: LIST, values: { Title: `The ${word} rule` } }),
  remove: (world, id) => world.change("delete-item", { list: LIST, id }),
  hide: (world, id) => world.change("set-hidden", { path: `${LIST}/${id}_.000` }),
};

for (const kind of [LIBRARY_KIND, LIST_KIND]) {
  describe(`what counts as the whole of a ${kind.title}`, () => {
    let world: World;
    before(async () => {
      world = await World.open();
    });
    after(() => world.close());
    beforeEach(async () => {
      await world.control("POST", "reset", {});
      if (kind === LIST_KIND) await world.control("POST", "add-list", { path: LIST, title: "Tasks" });
    });

    /** A domain of its own for every test, with the rows planted and crawled. */
    async function crawled(filter: string): Promise<void> {
      for (const word of ANIMALS) await kind.plant(world, word);
      const earlier = await world.app.domains.get(DOMAIN);
      const empty = parseDomain({ ...world.domainJson(), file_sources: [], vector_store_id: "" }, DOMAIN);
      await world.app.domains.update(empty, earlier);
      await world.runToEnd({ confirmDeletes: true });
      await world.app.domains.update(parseDomain(kind.sources(world, filter), DOMAIN), empty);
      const { job, source } = await world.crawl({ confirmDeletes: true });
      assert.deepEqual([job.result?.error, source.complete], ["", true]);
      await assertFound(ANIMALS, []);
    }

    async function assertFound(present: readonly string[], absent: readonly string[]): Promise<void> {
      const texts = async (word: string): Promise<string> =>
        (await world.search(`${word} rule`)).map(({ text }) => text).join("\n");
      for (const word of present) assert.match(await texts(word), new RegExp(word), `${word} is not found`);
      for (const word of absent) assert.doesNotMatch(await texts(word), new RegExp(word), `${word} is still found`);
    }

    const isListing = "/items\\?.*top=";

    test("a filter: rows that one answer dropped are neither removed nor lost for the runs after it", async () => {
      await crawled("Id ge 1");
      await kind.plant(world, "marmot");
      await world.fault({ url: isListing }, { dropRows: 5 });
      const bad = await world.crawl();
      assert.deepEqual([bad.source.complete, bad.source.download.removed], [false, 0]);
      assert.equal(bad.job.result?.ok, false);
      assert.match(bad.source.error, /next crawl/);
      await assertFound([...ANIMALS, "marmot"], []);
      for (const _ of [1, 2]) {
        const { job, source } = await world.crawl();
        assert.deepEqual([job.result?.error, source.complete, source.download.removed], ["", true, 0]);
      }
      await assertFound([...ANIMALS, "marmot"], []);
    });

    test("a filter: what it no longer shows twice over is removed", async () => {
      await crawled("Id le 12");
      await kind.remove(world, 3);
      const { job, source } = await world.crawl();
      assert.deepEqual([job.result?.error, source.complete, source.download.removed], ["", true, 1]);
      assert.equal(source.hidden_rows, undefined);
      await assertFound(["aardvark"], ["caracal"]);
    });

    test("one hidden row does not stop removals, and is counted", async () => {
      await crawled("");
      await kind.hide(world, 2);
      const hidden = await world.crawl();
      assert.deepEqual([hidden.job.result?.error, hidden.source.complete], ["", true]);
      assert.deepEqual([hidden.source.download.removed, hidden.source.hidden_rows], [1, 1]);
      assert.match(hidden.log, /1 row .*not shown/);
      await assertFound(["aardvark"], ["bongo"]);
      await kind.remove(world, 3);
      const { source, log } = await world.crawl();
      assert.deepEqual([source.complete, source.download.removed, source.hidden_rows], [true, 1, 1]);
      assert.match(log, /check.* in|publish|approve|access/i);
      await assertFound(["aardvark"], ["bongo", "caracal"]);
      // A run that finds nothing new still says so.
      assert.equal((await world.crawl()).source.hidden_rows, 1);
    });

    test("where every row is hidden, two looks that show none are believed, after the guard was asked", async () => {
      await crawled("");
      await kind.remove(world, 12);
      await world.control("POST", "expire-change-log", {});
      await world.fault({ url: isListing }, { emptyListing: true });
      const once = await world.crawl({ confirmDeletes: true });
      assert.deepEqual([once.source.complete, once.source.download.removed], [false, 0], "one answer without rows");
      assert.equal((await world.crawl()).source.download.removed, 1);

      for (const id of ANIMALS.keys()) if (id < 11) await kind.hide(world, id + 1);
      const held = await world.crawl();
      assert.deepEqual([held.source.complete, held.source.download.removed, held.job.result?.ok], [true, 0, false]);
      assert.match(held.source.error, /lists nothing/);
      await assertFound(ANIMALS.slice(0, 11), []);
      const { job, source } = await world.crawl({ confirmDeletes: true });
      assert.deepEqual([job.result?.error, source.complete, source.hidden_rows], ["", true, 11]);
      assert.equal(source.download.removed, 11);
      await assertFound([], ANIMALS);
    });

    test("with a hidden row, a look that lost rows removes nothing, and the next one heals", async () => {
      await crawled("");
      await kind.hide(world, 2);
      await world.crawl();
      await kind.plant(world, "marmot");
      await kind.plant(world, "newt");
      await world.control("POST", "expire-change-log", {});
      await world.fault({ url: isListing }, { dropRows: 4 });
      const bad = await world.crawl();
      assert.deepEqual([bad.source.complete, bad.source.download.removed], [false, 0]);
      const { job, source } = await world.crawl();
      assert.deepEqual([job.result?.error, source.complete, source.hidden_rows], ["", true, 1]);
      await assertFound(["aardvark", "caracal", "marmot", "newt"], ["bongo"]);
    });

    test("with a hidden row, a look during which the count changed removes nothing", async () => {
      await crawled("");
      await kind.hide(world, 2);
      await world.crawl();
      await kind.remove(world, 3);
      await world.control("POST", "expire-change-log", {});
      const run = [
        kind === LIST_KIND
          ? { operation: "delete-item", list: LIST, id: 12 }
          : { operation: "delete", path: "/sites/demo/Shared Documents/lemur.txt" },
      ];
      await world.fault({ url: "/items\\?.*desc" }, { run });
      const { source } = await world.crawl();
      assert.deepEqual([source.complete, source.download.removed], [false, 0]);
      assert.match(source.error, /changed while it was listed/);
      assert.equal((await world.crawl()).source.download.removed, 2);
    });
  });
}
