// The edge cases of the vector store end in step.
import { STORE_STORIES } from "./c-store.ts";
import { tell } from "./tell.ts";

tell(STORE_STORIES);
