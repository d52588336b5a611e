import type { SourceConfig } from "../../contracts/domain.ts";
import { plural } from "../../lib/plural.ts";

/** "2 libraries, 1 list"; "" of none. */
export function kindCounts(sources: readonly SourceConfig[]): string {
  const others = sources.filter((source) => !isOfRegistered(source));
  const counted = [...Map.groupBy(others, ({ kind }) => kind)].map(([{ words }, { length }]) =>
    plural(length, words.noun, words.nouns),
  );
  return [...counted, ...(others.length < sources.length ? ["registered addresses"] : [])].join(", ");
}

export function kindOf(source: SourceConfig): string {
  return isOfRegistered(source) ? "Registered addresses" : source.kind.words.name;
}

/** A web site begins somewhere. */
function isOfRegistered(source: SourceConfig): boolean {
  return source.kind.holdsRegistered?.(source) ?? false;
}
