// Stories end in step while one request to the tenant in five fails.
import { ALL_STORIES } from "./all-stories.ts";
import type { EdgeCase } from "./edge-cases.ts";
import { tell } from "./tell.ts";

/** A sample, while one request to the tenant in five fails; `npm run soak -- stories` plays all of them so. */
const SAMPLE: readonly EdgeCase[] = ["A2", "A4", "A9", "A13", "A16", "B6", "C1", "D3"];

for (const [i, id] of SAMPLE.entries()) {
  const story = ALL_STORIES.find((each) => each.id === id);
  if (story) tell([story], { faultSeed: i + 1 });
}
