import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { AttributeFilter, Attributes } from "../../src/contracts/search-index.ts";
import { type SearchFixture, searchFixture } from "./search-fixture.ts";
import type { StoreUnderTest } from "./store-under-test.ts";

/** All comparisons of the wire protocol, in every database. */
export function filterSuite(name: string, open: () => Promise<StoreUnderTest>): void {
  describe(`${name}: attribute filters`, () => {
    let at: SearchFixture;
    const ATTRIBUTES: Record<string, Attributes> = {
      a: { year: 2023, kind: "memo", open: true, 'odd "key" $': "x" },
      b: { year: 2024, kind: "note", open: false },
      c: { year: 2025.5, kind: "memo" },
      d: { year: "2024", kind: "5" },
      e: {},
    };
    before(async () => {
      at = await searchFixture(open);
      const items = Object.keys(ATTRIBUTES);
      await at.commit(Object.fromEntries(items.map((item) => [item, `The zyzzomat ${item} hums.`])), {
        labels: Object.fromEntries(items.map((item) => [item, { attributes: ATTRIBUTES[item] ?? {} }])),
      });
    });
    after(() => at.close());

    const TABLE: readonly (readonly [filter: AttributeFilter, names: string])[] = [
      [{ type: "eq", key: "kind", value: "memo" }, "ac"],
      [{ type: "ne", key: "kind", value: "memo" }, "bde"],
      [{ type: "eq", key: "year", value: 2024 }, "b"],
      [{ type: "eq", key: "year", value: "2024" }, "d"],
      [{ type: "eq", key: "kind", value: 5 }, ""],
      [{ type: "gt", key: "year", value: 2024 }, "c"],
      [{ type: "gte", key: "year", value: 2024 }, "bc"],
      [{ type: "lt", key: "year", value: 2024 }, "a"],
      [{ type: "lte", key: "year", value: 2024 }, "ab"],
      [{ type: "gt", key: "kind", value: "memo" }, "b"],
      [{ type: "eq", key: "open", value: true }, "a"],
      [{ type: "ne", key: "open", value: true }, "bcde"],
      [{ type: "eq", key: "open", value: 1 }, ""],
      [{ type: "in", key: "year", value: [2023, "2024"] }, "ad"],
      [{ type: "nin", key: "year", value: [2023, "2024"] }, "bce"],
      [{ type: "in", key: "year", value: [] }, ""],
      [{ type: "eq", key: 'odd "key" $', value: "x" }, "a"],
      [{ type: "eq", key: "nobody", value: "x" }, ""],
      [
        {
          type: "and",
          filters: [
            { type: "eq", key: "kind", value: "memo" },
            { type: "gt", key: "year", value: 2024 },
          ],
        },
        "c",
      ],
      [
        {
          type: "or",
          filters: [
            { type: "eq", key: "kind", value: "note" },
            { type: "gt", key: "year", value: 2024 },
          ],
        },
        "bc",
      ],
      [
        {
          type: "and",
          filters: [
            { type: "ne", key: "kind", value: "note" },
            {
              type: "or",
              filters: [
                { type: "eq", key: "open", value: true },
                { type: "eq", key: "year", value: "2024" },
              ],
            },
          ],
        },
        "ad",
      ],
    ];
    for (const [filter, names] of TABLE) {
      test(JSON.stringify(filter), async () => {
        const hits = await at.search("zyzzomat hums", { limit: 50, filter });
        assert.equal(
          hits
            .map((hit) => hit.name.slice(0, 1))
            .sort()
            .join(""),
          names,
        );
      });
    }

    test("long lists of values work, and endless ones are refused", async () => {
      const value = Array.from({ length: 3000 }, (_, i) => (i % 2 ? i : `v${i}`));
      const search = (list: (string | number)[]): Promise<unknown[]> =>
        at.index.search({ text: "zyzzomat", limit: 5, filter: { type: "in", key: "year", value: list } });
      assert.equal((await search([...value, 2024])).length, 2, "2023 is in the list, 2024 at its end");
      await assert.rejects(search(Array.from({ length: 20_000 }, (_, i) => i)), { name: "BadInputError" });
    });

    test("characters that JSON can name and a database cannot keep disturb no other document's filter", async () => {
      const odd: Attributes = { kind: "me\0\0mo", half: "a\uD800", [`k\0`]: "x", path: "C:\\u0000", year: 2024 };
      const own = await searchFixture(open);
      try {
        await own.commit(
          { odd: "The zyzzomat o hums.", plain: "The zyzzomat p hums." },
          { labels: { odd: { attributes: odd }, plain: { attributes: { kind: "memo", year: 2024 } } } },
        );
        const found = async (filter: AttributeFilter): Promise<string[]> =>
          (await own.search("zyzzomat hums", { limit: 5, filter })).map(({ name }) => name).sort();
        assert.deepEqual(await found({ type: "eq", key: "kind", value: "memo" }), ["plain.md"]);
        assert.deepEqual(await found({ type: "gte", key: "year", value: 2024 }), ["odd.md", "plain.md"]);
        assert.deepEqual(await found({ type: "eq", key: "kind", value: "me\0\0mo" }), ["odd.md"]);
        assert.deepEqual(await found({ type: "in", key: "half", value: ["a\uD800", "b"] }), ["odd.md"]);
        assert.deepEqual(await found({ type: "eq", key: "path", value: "C:\\u0000" }), ["odd.md"]);
        const scoped = await own.search("zyzzomat", { limit: 5, scope: { fileTypes: ["md", "a\0", "\uDC00"] } });
        assert.equal(scoped.length, 2);
      } finally {
        await own.close();
      }
    });

    test("an order among booleans is refused", async () => {
      const filter: AttributeFilter = { type: "gt", key: "open", value: true };
      await assert.rejects(at.index.search({ text: "x", limit: 1, filter }), { name: "BadInputError" });
    });
  });
}
