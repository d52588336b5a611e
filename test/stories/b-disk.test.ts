import { DISK_STORIES } from "./b-disk.ts";
import { tell } from "./tell.ts";

tell(DISK_STORIES);
