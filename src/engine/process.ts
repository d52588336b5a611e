import { convertOriginals } from "./convert-originals.ts";
import type { StepResult } from "./crawl-source.ts";
import type { EngineParts } from "./engine-parts.ts";
import { extractTexts } from "./extract-texts.ts";
import type { ListingResult, SourceCrawl, SourceStep } from "./run-context.ts";

/** Whether the files of this source are to be processed before they can be indexed. */
export function needsProcessing({ run, converter }: Pick<SourceCrawl, "run" | "converter">): boolean {
  return run.config.kind.abilities.keepsTexts || converter !== undefined;
}

/** mirror ▶ documents, for one source. Kinds that keep texts: extracts and stores the text of each file. Kinds with originals: makes documents of them. */
export async function process(
  step: SourceStep,
  listing: ListingResult | undefined,
  parts: EngineParts,
): Promise<StepResult> {
  const { run, converter } = step;
  if (run.config.kind.abilities.keepsTexts || !converter) return await extractTexts(step, listing, parts);
  return await convertOriginals({ ...step, converter });
}
