// In random histories every kept generation shows what was committed.
import { test } from "node:test";
import { playDraftHistory } from "./draft-history.ts";

for (const seed of [1, 2, 3]) {
  test(`history ${seed}: every kept generation shows what was committed, and nothing is left over`, () =>
    playDraftHistory(seed));
}
