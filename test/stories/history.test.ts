// Random histories of changes, accidents and crawls end in step.
import { test } from "node:test";
import { playHistory } from "./history.ts";

/** A sample; `npm run soak -- histories` plays many more, with `--seed` any one of them again. */
for (const seed of [1, 2, 3]) {
  test(`history ${seed} of changes, accidents and crawls ends in step`, () => playHistory(seed));
}
