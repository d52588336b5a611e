import { TIMING_STORIES } from "./d-timing.ts";
import { tell } from "./tell.ts";

tell(TIMING_STORIES);
