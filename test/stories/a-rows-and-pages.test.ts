import { PAGE_STORIES } from "./a-pages.ts";
import { ROW_STORIES } from "./a-rows.ts";
import { tell } from "./tell.ts";

tell([...ROW_STORIES, ...PAGE_STORIES]);
