import { RemoteError } from "../../../contracts/errors.ts";
import type { Fetched, ItemRef } from "../../../contracts/source.ts";
import { encodePath } from "../escaping.ts";
import { expectedOutcome } from "../fetch-file.ts";
import { publicationOf } from "../published-version.ts";
import type { CallContext } from "../rest-client.ts";
import { decodePageIdentity, decodePageTexts, PAGE_FIELDS } from "./page-codec.ts";
import { listUrl, type PageLibrary, readPublishedTexts } from "./page-library.ts";
import { writePageOriginal } from "./page-original.ts";

/** The page as readers see it now, as one HTML file. What is no longer this page, or no longer published, is gone. */
export async function fetchPage(library: PageLibrary, item: ItemRef, call: CallContext): Promise<Fetched> {
  try {
    const original = await readOriginal(library, item, call);
    return original === undefined ? { status: "gone" } : { status: "fetched", body: inOnePiece(original) };
  } catch (error) {
    const outcome = expectedOutcome(error);
    if (outcome) return outcome;
    if (error instanceof RemoteError)
      throw new RemoteError(`download '${item.path}': ${error.message}`, { cause: error });
    throw error;
  }
}

/** undefined: gone. */
async function readOriginal(library: PageLibrary, item: ItemRef, call: CallContext): Promise<string | undefined> {
  const { rest, site, columns } = library;
  if (!Number.isSafeInteger(item.listItemId) || item.listItemId < 1) {
    throw new RemoteError(`${item.listItemId} is no number of a page`);
  }
  const select = [...PAGE_FIELDS, ...columns.texts].join();
  const url = `${listUrl(library)}/items(${item.listItemId})?$select=${select}&$expand=File`;
  const row = await rest.getJson(url, call);
  const { key, serverPath } = decodePageIdentity(row);
  const publication = publicationOf(row);
  if (key !== item.itemId || publication === "never published") return undefined;
  const texts = publication === "published" ? row : await readPublishedTexts(library, item.listItemId, call);
  return writePageOriginal(decodePageTexts(texts, `${site.origin}${encodePath(serverPath)}`));
}

async function* inOnePiece(text: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(text);
}
