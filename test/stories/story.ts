import { BRISK, type WorldOptions } from "../engine/world.ts";
import type { EdgeCase } from "./edge-cases.ts";
import { openStage, type Stage } from "./stage.ts";

/** One edge case from beginning to end: what happens in SharePoint, on our disk or in the store, and what then holds. */
export interface Story {
  readonly id: EdgeCase;
  readonly title: string;
  /** Of the world it plays in: a further source, a short patience. */
  readonly world?: WorldOptions;
  /** A vector store behind the wire protocol that can be told to misbehave, instead of the embedded one. */
  readonly backend?: "remote";
  play(stage: Stage): Promise<void>;
}

export interface StoryOptions {
  /** One request to the tenant in five fails, chosen by this seed. */
  readonly faultSeed?: number;
}

/** Plays a story in a world of its own. Throws when something does not hold. */
export async function runStory(story: Story, options: StoryOptions = {}): Promise<void> {
  const stage = await openStage({ pace: BRISK, ...story.world }, story.backend);
  try {
    if (options.faultSeed !== undefined) await stage.disturb(options.faultSeed);
    await story.play(stage);
  } finally {
    await stage.close();
  }
}
