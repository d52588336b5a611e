import { convertOriginals } from "./convert-originals.ts";
import type { StepResult } from "./crawl-source.ts";
import type { EngineParts } from "./engine-parts.ts";
import { extractTexts } from "./extract-texts.ts";
import type { ListingResult, SourceCrawl, SourceStep } from "./run-context.ts";

/** Whether the files of this source are to be processed before they can be indexed. */
export function needsProcessing({ run, converter }: Pick<SourceCrawl, "run" | "converter">): boolean {
  return run.config.kind.abilities.keepsTexts || converter !== undefined;
}

/** file ▶ what is indexed of it, for one source: its text, for kinds that keep texts; the documents made of it, for kinds with originals. */
export async function process(
  step: SourceStep,
  listing: ListingResult | undefined,
  parts: EngineParts,
): Promise<StepResult> {
  const { run, converter } = step;
  if (run.config.kind.abilities.keepsTexts || !converter) return await extractTexts(step, listing, parts);
  return await convertOriginals({ ...step, converter });
}
