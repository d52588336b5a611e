import { SOURCE_TYPES, type SourceConfig, type SourceType } from "../../contracts/domain.ts";
import { plural } from "../../lib/plural.ts";

/** What people call the kinds of sources. */
export const SOURCE_WORDS: Readonly<Record<SourceType, string>> = {
  file_sources: "Document library",
  list_sources: "List",
  sitepage_sources: "Site pages",
  web_sources: "Web site",
  folder_sources: "Folder",
  blob_sources: "Blob container",
};

/** For kinds that may come from an older or newer version, too. */
export function kindWords(type: string): string {
  return Object.hasOwn(SOURCE_WORDS, type) ? SOURCE_WORDS[type as SourceType] : type;
}

const NOUNS: Readonly<Record<SourceType, readonly [noun: string, nouns: string]>> = {
  file_sources: ["library", "libraries"],
  list_sources: ["list", "lists"],
  sitepage_sources: ["set of site pages", "sets of site pages"],
  web_sources: ["web site", "web sites"],
  folder_sources: ["folder", "folders"],
  blob_sources: ["blob container", "blob containers"],
};

/** "2 libraries, 1 list"; "" of none. */
export function kindCounts(sources: readonly SourceConfig[]): string {
  const others = sources.filter((source) => !isOfRegistered(source));
  const counted = SOURCE_TYPES.flatMap((type) => {
    const count = others.filter(({ sourceType }) => sourceType === type).length;
    return count > 0 ? [plural(count, ...NOUNS[type])] : [];
  });
  return [...counted, ...(others.length < sources.length ? ["registered addresses"] : [])].join(", ");
}

export function kindOf(source: SourceConfig): string {
  return isOfRegistered(source) ? "Registered addresses" : SOURCE_WORDS[source.sourceType];
}

/** A web site begins somewhere. */
function isOfRegistered(source: SourceConfig): boolean {
  return source.sourceType === "web_sources" && source.startUrls.length === 0;
}
