import type OpenAI from "openai";
import type { FileNames } from "./file-names.ts";

/** What changes of many files work with. */
export interface InventoryParts {
  readonly client: OpenAI;
  readonly names: FileNames;
}
