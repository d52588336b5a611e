import { optional } from "../grammar/parameters.ts";
import { json, text } from "../grammar/values.ts";

/** Fields of a new or changed domain, besides its id and its name. */
export const domainFields = {
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
  file_sources: optional(
    json,
    "Document libraries: an array of {source_id, site_url, sharepoint_url_part, filter, drafts}.",
  ),
  list_sources: optional(json, "Lists: an array of {source_id, site_url, list_name, filter}."),
  sitepage_sources: optional(json, "Site pages: an array of {source_id, site_url, sharepoint_url_part, filter}."),
  web_sources: optional(
    json,
    "Web sites: an array of {source_id, start_urls, include, exclude, max_depth, max_pages, images}; the last five may be left out.",
  ),
  folder_sources: optional(
    json,
    "Folders: an array of {source_id, root, include, exclude, gitignore, ignore_inodes, hidden, max_file_mb}; the last six may be left out.",
  ),
  blob_sources: optional(
    json,
    "Containers of Azure Blob Storage: an array of {source_id, container_url, prefix, include, exclude, credential, hidden, max_file_mb}; the last six may be left out. credential is the name of an environment variable.",
  ),
  sources_json: optional(text, "All source arrays in one JSON text, for forms and older clients."),
};
