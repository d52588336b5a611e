// The edge cases of rows and pages at the source end in step.
import { PAGE_STORIES } from "./a-pages.ts";
import { ROW_STORIES } from "./a-rows.ts";
import type { Story } from "./story.ts";
import { tell } from "./tell.ts";

/** What is called otherwise at the source than in the mirror also has to pass a service that goes by names. */
const REMOTE = [...ROW_STORIES, ...PAGE_STORIES]
  .filter(({ id }) => id === "A1" || id === "A3")
  .map((story): Story => ({ ...story, title: `${story.title} (remote store)`, backend: "remote" }));

tell([...ROW_STORIES, ...PAGE_STORIES, ...REMOTE]);
