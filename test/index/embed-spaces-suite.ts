import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, test } from "node:test";
import type { Embedder } from "../../src/contracts/embedder.ts";
import { createFixedModel } from "../../src/index/embedding/vector-model.ts";
import { type EmbedFixture, embedFixture, never, type OpenHouse, wordEmbedder } from "./embed-fixture.ts";

/** 1201 passages; the last of the last document is about otters. */
export function manyPassages(): Record<string, string> {
  const section = (at: number): string => `# Part ${at}\n\n${`About the number ${at} in words. `.repeat(8)}\n`;
  const document = (from: number): string => Array.from({ length: 200 }, (_, at) => section(from + at)).join("\n");
  const names = ["a", "b", "c", "d", "e", "long"];
  const texts = Object.fromEntries(names.map((name, at) => [name, document(at * 200)]));
  return { ...texts, long: `${texts["long"]}\n# Otters\n\n${"The otter sleeps on its back. ".repeat(8)}\n` };
}

export const SEA = [["otter", "seal"], ["number"]];
export const LAND = [["fox"], ["number"], ["otter", "weasel"]];

/** What every store provider promises about a change of model. `openStores` opens the same store again for the same folder. */
export function spacesSuite(name: string, openStores?: OpenHouse): void {
  describe(`${name}: vectors and their models`, () => {
    let fixture: EmbedFixture;
    beforeEach(async () => {
      fixture = await embedFixture(openStores);
    });
    afterEach(() => fixture.close());

    test("the same content is embedded once, whoever has it and wherever it goes", async () => {
      const embedder = wordEmbedder("sea", SEA);
      const { commit, refresh, found } = await fixture.open(createFixedModel(embedder));
      await commit({ one: "The otter sleeps.", two: "The otter sleeps." });
      await commit({ three: "The otter sleeps." });
      await refresh();
      assert.deepEqual(embedder.asked, ["The otter sleeps."]);
      assert.equal((await found("seal", "vectors"))[0], "one.md");
    });

    test("new vectors that may not answer are searched in a preview, stay, and are asked about again", async () => {
      const first = await fixture.open(createFixedModel(wordEmbedder("sea", SEA)));
      await first.commit({ one: "The otter sleeps.", two: "A number of things." });
      const land = wordEmbedder("land", LAND);
      const { index, found, vectors } = await fixture.open(createFixedModel(land));
      const asked: string[][] = [];
      const askAgain = (answer: boolean): Promise<void> =>
        index.refreshVectors(
          () => undefined,
          never,
          async (preview) => {
            const hits = await index.search({ text: "weasel", limit: 5, using: "vectors", preview });
            asked.push(hits.map(({ name }) => name));
            return answer;
          },
        );
      await askAgain(false);
      assert.deepEqual(await first.found("seal", "vectors"), ["one.md"], "the earlier vectors answer");
      assert.deepEqual(await found("weasel", "vectors"), []);
      const passages = land.asked.filter((text) => text.length > 10);
      await askAgain(true);
      assert.deepEqual(asked, [["one.md"], ["one.md"]]);
      assert.deepEqual(
        land.asked.filter((text) => text.length > 10),
        passages,
        "passages were embedded again",
      );
      assert.deepEqual(await found("weasel", "vectors"), ["one.md"]);
      assert.deepEqual(await vectors(), [2]);
    });

    test("after a change of model the old one answers until all vectors of the new one are there", async () => {
      const first = await fixture.open(createFixedModel(wordEmbedder("sea", SEA)));
      await first.commit(manyPassages());
      const land = wordEmbedder("land", LAND);
      const stop = new AbortController();
      const during: (string | undefined)[] = [];
      const slow: Embedder = {
        ...land,
        async embed(texts, signal) {
          const vectors = await land.embed(texts, signal);
          if (texts.length > 1) during.push((await first.found("seal", "vectors"))[0]);
          if (during.length === 2) stop.abort();
          return vectors;
        },
      };
      const second = await fixture.open(createFixedModel(slow));
      await assert.rejects(second.refresh(stop.signal), { name: "CancelledError" });
      assert.deepEqual(during, ["long.md", "long.md"], "in the middle the old vectors answer");
      assert.deepEqual(await second.vectors(), [1201, 1000]);
      assert.deepEqual(await second.found("fox", "text"), []);

      const before = land.asked.length;
      const third = await fixture.open(createFixedModel(land));
      const lines = await third.refresh();
      assert.equal(land.asked.length - before, 201, "what was embedded before the stop is kept");
      assert.match(lines[0] ?? "", /^\[ \d+ \/ 1201 \] Embedding passages with land$/);
      assert.deepEqual(await third.vectors(), [1201], "the old vectors are gone");
      assert.equal((await third.found("weasel", "vectors"))[0], "long.md");
      assert.deepEqual(await third.refresh(), [], "nothing is left to do");
    });

    test("what is put while the new vectors are being made is not forgotten", async () => {
      const first = await fixture.open(createFixedModel(wordEmbedder("sea", SEA)));
      await first.commit({ one: "A number of things." });
      const land = wordEmbedder("land", LAND);
      let left = 1;
      const busy: Embedder = {
        ...land,
        async embed(texts, signal) {
          if (left-- > 0) await first.commit({ two: "The otter sleeps." });
          return land.embed(texts, signal);
        },
      };
      const second = await fixture.open(createFixedModel(busy));
      await second.refresh();
      assert.deepEqual(await second.vectors(), [2]);
      assert.equal((await second.found("weasel", "vectors"))[0], "two.md");
    });

    test("what is put at the last moment before the switch is not forgotten", async () => {
      const first = await fixture.open(createFixedModel(wordEmbedder("sea", SEA)));
      await first.commit({ one: "A number of things." });
      const { store, vectors, found } = await fixture.open(createFixedModel(wordEmbedder("land", LAND)));
      let writes = 0;
      const write: typeof store.db.write = async (work) => {
        // The first makes the space, the second adds the vectors, the third is the switch.
        if (++writes === 3) await first.commit({ two: "The otter sleeps." });
        return store.db.write(work);
      };
      const watched = { ...store, db: { ...store.db, write } };
      await store.spaces.refresh(watched, () => undefined, never);
      assert.deepEqual(await vectors(), [2]);
      assert.equal((await found("weasel", "vectors"))[0], "two.md");
    });

    test("words alone answer while the model that made the vectors cannot be had", async () => {
      const first = await fixture.open(createFixedModel(wordEmbedder("sea", SEA)));
      await first.commit({ one: "The otter sleeps.", two: "A number of things." });
      const second = await fixture.open(createFixedModel(wordEmbedder("land", LAND)));
      assert.deepEqual(await second.found("otter"), ["one.md"]);
      assert.deepEqual(await second.found("seal"), []);
      await second.refresh();
      assert.equal((await second.found("weasel"))[0], "one.md");
    });

    test("what was put while the model could not be had gets its vectors once it can be had again", async () => {
      const sea = createFixedModel(wordEmbedder("sea", SEA));
      const first = await fixture.open(sea);
      await first.commit({ one: "A number of things." });
      const other = await fixture.open(createFixedModel(wordEmbedder("land", LAND)));
      await other.commit({ two: "The otter sleeps." });
      assert.deepEqual(await other.found("otter"), ["two.md"]);
      assert.deepEqual(await other.vectors(), [1], "a vector that says nothing would pass for one");
      await first.commit({ three: "A large number of things." });
      await first.refresh();
      assert.deepEqual(await first.vectors(), [3]);
      assert.deepEqual(await first.found("seal", "vectors"), ["two.md"]);
    });

    test("two refreshes at once end with one whole space", async () => {
      const first = await fixture.open(createFixedModel(wordEmbedder("sea", SEA)));
      await first.commit(manyPassages());
      const second = await fixture.open(createFixedModel(wordEmbedder("land", LAND)));
      await Promise.all([second.refresh(), second.refresh()]);
      assert.deepEqual(await second.vectors(), [1201]);
      assert.equal((await second.found("weasel", "vectors"))[0], "long.md");
    });
  });
}
