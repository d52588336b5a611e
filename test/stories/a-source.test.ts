// The edge cases of files at the source end in step.
import { SOURCE_STORIES } from "./a-source.ts";
import { tell } from "./tell.ts";

tell(SOURCE_STORIES);
