import { BadInputError } from "../contracts/errors.ts";
import { identifyUrl, USUAL_RULES } from "../detect/web/web-identity.ts";
import type { QuerySource } from "./query.ts";

/**
 * Addresses of one content group (http and https, variants of the query, the index page of a folder) that say the same are
 * one result, under the shortest of them. Their items stay apart.
 */
export function foldVariants(sources: readonly QuerySource[]): readonly QuerySource[] {
  const shown = new Map<string, QuerySource>();
  for (const source of sources) {
    const key = variantKey(source);
    const known = key && shown.get(key);
    if (key && (!known || isFirst(source.url, known.url))) shown.set(key, source);
  }
  return sources.filter((source) => {
    const key = variantKey(source);
    return key === "" || shown.get(key)?.fileId === source.fileId;
  });
}

function isFirst(url: string, other: string): boolean {
  return url.length === other.length ? url < other : url.length < other.length;
}

/** "" for what is no page, and where nothing tells what it says. */
function variantKey({ attributes, url }: QuerySource): string {
  const hash = String(attributes["content_hash"] ?? "");
  if (hash === "" || !String(attributes["item_id"] ?? "").startsWith("url_")) return "";
  try {
    const { contentGroupId } = identifyUrl(url, USUAL_RULES);
    return `${contentGroupId} ${hash}`;
  } catch (error) {
    if (error instanceof BadInputError) return "";
    throw error;
  }
}
