// The edge cases of timing and failing requests end in step.
import { TIMING_STORIES } from "./d-timing.ts";
import { tell } from "./tell.ts";

tell(TIMING_STORIES);
