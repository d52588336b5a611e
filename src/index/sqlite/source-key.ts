import { BadInputError } from "../../contracts/errors.ts";
import type { DomainId, SourceId } from "../../contracts/ids.ts";
import { DIRECT_SOURCE } from "./store-schema.ts";

/** Whose documents they are, as the column `source_id` has it: source ids are unique only within their domain. */
export type SourceKey = `${DomainId}/${SourceId}`;

/** Neither id can contain a slash, so no two pairs share a key, and none is the key of wire files. */
export function sourceKey(domain: DomainId, source: SourceId): SourceKey {
  if (source === DIRECT_SOURCE) throw new BadInputError(`open source: the source id '${DIRECT_SOURCE}' is reserved`);
  return `${domain}/${source}`;
}
