import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import fc from "fast-check";
import type { ItemId } from "../../src/contracts/ids.ts";
import type { AttributeFilter, Attributes } from "../../src/contracts/search-index.ts";
import { type EmbeddedFixture, embeddedFixture, LIBRARY, never } from "./embedded-fixture.ts";

const TEXTS: Record<string, string> = {
  travel:
    "# Travel policy\n\n## Hotels\n\nA hotel room may cost at most 120 euros per night.\n\n## Trains\n\nSecond class only.",
  errors: "# Error codes\n\nERR_404 means that the page is gone. ERR_500 means that the server failed.",
  parts: "# Parts\n\nThe pump AB-1234/5 replaces the valve 404. Call max_retry_count before mounting.",
  german:
    "# Überstunden\n\nDie Reisekostenabrechnung muss bis zum Monatsende eingereicht werden. Größe und Maße zählen.",
  japanese: "# 東京\n\n東京都に住んでいます。日本語の文書を検索する。",
  korean: "# 서울\n\n서울특별시에서 한국어 문서를 검색합니다.",
  french: "# Café\n\nLe café est ouvert jusqu'à minuit.",
  otters: "# Animals\n\nOtters sleep holding hands so that they do not drift apart.",
};

describe("search of the embedded index", () => {
  let at: EmbeddedFixture;
  before(async () => {
    at = await embeddedFixture();
    await at.commit(TEXTS);
  });
  after(() => at.close());
  const best = async (text: string): Promise<string | undefined> =>
    (await at.index.search({ text, limit: 5 }))[0]?.name;

  const FINDS: readonly (readonly [query: string, name: string, why: string])[] = [
    ["how much may a hotel cost?", "travel.md", "words of a question"],
    ["hotels costing", "travel.md", "inflection"],
    ["recieve otter slep holdng", "otters.md", "spelling"],
    ["ERR_404", "errors.md", "an identifier as written, though another text has its number"],
    ["AB-1234/5", "parts.md", "a part number"],
    ["max_retry_count", "parts.md", "snake case"],
    ["reisekosten", "german.md", "the beginning of a compound"],
    ["uberstunden", "german.md", "no umlaut in the question"],
    ["GRÖSSE", "german.md", "sharp s and capitals"],
    ["cafe", "french.md", "no accent in the question"],
    ["日本語", "japanese.md", "inside a run of CJK"],
    ["都", "japanese.md", "one CJK character"],
    ["한국어", "korean.md", "Korean"],
    ["otters.md", "otters.md", "a file name"],
    ['"second class"', "travel.md", "a phrase"],
  ];
  for (const [query, name, why] of FINDS) {
    test(`'${query}' finds ${name}: ${why}`, async () => assert.equal(await best(query), name));
  }

  test("a quoted phrase must occur as it is, unless it occurs nowhere", async () => {
    const names = async (text: string): Promise<string[]> =>
      (await at.index.search({ text, limit: 10 })).map((hit) => hit.name);
    assert.deepEqual([...new Set(await names('"holding hands" hotel room'))], ["otters.md"]);
    assert.equal((await names('"hands drift hotel"'))[0] !== undefined, true);
  });

  test("a hit tells its section and only the text below it", async () => {
    const [hit] = await at.index.search({ text: "hotel room euros", limit: 1 });
    assert.match(hit?.sectionPath ?? "", /^Travel policy( > Hotels)?$/);
    assert.match(hit?.text ?? "", /120 euros/);
  });

  test("scores are between 0 and 1, fall along the list, and the threshold cuts there", async () => {
    const hits = await at.index.search({ text: "otters sleep the page hotel", limit: 10 });
    assert.ok(hits.length > 2);
    for (const [i, hit] of hits.entries()) {
      assert.ok(hit.score >= 0 && hit.score <= 1);
      assert.ok(hit.score <= (hits[i - 1]?.score ?? 1));
    }
    const scoreThreshold = hits[1]?.score ?? 0;
    const cut = await at.index.search({ text: "otters sleep the page hotel", limit: 10, scoreThreshold });
    assert.deepEqual(cut, hits.slice(0, cut.length));
    assert.ok(cut.length >= 2 && cut.length < hits.length);
  });

  test("nothing anybody types is taken as query syntax", async () => {
    const odd = [
      "",
      '"',
      '"" OR "',
      "text:hotel NEAR(a b)",
      "* ^ - + ( ) { }",
      "a AND",
      "NOT",
      "\u0000 x",
      "'; DROP TABLE chunks;",
    ];
    odd.push(Array.from({ length: 2000 }, (_, i) => `word${i}`).join(" "), `"${"long phrase ".repeat(500)}" "b" "c d"`);
    for (const text of odd) await at.index.search({ text, limit: 3 });
    const word = fc.oneof(
      fc.string({ unit: "binary" }),
      fc.constantFrom("AND", "OR", "NOT", "NEAR(", '"', "*", "東", "hotel"),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(word, { maxLength: 8 }), async (words) => {
        assert.ok(Array.isArray(await at.index.search({ text: words.join(" "), limit: 3 })));
      }),
      { numRuns: 100 },
    );
    assert.equal(await best("hotel room"), "travel.md");
  });
});

