// The edge cases of the mirror on disk end in step.
import { DISK_STORIES } from "./b-disk.ts";
import { tell } from "./tell.ts";

tell(DISK_STORIES);
