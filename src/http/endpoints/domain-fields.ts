import type { SourceKinds } from "../../contracts/source-kind.ts";
import { optional } from "../routing/parameters.ts";
import { json, text } from "../routing/values.ts";

const PLAIN = {
  description: optional(text, "What it holds."),
  vector_store_name: optional(
    text,
    "Name of the vector store that the first crawl creates; the domain id when not given.",
  ),
  vector_store_id: optional(text, "An existing vector store to fill; empty: the next crawl creates one."),
  schedule: optional(
    text,
    "When it is crawled unattended: a cron expression of five fields in UTC, like '0 2 * * *' for 02:00 every day; empty: never.",
  ),
};

const SOURCES_JSON = optional(text, "All source arrays in one JSON text, for forms and older clients.");

type Fields = typeof PLAIN & { readonly sources_json: typeof SOURCES_JSON };

/** Fields of a new or changed domain, besides its id and its name. */
export function domainFields({ all }: SourceKinds): Fields {
  const arrays = Object.fromEntries(all.map(({ type, words }) => [type, optional(json, words.array)]));
  return { ...PLAIN, ...arrays, sources_json: SOURCES_JSON };
}
