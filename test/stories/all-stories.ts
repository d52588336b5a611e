import { PAGE_STORIES } from "./a-pages.ts";
import { ROW_STORIES } from "./a-rows.ts";
import { SOURCE_STORIES } from "./a-source.ts";
import { DISK_STORIES } from "./b-disk.ts";
import { STORE_STORIES } from "./c-store.ts";
import { TIMING_STORIES } from "./d-timing.ts";
import { NAME_STORIES } from "./e-names.ts";
import type { Story } from "./story.ts";

export const ALL_STORIES: readonly Story[] = [
  ...SOURCE_STORIES,
  ...ROW_STORIES,
  ...PAGE_STORIES,
  ...DISK_STORIES,
  ...STORE_STORIES,
  ...TIMING_STORIES,
  ...NAME_STORIES,
];
