// The filter of a list matches values of any shape, and ends for deeply nested ones.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { takePart } from "../../src/http/routing/listing.ts";

const ROWS = [
  { id: "A", sources: [{ source_id: "docs", url: "https://a.example/One" }], note: null },
  { id: "B", sources: [{ source_id: "wiki", url: "https://b.example/Two" }], note: { text: ["Crème", 42, true] } },
];

describe("the filter of a list", () => {
  const found = (filter: string): string[] =>
    takePart(ROWS, { limit: undefined, offset: 0, sort: undefined, filter }).rows.map(({ id }) => id);

  const CASES: readonly [filter: string, ids: string[]][] = [
    ["", ["A", "B"]],
    ["b", ["B"]],
    ["WIKI", ["B"]],
    ["example/one", ["A"]],
    ["crème", ["B"]],
    ["42", ["B"]],
    ["true", ["B"]],
    ["source_id", []],
    ["text", []],
    ['":"', []],
    ["null", []],
    ["[", []],
  ];
  for (const [filter, ids] of CASES) {
    it(`'${filter}' is looked for in values, never in names of fields or the signs between them`, () => {
      assert.deepEqual(found(filter), ids);
    });
  }

  it("ends also where values are nested very deeply", () => {
    let nested: unknown = "needle";
    for (let i = 0; i < 100_000; i++) nested = [nested];
    const wish = { limit: undefined, offset: 0, sort: undefined, filter: "needle" };
    assert.deepEqual(takePart([{ nested }], wish).rows, []);
  });
});
