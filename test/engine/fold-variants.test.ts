// Addresses of one group with equal content are one search result.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { QuerySource } from "../../src/engine/query.ts";
import { foldVariants } from "../../src/engine/query.ts";

function source(url: string, content_hash: string, item_id = `url_${url}`): QuerySource {
  const nothing = { domainId: "", title: "", webUrl: "", checkedAt: "", isBehind: false } as const;
  const empty = { ...nothing, sectionPath: "", score: 1, name: "", modifiedAt: "", metadata: null, details: null };
  return { ...empty, text: url, fileId: url, url, attributes: { item_id, content_hash } };
}

/** As a backend gives them that folds nothing itself. */
test("addresses of one group with equal content are one result, under the shortest; others stay apart", () => {
  const cases: readonly [readonly QuerySource[], readonly string[]][] = [
    [[source("http://a.b/x?s=1", "1"), source("https://a.b/x", "1"), source("http://a.b/x", "1")], ["http://a.b/x"]],
    [
      [source("https://a.b/x?s=cats", "1"), source("https://a.b/x?s=dogs", "2")],
      ["https://a.b/x?s=cats", "https://a.b/x?s=dogs"],
    ],
    [
      [source("https://a.b/x", "1"), source("https://a.b/y", "1")],
      ["https://a.b/x", "https://a.b/y"],
    ],
    [[source("https://a.b/x/index.html", "1"), source("https://a.b/x", "1")], ["https://a.b/x"]],
    [[source("https://a.b/x/Default.aspx?p=1", "1"), source("https://a.b/x", "1")], ["https://a.b/x"]],
    [
      [source("https://a.b/x/index.html", "1"), source("https://a.b/x", "2")],
      ["https://a.b/x/index.html", "https://a.b/x"],
    ],
    [
      [source("https://a.b/x?v=1", "", "url_1"), source("https://a.b/x", "", "url_2")],
      ["https://a.b/x?v=1", "https://a.b/x"],
    ],
    [
      [source("https://s.com/x?v=1", "1", "f00"), source("https://s.com/x", "1", "f01")],
      ["https://s.com/x?v=1", "https://s.com/x"],
    ],
  ];
  for (const [given, expected] of cases) {
    assert.deepEqual(
      foldVariants(given).map(({ url }) => url),
      expected,
    );
  }
  const passages = [source("https://a.b/x?s=1", "1"), source("https://a.b/x", "1"), source("https://a.b/x", "1")];
  assert.equal(foldVariants(passages).length, 2, "passages of one page stay");
});
