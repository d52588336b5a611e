import { withDefault } from "./parameters.ts";
import { trueOrFalse } from "./values.ts";

export const dryRun = withDefault(trueOrFalse, false, "true only tells what would be done.");
