// Every edge case has a story, and every story tells one of them.
import assert from "node:assert/strict";
import { test } from "node:test";
import { ALL_STORIES } from "./all-stories.ts";
import { EDGE_CASES } from "./edge-cases.ts";

test("every edge case has a story, and every story tells one of them", () => {
  const told = new Set<string>(ALL_STORIES.map(({ id }) => id));
  assert.deepEqual(
    Object.keys(EDGE_CASES).filter((id) => !told.has(id)),
    [],
    "edge cases without a story",
  );
  assert.deepEqual(
    [...told].filter((id) => !(id in EDGE_CASES)),
    [],
    "stories of nothing",
  );
});

test("no two stories have the same title", () => {
  const titles = ALL_STORIES.map(({ id, title }) => `${id} ${title}`);
  assert.deepEqual(
    titles.filter((title, i) => titles.indexOf(title) !== i),
    [],
  );
});
