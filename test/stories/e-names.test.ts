// The edge cases of names end in step.
import { NAME_STORIES } from "./e-names.ts";
import { tell } from "./tell.ts";

tell(NAME_STORIES);
