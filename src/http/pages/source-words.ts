import { SOURCE_TYPES, type SourceType } from "../../contracts/domain.ts";
import { plural } from "../../lib/plural.ts";

/** What people call the kinds of sources. */
export const SOURCE_WORDS: Readonly<Record<SourceType, string>> = {
  file_sources: "Document library",
  list_sources: "List",
  sitepage_sources: "Site pages",
};

/** For kinds that may come from an older or newer version, too. */
export function kindWords(type: string): string {
  return Object.hasOwn(SOURCE_WORDS, type) ? SOURCE_WORDS[type as SourceType] : type;
}

const NOUNS: Readonly<Record<SourceType, readonly [noun: string, nouns: string]>> = {
  file_sources: ["library", "libraries"],
  list_sources: ["list", "lists"],
  sitepage_sources: ["set of site pages", "sets of site pages"],
};

/** "2 libraries, 1 list"; "" of none. */
export function kindCounts(sources: readonly { readonly sourceType: SourceType }[]): string {
  const counts = SOURCE_TYPES.map((type) => sources.filter(({ sourceType }) => sourceType === type).length);
  return SOURCE_TYPES.flatMap((type, at) => (counts[at] ? [plural(counts[at], ...NOUNS[type])] : [])).join(", ");
}