describe("attribute filters", () => {
  let at: EmbeddedFixture;
  const ATTRIBUTES: Record<string, Attributes> = {
    a: { year: 2023, kind: "memo", open: true, 'odd "key" $': "x" },
    b: { year: 2024, kind: "note", open: false },
    c: { year: 2025.5, kind: "memo" },
    d: { year: "2024", kind: "5" },
    e: {},
  };
  before(async () => {
    at = await embeddedFixture();
    const draft = await at.index.draft(LIBRARY);
    for (const [item, attributes] of Object.entries(ATTRIBUTES)) {
      await draft.put(await at.makeFile(item, `The zyzzomat ${item} hums.`, attributes), never);
    }
    await draft.commit(never);
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
      const hits = await at.index.search({ text: "zyzzomat hums", limit: 50, filter });
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

  test("an order among booleans is refused", async () => {
    const filter: AttributeFilter = { type: "gt", key: "open", value: true };
    await assert.rejects(at.index.search({ text: "x", limit: 1, filter }), { name: "BadInputError" });
  });
});

describe("results are not starved", () => {
  let at: EmbeddedFixture;
  before(async () => {
    at = await embeddedFixture();
    const draft = await at.index.draft(LIBRARY);
    for (let i = 0; i < 260; i++) {
      await draft.put(await at.makeFile(`loud${i}`, `Zyzzomat zyzzomat zyzzomat ${i}.`, { group: "loud" }), never);
    }
    const padding = "Other words follow here and go on for a while without any point. ".repeat(20);
    await draft.put(await at.makeFile("quiet", `${padding} A zyzzomat. ${padding}`, { group: "quiet" }), never);
    const section = "The quibblet hums along.\n\n".repeat(30);
    const long = Array.from({ length: 8 }, (_, i) => `## Part ${i}\n\n${section}`).join("\n\n");
    await draft.put(await at.makeFile("long", long), never);
    await draft.put(await at.makeFile("short", "A quibblet."), never);
    await draft.commit(never);
  });
  after(() => at.close());

  test("by a filter: it applies before the best are chosen", async () => {
    const filter: AttributeFilter = { type: "eq", key: "group", value: "quiet" };
    const hits = await at.index.search({ text: "zyzzomat", limit: 5, filter });
    assert.deepEqual(
      hits.map((hit) => hit.name),
      ["quiet.md"],
    );
    assert.ok((hits[0]?.score ?? 0) > 0.4, "found by its words, not only by likeness");
  });

  test("by one long document: at most three of its chunks, and others get their place", async () => {
    const hits = await at.index.search({ text: "quibblet", limit: 10 });
    const names = hits.map((hit) => hit.name);
    assert.equal(names.filter((name) => name === "long.md").length, 3);
    assert.ok(names.includes("short.md"));
  });

  test("by documents that are gone: they take no place among the best", async () => {
    const draft = await at.index.draft(LIBRARY);
    for (let i = 0; i < 260; i++) await draft.remove(`loud${i}` as ItemId);
    await draft.commit(never);
    const hits = await at.index.search({ text: "zyzzomat", limit: 5 });
    assert.deepEqual(
      hits.map((hit) => hit.name),
      ["quiet.md"],
    );
    assert.ok((hits[0]?.score ?? 0) > 0.4, "found by its words, not only by likeness");
  });
});
