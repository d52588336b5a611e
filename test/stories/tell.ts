import { test } from "node:test";
import { EDGE_CASES } from "./edge-cases.ts";
import { runStory, type Story } from "./story.ts";

/** One test per story. */
export function tell(stories: readonly Story[], options: { readonly faultSeed?: number } = {}): void {
  for (const story of stories) {
    test(`${story.id} ${EDGE_CASES[story.id]}: ${story.title}`, () => runStory(story, options));
  }
}
