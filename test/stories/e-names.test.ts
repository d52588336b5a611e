import { NAME_STORIES } from "./e-names.ts";
import { tell } from "./tell.ts";

tell(NAME_STORIES);
