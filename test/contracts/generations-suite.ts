import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, test } from "node:test";
import type { Extractor } from "../../src/contracts/document.ts";
import type { DomainId, ItemId, SourceId } from "../../src/contracts/ids.ts";
import type {
  DocumentFile,
  GenerationChange,
  Generations,
  Index,
  SectionsFound,
  SectionsWanted,
} from "../../src/contracts/search-index.ts";
import { activateSpace, insertSpace } from "../../src/index/embedding/spaces.ts";
import { writeLocked } from "../../src/index/store-state.ts";
import { nameUuid } from "../../src/lib/name-uuid.ts";
import { apply, countingEmbedder, DEMO, found, LIBRARY, never, OTHER, writeDocument } from "../index/index-fixture.ts";
import { defaultParts, type OwnStoreUnderTest, type Parts } from "./store-under-test.ts";

const DAY = 24 * 3600;

/** What an index of ours promises about generations, in whatever database it is. */
export function generationsSuite(name: string, openStore: (parts: Parts) => Promise<OwnStoreUnderTest>): void {
  describe(`generations of ${name}`, () => {
    let folder = "";
    let under: OwnStoreUnderTest;
    let index: Index;
    let generations: Generations;
    let now = 1_800_000_000;
    let embedded: string[] = [];
    const extracted: string[] = [];
    let duringEmbed: (texts: readonly string[]) => Promise<void> = async () => undefined;

    beforeEach(async () => {
      folder = await mkdtemp(join(tmpdir(), "generations-"));
      const { embedder, extractor } = defaultParts();
      duringEmbed = async () => undefined;
      const counted = countingEmbedder(embedder, (texts) => embedded.push(...texts));
      const watched = {
        ...counted,
        embed: async (texts: readonly string[]) => {
          await duringEmbed(texts);
          return counted.embed(texts);
        },
      };
      const nowSeconds = (): number => now;
      under = await openStore({ embedder: watched, extractor: counting(extractor, extracted), nowSeconds });
      index = await under.openIndex(DEMO);
      assert.ok(index.generations, "an index of ours has generations");
      generations = index.generations;
      embedded = [];
      extracted.length = 0;
    });
    afterEach(async () => {
      await under.close();
      await rm(folder, { recursive: true, force: true });
    });

    const makeFile = (item: string, text: string): Promise<DocumentFile> => writeDocument(folder, item, text);
    const commit = async (
      items: Record<string, string | null>,
      source = LIBRARY,
      into = index,
      crawl = "",
    ): Promise<void> => {
      const draft = await into.draft(source, crawl);
      await apply(draft, items, makeFile);
      await draft.commit(never, { allowEmpty: true });
    };
    const count = async (sql: string): Promise<number> =>
      Number((await (await under.store()).db.get<{ n: number }>(`SELECT count(*) AS n FROM ${sql}`))?.n);
    const numbers = async (): Promise<number[]> => (await generations.list()).map((generation) => generation.number);
    const difference = async (from: number, to: number): Promise<string[]> => {
      const changes: GenerationChange[] = [];
      for await (const page of generations.difference(from, to)) changes.push(...page);
      return changes.map(({ kind, sourceId, itemId, path }) => `${kind} ${sourceId}/${itemId} ${path}`).sort();
    };

    test("a killed draft, another source, a rollback and a new commit: each step shows what it should", async () => {
      await commit({ a: "The firstword stands." });
      const killed = await index.draft(LIBRARY);
      // More than two batches, so that rows of the draft are on disk when it is left behind.
      await apply(killed, { ...alike("k", 850), a: "The killedword stands." }, makeFile);
      assert.equal(await count("generations WHERE number IS NULL"), 1);
      assert.deepEqual(await found(index, "firstword"), ["a.md"]);

      await commit({ b: "The otherword stands." }, OTHER);
      assert.deepEqual(await found(index, "firstword"), ["a.md"]);
      assert.deepEqual(await found(index, "otherword"), ["b.md"]);
      assert.deepEqual(await found(index, "killedword"), []);
      assert.equal(await count("documents_active"), 2);

      await commit({ a: "The secondword stands." });
      assert.equal(await count("generations WHERE number IS NULL"), 0);
      assert.deepEqual(await found(index, "firstword"), []);
      assert.deepEqual(await found(index, "secondword"), ["a.md"]);
      await assert.rejects(killed.commit(never), { name: "ConflictError" });
      assert.equal(await count("documents_active"), 2);

      await generations.rollback(1);
      assert.deepEqual(await found(index, "firstword"), ["a.md"]);
      assert.deepEqual(await found(index, "secondword"), []);
      assert.deepEqual(await found(index, "otherword"), []);

      await commit({ c: "The thirdword stands." }, OTHER);
      assert.deepEqual(await found(index, "firstword"), ["a.md"]);
      assert.deepEqual(await found(index, "thirdword"), []);
      await generations.release();
      assert.deepEqual(await found(index, "thirdword"), ["c.md"]);
      assert.deepEqual(await found(index, "firstword"), []);
      assert.deepEqual(await found(index, "secondword"), ["a.md"]);
      assert.deepEqual(await found(index, "otherword"), ["b.md"]);
      assert.deepEqual(await numbers(), [4, 3, 2, 1]);
    });

    test("the versions of a document, by its item or by what it is called, and which of them readers see", async () => {
      await commit({ a: "The firstword stands.", b: "The other stands." });
      await commit({ a: "The secondword stands." });
      await commit({ a: null });
      const told = async (wanted: Parameters<Generations["versions"]>[0]): Promise<unknown[]> =>
        (await generations.versions(wanted)).map(({ itemId, since, until, visible }) => [
          itemId,
          since,
          until,
          visible,
        ]);
      const both = [
        ["a", 2, 3, false],
        ["a", 1, 2, false],
      ];
      assert.deepEqual(await told({ sourceId: LIBRARY, itemId: "a" as ItemId }), both);
      for (const called of ["A.md", "a.md", "a"]) assert.deepEqual(await told({ called }), both, called);
      assert.deepEqual(await told({ called: "nobody" }), []);
      assert.deepEqual(await told({ called: "b.md" }), [["b", 1, null, true]]);
      await generations.rollback(2);
      assert.deepEqual(await told({ called: "a" }), [
        ["a", 2, 3, true],
        ["a", 1, 2, false],
      ]);
      const [{ fileId } = assert.fail("it is known")] = await generations.versions({ called: "a" });
      assert.deepEqual(await told({ called: fileId }), [["a", 2, 3, true]]);
      const elsewhere = await under.openIndex("NOBODY" as DomainId);
      assert.deepEqual(await elsewhere.generations?.versions({ called: "a" }), []);
    });

    test("a rollback pins what readers see: commits go on, and a release shows the newest at once", async () => {
      await commit({ a: "The firstword stands.", gone: "The goneword stands." });
      await commit({ a: "The secondword stands." });
      const before = await generations.state();
      assert.deepEqual([before.shown, before.newest, before.pinned], [2, 2, false]);
      await generations.rollback(1);
      assert.deepEqual(
        (await generations.list()).map(({ number, visible }) => [number, visible]),
        [
          [2, false],
          [1, true],
        ],
      );
      await commit({ a: "The thirdword stands.", gone: null });
      const pinned = await generations.state();
      assert.deepEqual([pinned.shown, pinned.newest, pinned.pinned], [1, 3, true]);
      assert.equal(pinned.newestId, (await generations.list())[0]?.generationId);
      assert.deepEqual(await found(index, "firstword"), ["a.md"]);
      assert.deepEqual(await found(index, "goneword"), ["gone.md"]);
      assert.deepEqual(await found(index, "thirdword"), []);
      assert.deepEqual(
        await index.count().then(({ documents }) => documents),
        2,
        "lists and counts are of what is shown",
      );
      const held = [];
      for await (const refs of index.holdings(LIBRARY)) held.push(...refs.map(({ itemId }) => itemId));
      assert.deepEqual(held, ["a"], "what crawls build on is the newest");
      await generations.rollback(2);
      assert.deepEqual(await found(index, "secondword"), ["a.md"]);
      await generations.release();
      assert.deepEqual(await found(index, "thirdword"), ["a.md"]);
      assert.deepEqual(await found(index, "goneword"), []);
      const after = await generations.state();
      assert.deepEqual([after.shown, after.shownId, after.newest, after.pinned], [3, pinned.newestId, 3, false]);
      await commit({ a: "The fourthword stands." });
      assert.deepEqual(await numbers(), [4, 3, 2, 1]);
      for (const [number, word] of ["first", "second", "third", "fourth"].entries()) {
        assert.deepEqual(await found(index, `${word}word`, number + 1), ["a.md"], word);
      }
    });

    test("what is shown is kept, with all after it, however many commits and days pass; then it goes", async () => {
      await commit({ a: "The firstword stands." });
      await generations.rollback(1);
      for (const word of ["second", "third", "fourth", "fifth", "sixth", "seventh"]) {
        now += 2 * DAY;
        await commit({ a: `The ${word}word stands.` });
      }
      assert.deepEqual(await numbers(), [7, 6, 5, 4, 3, 2, 1]);
      assert.deepEqual(await found(index, "firstword"), ["a.md"]);
      await generations.release();
      now += 2 * DAY;
      await commit({ a: "The eighthword stands." });
      assert.deepEqual(await numbers(), [8, 7, 6, 5]);
      assert.deepEqual(await found(index, "eighthword"), ["a.md"]);
    });

    test("only kept generations can be gone back to, compared or searched, and the error names them", async () => {
      await commit({ a: "The firstword stands." });
      const wrong = { name: "BadInputError", message: /kept are 1\b/ };
      await assert.rejects(generations.rollback(7), wrong);
      await assert.rejects(generations.rollback(0), wrong);
      await assert.rejects(difference(1, 7), wrong);
      await assert.rejects(index.search({ text: "firstword", limit: 5, generation: 7 }), { name: "BadInputError" });
      const { shown, pinned } = await generations.state();
      assert.deepEqual([shown, pinned], [1, false]);
    });

    test("a draft that was open during a rollback and a release is committed like any other", async () => {
      await commit({ a: "The firstword stands." });
      await commit({ a: "The secondword stands." });
      const open = await index.draft(LIBRARY);
      await apply(open, { ...alike("k", 850), a: "The thirdword stands." }, makeFile);
      await generations.rollback(1);
      await generations.release();
      await open.commit(never);
      assert.deepEqual(await found(index, "thirdword"), ["a.md"]);
      assert.deepEqual(await found(index, "secondword"), []);
      assert.deepEqual(await found(index, "secondword", 2), ["a.md"]);
      assert.equal(await count("documents_active"), 851);
    });

    test("erased documents leave every generation and open draft, and each that showed one says so", async () => {
      await commit({ a: "The firstword stands.", b: "The bword stands.", twin: "The twinword stands." });
      await commit({ a: "The secondword stands." });
      await commit({ a: null, twin: null });
      await commit({ c: "The cword stands." });
      const open = await index.draft(LIBRARY);
      await apply(open, { a: "The draftword stands.", ...alike("k", 850) }, makeFile);
      const { retained } = index;
      assert.ok(retained);
      await retained.endGracePeriod(LIBRARY, ["a"] as ItemId[]);
      const erase = (source: SourceId, items: string[], dryRun = false) =>
        retained.erase(source, items as ItemId[], { dryRun });
      assert.deepEqual(await erase(OTHER, ["a"]), { documents: 0, generations: [] });
      const generationsLost = [
        { number: 2, documents: 2 },
        { number: 1, documents: 2 },
      ];
      const told = await erase(LIBRARY, ["a", "twin", "nobody"], true);
      assert.deepEqual(told, { documents: 4, generations: generationsLost });
      assert.deepEqual(await erase(LIBRARY, ["a", "twin", "nobody"]), told);
      assert.equal(await count("documents WHERE item_id IN ('a', 'twin')"), 0);
      for (const word of ["first", "second", "draft", "twin"]) {
        assert.equal(await count(`chunks WHERE text LIKE '%${word}word%'`), 0, word);
      }
      assert.deepEqual(
        (await generations.list()).map(({ number, erased: some }) => [number, some]),
        [
          [4, 0],
          [3, 0],
          [2, 2],
          [1, 2],
        ],
      );
      const notes: string[] = [];
      const asked = { text: "bword", limit: 5, tell: (note: string) => void notes.push(note) };
      assert.equal((await index.search({ ...asked, generation: 2 })).length, 1);
      assert.deepEqual(notes, ["Generation 2 is not what it was: 2 documents erased."]);
      assert.equal((await index.search(asked)).length, 1);
      assert.equal(notes.length, 1, "what is shown is whole");
      assert.deepEqual(await difference(1, 2), []);
      await open.commit(never);
      assert.deepEqual(await found(index, "draftword"), []);
      assert.deepEqual(await erase(LIBRARY, ["a"]), { documents: 0, generations: [] });
      assert.deepEqual(await found(index, "bword", 1), ["b.md"]);
    });

    test("every kept generation can be searched as it was", async () => {
      await commit({ a: "The firstword stands.", b: "The oldword stands." });
      await commit({ a: "The secondword stands.", b: null });
      await commit({ b: "The newword stands." }, OTHER);
      for (const [word, when] of [
        ["firstword", [1]],
        ["oldword", [1]],
        ["secondword", [2, 3]],
        ["newword", [3]],
      ] as const) {
        const seen = [];
        for (const generation of [1, 2, 3])
          if ((await found(index, word, generation)).length > 0) seen.push(generation);
        assert.deepEqual(seen, when, word);
      }
      const [hit] = await index.search({ text: "firstword", limit: 1, generation: 1 });
      assert.equal(hit?.details?.generation, 1);
    });

    test("the difference of two generations, in both directions", async () => {
      await commit({ a: "One.", b: "Two.", c: "Three." });
      await commit({ a: "One, changed.", b: null, d: "Four." });
      const draft = await index.draft(LIBRARY);
      const { label } = await makeFile("c", "Three.");
      await draft.relabel("c" as ItemId, { ...label, path: "deep/c.md" });
      await draft.commit(never);
      await commit({ x: "Come." }, OTHER);
      await commit({ x: null }, OTHER);
      await commit({ a: "Of another domain." }, LIBRARY, await under.openIndex("THEIRS" as DomainId));
      assert.deepEqual(await difference(1, 1), []);
      assert.deepEqual(await difference(1, 2), [
        "added library/d d.md",
        "changed library/a a.md",
        "removed library/b b.md",
      ]);
      assert.deepEqual(await difference(2, 1), [
        "added library/b b.md",
        "changed library/a a.md",
        "removed library/d d.md",
      ]);
      assert.deepEqual(await difference(2, 3), ["changed library/c deep/c.md"]);
      assert.deepEqual(
        await difference(3, 6),
        [],
        "what came and went in between, and what is others', is no difference",
      );
      assert.deepEqual(await difference(5, 4), ["added other/x x.md"]);
      assert.equal((await difference(1, 6)).length, 4);
    });

    test("a draft that would leave nothing of the domain needs a confirmation", async () => {
      await commit({ a: "The firstword stands." });
      await commit({ b: "The otherword stands." }, OTHER);
      await commit({ b: "Of another domain." }, LIBRARY, await under.openIndex("THEIRS" as DomainId));
      const all = async (source: SourceId, item: string, allowEmpty: boolean): Promise<unknown> => {
        const draft = await index.draft(source);
        await draft.remove(item as ItemId);
        return draft.commit(never, { allowEmpty });
      };
      await all(OTHER, "b", false);
      const before = await generations.state();
      await assert.rejects(all(LIBRARY, "a", false), (error: Error) => {
        assert.equal(error.name, "ConflictError");
        assert.match(error.message, /nothing of the domain DEMO would be left.*confirmed/);
        return true;
      });
      assert.deepEqual(await generations.state(), before);
      assert.deepEqual(await found(index, "firstword"), ["a.md"]);
      await all(LIBRARY, "a", true);
      assert.deepEqual(await found(index, "firstword"), []);
      await assert.doesNotReject(all(LIBRARY, "a", false), "nothing is left, and nothing is taken away");
    });

    test("a draft that changes nothing makes no generation", async () => {
      await commit({ a: "The firstword stands." });
      await commit({});
      await commit({ a: "The firstword stands." });
      await commit({ unknown: null });
      const both = await index.draft(LIBRARY);
      await apply(both, { x: "Comes." }, makeFile);
      await both.remove("x" as ItemId);
      await both.commit(never);
      assert.deepEqual(await numbers(), [1]);
      assert.equal(await count("generations"), 2);
      assert.equal(await count("bodies"), 1, "of what came and went in one batch nothing is left");
    });

    test("move, copy, removal and return extract and embed nothing", async () => {
      await commit({ a: "The firstword stands." });
      assert.deepEqual([extracted.length, embedded.length], [1, 1]);
      await commit({ copy: "The firstword stands." });
      await commit({ copy: null });
      await commit({ back: "The firstword stands." });
      const draft = await index.draft(LIBRARY);
      const { label } = await makeFile("a", "The firstword stands.");
      await draft.relabel("a" as ItemId, { ...label, name: "z.md", path: "deep/z.md" });
      await draft.commit(never);
      assert.deepEqual([extracted.length, embedded.length], [1, 1]);
      assert.deepEqual(await count("documents_active WHERE path = 'deep/z.md'"), 1);
    });

    test("several operations on one item in one draft leave what the last one says", async () => {
      await commit({ a: "The firstword stands.", b: "The bword stands." });
      const draft = await index.draft(LIBRARY);
      await draft.put(await makeFile("a", "The secondword stands."), never);
      await draft.put(await makeFile("a", "The thirdword stands."), never);
      await draft.remove("b" as ItemId);
      await draft.put(await makeFile("b", "The bword stands."), never);
      await draft.put(await makeFile("c", "The cword stands."), never);
      await draft.remove("c" as ItemId);
      const { ready } = await draft.commit(never);
      assert.deepEqual(ready.map((ref) => ref.itemId).sort(), ["a", "b"]);
      assert.deepEqual(await found(index, "secondword"), []);
      assert.deepEqual(await found(index, "thirdword"), ["a.md"]);
      assert.deepEqual(await found(index, "bword"), ["b.md"]);
      assert.deepEqual(await found(index, "cword"), []);
      assert.equal(await count("documents_active"), 2);
    });

    test("puts side by side over several batches, and the same item again in a later one", async () => {
      const draft = await index.draft(LIBRARY);
      const files = await Promise.all(Object.entries(many("p", 450)).map(([item, text]) => makeFile(item, text)));
      await Promise.all(files.map((file) => draft.put(file, never)));
      await apply(draft, { ...many("q", 420), p0: "The lastword stands.", p1: null }, makeFile);
      const { ready, failed } = await draft.commit(never);
      assert.deepEqual(failed, []);
      assert.equal(ready.length, 450 + 420 - 1);
      assert.equal(await count("documents_active"), 450 + 420 - 1);
      assert.deepEqual(await found(index, "lastword"), ["p0.md"]);
      const [generation] = await generations.list();
      assert.deepEqual([generation?.added, generation?.removed], [450 + 420 - 1, 0]);
    });

    test("what no kept generation can see is cleaned up, bodies and generations with it", async () => {
      await commit({ a: "The firstword stands.", keep: "The keepword stands." });
      for (const word of ["second", "third", "fourth", "fifth"]) {
        await commit({ a: `The ${word}word stands.` });
      }
      assert.equal(await count("bodies"), 6, "all are younger than a day");
      assert.deepEqual(await numbers(), [5, 4, 3, 2, 1]);
      now += 2 * DAY;
      await commit({ a: "The sixthword stands." });
      // Kept: the last three generations (fourth, fifth, sixth), what was before them, and what stood all the time.
      assert.deepEqual(await numbers(), [6, 5, 4, 3]);
      for (const table of ["documents", "bodies", "chunks", "vectors"]) assert.equal(await count(table), 5, table);
      assert.equal(await count("generations WHERE number > 0"), 5, "the first one still has a document");
      assert.deepEqual(await found(index, "firstword", 4), []);
      assert.deepEqual(await found(index, "fourthword", 4), ["a.md"]);
      assert.deepEqual(await found(index, "keepword", 4), ["keep.md"]);
      assert.deepEqual(await found(index, "sixthword"), ["a.md"]);
      await assert.rejects(generations.rollback(2), { name: "BadInputError" });
      // Going back does not make generations whole again that were cleaned up.
      await generations.rollback(4);
      assert.deepEqual(await numbers(), [6, 5, 4, 3]);
      assert.deepEqual(await found(index, "keepword"), ["keep.md"]);
    });

    test("what one crawl commits counts once: the state before each of the last three can be gone back to", async () => {
      for (const crawl of ["one", "two", "three", "four"]) {
        for (const source of [LIBRARY, OTHER]) await commit({ a: `The ${crawl}word stands.` }, source, index, crawl);
      }
      now += 2 * DAY;
      for (const source of [LIBRARY, OTHER]) await commit({ a: "The fiveword stands." }, source, index, "five");
      const kept = await generations.list();
      assert.deepEqual(
        kept.map(({ number, crawl, intermediate }) => [number, crawl, intermediate]),
        [
          [10, "five", false],
          [9, "five", true],
          [8, "four", false],
          [7, "four", true],
          [6, "three", false],
          [5, "three", true],
          [4, "two", false],
        ],
      );
      for (const [number, word] of [
        [4, "twoword"],
        [6, "threeword"],
        [8, "fourword"],
      ] as const) {
        await generations.rollback(number);
        assert.equal((await index.search({ text: word, limit: 5, using: "text", unfolded: true })).length, 2, word);
      }
      // Half of a crawl can be looked at, too; the list says that it is.
      await generations.rollback(7);
      assert.deepEqual([await found(index, "threeword"), await found(index, "fourword")], [["a.md"], ["a.md"]]);
    });

    test("crawls side by side are told apart, and a commit without a mark counts by itself", async () => {
      const after = async (...crawls: string[]): Promise<number[]> => {
        for (const crawl of crawls) {
          now += 2 * DAY;
          await commit({ a: `The word of ${now} stands.` }, LIBRARY, index, crawl);
        }
        return numbers();
      };
      assert.deepEqual(await after("x", "y", "x", "y", "z"), [5, 4, 3, 2, 1]);
      assert.deepEqual(
        await after("w"),
        [6, 5, 4, 3, 2, 1],
        "the first of y is the second, so what was before is, too",
      );
      assert.deepEqual(await after("v"), [7, 6, 5, 4]);
      assert.deepEqual(await after("", ""), [9, 8, 7, 6]);
    });

    test("cleanup is spread over commits, and ends", async () => {
      await commit(many("a", 500));
      await commit(Object.fromEntries(Array.from({ length: 500 }, (_, i) => [`a${i}`, null])));
      for (const word of ["one", "two", "three"]) await commit({ w: `The ${word} stands.` });
      now += 2 * DAY;
      const left = [];
      for (const word of ["four", "five", "six", "seven"]) {
        await commit({ w: `The ${word} stands.` });
        left.push(await count("documents WHERE item_id LIKE 'a%'"));
      }
      assert.ok((left[0] ?? 0) > 0, "one small commit does not pay for everything");
      assert.equal(left.at(-1), 0);
      assert.equal(await count("bodies WHERE id NOT IN (SELECT body_id FROM documents)"), 0);
    });

    test("holdings list one moment, whatever is committed meanwhile", async () => {
      await commit(alike("h", 1100));
      const items = new Set<string>();
      for await (const refs of index.holdings(LIBRARY)) {
        if (items.size === 0) await commit({ h1: null, h1090: null, h1095: "Changed.", extra: "The extra stands." });
        for (const { itemId } of refs) items.add(itemId);
      }
      assert.equal(items.size, 1100);
      assert.ok(items.has("h1") && items.has("h1090") && !items.has("extra"));
    });

    const sections = async (called: string, more: Partial<SectionsWanted> = {}): Promise<SectionsFound> =>
      (await index.shown?.sections({ called, offset: 0, limit: 100, ...more })) ?? assert.fail("it has sections");

    test("sections of a document have ids of their own, and no empty ones are shown", async () => {
      const text =
        "# Travel\n\nBy train.\n\n## Hotels\n\n### Cities\n\n### Villages\n\nUp to 145 euros.\n\n## Empty\n\n# End\n\nBye.";
      await commit({ a: text, twin: text });
      const { documents, sections: all, total } = await sections("a.md");
      assert.deepEqual(
        all.map(({ position, heading, level, content, parentId }) => [
          position,
          heading,
          level,
          content,
          all.find(({ id }) => id === parentId)?.heading ?? null,
        ]),
        [
          [0, "", 0, "", null],
          [1, "Travel", 1, "By train.", ""],
          [2, "Hotels", 2, "", "Travel"],
          [3, "Villages", 3, "Up to 145 euros.", "Hotels"],
          [4, "End", 1, "Bye.", ""],
        ],
      );
      assert.equal(total, 5);
      const fileId = documents[0]?.fileId ?? assert.fail();
      assert.deepEqual(
        all.map(({ id }) => id),
        [0, 1, 2, 3, 4].map((at) => nameUuid("508633bc-ca04-4d3a-a3f0-246de6256212", `${fileId}/${at}`)),
      );
      const twin = await sections("twin");
      assert.deepEqual(
        twin.sections.map(({ content }) => content),
        all.map(({ content }) => content),
      );
      assert.equal(new Set([...all, ...twin.sections].map(({ id }) => id)).size, 10, "they share a body, and no id");
      assert.equal(await count("bodies"), 1);

      const page = await sections(fileId, { offset: 2, limit: 2 });
      assert.deepEqual([page.sections, page.total], [all.slice(2, 4), 5]);
      assert.deepEqual((await sections(fileId, { offset: 9 })).sections, []);
    });

    test("sections of a document as readers are shown it, and as of a kept generation; several of one name are told apart", async () => {
      await commit({ a: "Long.", b: "Other." });
      await commit({ a: "Short." });
      await commit({ a: null });
      const contents = async (more: Partial<SectionsWanted> = {}): Promise<unknown> =>
        (await sections("a.md", more)).sections.map(({ content }) => content);
      assert.deepEqual(
        [await contents(), await contents({ generation: 2 }), await contents({ generation: 1 })],
        [[], ["Short."], ["Long."]],
      );
      await assert.rejects(contents({ generation: 9 }), { name: "BadInputError", message: /9 is not kept.*3, 2, 1/ });
      await generations.rollback(1);
      assert.deepEqual(await contents(), ["Long."]);
      await generations.release();

      await commit({ b: "Another." }, OTHER);
      const both = await sections("B.MD");
      assert.deepEqual([both.documents.map(({ sourceId }) => sourceId), both.sections], [[LIBRARY, OTHER], []]);
      assert.equal((await sections("b.md", { sourceId: OTHER })).sections[0]?.content, "Another.");
      assert.deepEqual((await sections("nothing")).documents, []);
    });

    test("a document that cannot be embedded fails alone, and keeps its old version", async () => {
      await commit({ a: "The oldword stands." });
      duringEmbed = async (texts) => {
        if (texts.some((text) => text.includes("poison"))) throw new Error("embed: the model refuses this text");
      };
      const draft = await index.draft(LIBRARY);
      await apply(draft, { a: "The poison stands.", b: "The bword stands.", c: "The cword stands." }, makeFile);
      const { ready, failed } = await draft.commit(never);
      assert.deepEqual(ready.map(({ itemId }) => itemId).sort(), ["b", "c"]);
      assert.deepEqual(
        failed.map(({ itemId, permanent, reason }) => [itemId, permanent, /refuses this text/.test(reason)]),
        [["a", false, true]],
      );
      assert.deepEqual(await found(index, "oldword"), ["a.md"]);
      assert.deepEqual(await found(index, "cword"), ["c.md"]);
    });

    test("when another space becomes active while a batch is being embedded, it is embedded again", async () => {
      await commit({ a: "The firstword stands." });
      const { db } = await under.store();
      duringEmbed = async () => {
        duringEmbed = async () => undefined;
        await writeLocked(db, async (sql) => {
          const row = { model: "another", revision: "1", dimensions: 8, learnt: null };
          await activateSpace(sql, (await insertSpace(sql, { ...row, active: 0 })).id);
        });
      };
      await commit({ b: "The secondword stands." });
      const late = `vectors v JOIN spaces s ON s.id = v.space_id AND s.active = 0 JOIN chunks c ON c.id = v.chunk_id
        WHERE c.text LIKE '%secondword%'`;
      assert.equal(await count(late), 0, "what is in a space that answers no more would never be found");
      assert.equal(await count("chunks WHERE text LIKE '%secondword%'"), 1);
      assert.equal(await count("spaces WHERE active = 1 AND model = 'another'"), 1);
    });
  });
}

function many(letter: string, texts: number): Record<string, string> {
  return Object.fromEntries(
    Array.from({ length: texts }, (_, i) => [`${letter}${i}`, `Text ${letter} number ${i} stands.`]),
  );
}

/** Documents that share one text, where only their number matters. */
function alike(letter: string, documents: number): Record<string, string> {
  return Object.fromEntries(Array.from({ length: documents }, (_, i) => [`${letter}${i}`, "Text that stands."]));
}

function counting(extractor: Extractor, seen: string[]): Extractor {
  return {
    revision: extractor.revision,
    types: extractor.types,
    extract(path, fileType, signal, sha256) {
      seen.push(path);
      return extractor.extract(path, fileType, signal, sha256);
    },
  };
}
