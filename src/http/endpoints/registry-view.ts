import type { App } from "../../app/app.ts";
import { DamagedError, NotFoundError } from "../../contracts/errors.ts";
import type { ItemId } from "../../contracts/ids.ts";
import type { ItemView } from "../../engine/ingest/ingest.ts";
import type { QuerySource } from "../../engine/query.ts";

/**
 * What the registry knows of what was found. undefined: nothing; documents of SharePoint are not even asked for. The index
 * has found it, so a registry that is damaged does not stand in the way: `lockstep doctor` and SearchStatus tell of that.
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
