// In random histories every kept generation shows, by SQL and by search, what it showed first.
import { test } from "node:test";
import { openAlone, playDraftHistory } from "./draft-history.ts";

/** `npm run soak -- generations` plays many more. */
for (let seed = 1; seed <= 4; seed++) {
  test(`history ${seed}: every kept generation shows what it showed first, and nothing is left over`, () =>
    playDraftHistory(seed, openAlone));
}
