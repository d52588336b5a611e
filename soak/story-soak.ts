import { ALL_STORIES } from "../test/stories/all-stories.ts";
import { runStory } from "../test/stories/story.ts";
import type { Soak } from "./soak.ts";

/** Every story once more, while one request to the tenant in five fails. */
export const storySoak: Soak = {
  count: ALL_STORIES.length,
  async play(seed) {
    const story = ALL_STORIES[(seed - 1) % ALL_STORIES.length];
    if (!story) throw new Error("there are no stories");
    try {
      await runStory(story, { faultSeed: seed });
    } catch (error) {
      throw new Error(`${story.id} ${story.title}`, { cause: error });
    }
    return `${story.id} ${story.title}`;
  },
};
