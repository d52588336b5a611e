import { STORE_STORIES } from "./c-store.ts";
import { tell } from "./tell.ts";

tell(STORE_STORIES);
