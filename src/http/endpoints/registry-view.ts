import type { App } from "../../app/app.ts";
import { DamagedError, NotFoundError } from "../../contracts/errors.ts";
import type { ItemId } from "../../contracts/ids.ts";
import type { ItemView } from "../../engine/ingest/ingest.ts";
import type { QuerySource } from "../../engine/query.ts";

/**
 * Returns the registry's entry of a search result; undefined if there is none (documents of SharePoint never have one). A damaged registry
 * does not fail the search: `lockstep doctor` and SearchStatus report it.
 */
export async function registryView(app: App, { attributes, metadata }: QuerySource): Promise<ItemView | undefined> {
  const id = attributes["item_id"] ?? metadata?.["sharepoint_unique_file_id"];
  if (typeof id !== "string" || !/^(url|file)_/.test(id)) return undefined;
  try {
    return await app.ingest.item(id as ItemId);
  } catch (error) {
    if (error instanceof NotFoundError || error instanceof DamagedError) return undefined;
    throw error;
  }
}
