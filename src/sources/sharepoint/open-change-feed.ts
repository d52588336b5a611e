import { RemoteError } from "../../contracts/errors.ts";
import type { ItemId } from "../../contracts/ids.ts";
import type { ChangeFeed, ChangesSince, RememberedItem, Sighting } from "../../contracts/source.ts";
import { fileTypeOf } from "../../lib/file-type.ts";
import { decodeMark, encodeMark, type Mark } from "./change-codec.ts";
import { pathBelow } from "./escaping.ts";
import { findLibrary, type LibraryPart, placeOf } from "./find-library.ts";
import { LIBRARY_MARK_FIELDS, type LibraryRoot } from "./library-codec.ts";
import type { FilePlace } from "./list-files.ts";
import { lookUpItems } from "./look-up-items.ts";
import { readChanges, type TouchedItem } from "./read-changes.ts";
import { type CallContext, SharePointError } from "./rest-client.ts";

export interface LibraryFeed extends FilePlace {
  readonly urlPart: string;
  /** OData, "" for none. */
  readonly filter: string;
  callWith(signal: AbortSignal): CallContext;
  /** What a person is told when the library cannot be looked at. */
  advise(error: RemoteError): RemoteError;
  /** Told the library whenever it was found. */
  onFound(library: LibraryRoot): void;
}

/** Times the log may grow while we look before we list instead. */
const ROUNDS = 3;

/** What the change log of a library tells. Whatever is odd about it makes the feed decline, never guess. */
export function openChangeFeed(feed: LibraryFeed): ChangeFeed {
  const find = async (call: CallContext): Promise<LibraryPart> => {
    const part = await findLibrary(feed.rest, feed.site, feed.urlPart, call, LIBRARY_MARK_FIELDS);
    feed.onFound(part.library);
    return part;
  };
  return {
    async mark(signal) {
      try {
        const part = await find(feed.callWith(signal));
        return hidesDrafts(part, feed) ? "" : encodeMark(markOf(part, feed.filter));
      } catch (error) {
        // A server without a change log dislikes the question; every later look declines such a mark.
        if (error instanceof SharePointError && error.status === 400) return "";
        throw error instanceof RemoteError ? feed.advise(error) : error;
      }
    },
    async since(text, isKnown, signal) {
      const mark = decodeMark(text);
      if (!mark) return undefined;
      const call = feed.callWith(signal);
      try {
        for (let round = 0; round < ROUNDS; round += 1) {
          const look = await lookSince({ feed, mark, call, find, isKnown });
          if (look !== "moving") return look;
        }
      } catch (error) {
        // The listing, which is asked next, meets the same trouble and says so.
        if (!(error instanceof RemoteError)) throw error;
      }
      return undefined;
    },
  };
}

/** Who may see a draft can change without a word in the log, so whoever takes drafts has to look for himself. */
function hidesDrafts({ library }: LibraryPart, { drafts }: LibraryFeed): boolean {
  return drafts && library.mayHoldDrafts;
}

function markOf(part: LibraryPart, filter: string): Mark {
  const { listId, changeToken, itemCount, showing } = part.library;
  return { listId, root: part.root, filter, token: changeToken, itemCount, showing };
}

interface Look {
  readonly feed: LibraryFeed;
  readonly mark: Mark;
  readonly call: CallContext;
  find(call: CallContext): Promise<LibraryPart>;
  isKnown(item: ItemId): Promise<boolean>;
}

/** moving: the library changed under our eyes, so what we saw of it does not belong together. */
async function lookSince(look: Look): Promise<ChangesSince | "moving" | undefined> {
  const { feed, mark, call } = look;
  const before = await look.find(call);
  if (!continues(mark, markOf(before, feed.filter)) || hidesDrafts(before, feed)) return undefined;
  if (before.library.changeToken === mark.token && before.library.itemCount === mark.itemCount) {
    return answer(look, before, { touched: [], gone: [] });
  }
  const log = await readChanges(feed, mark.listId, mark.token, call);
  if (!log || (mark.filter && log.items.length > 0)) return undefined;
  const { rows, folders } = await lookUpItems(feed, before, log.items, call);
  const after = await look.find(call);
  const later = await readChanges(feed, mark.listId, log.token, call);
  if (!later || later.items.length > 0) return later && "moving";
  if (!continues(mark, markOf(after, feed.filter))) return undefined;

  const there = (item: TouchedItem): boolean => rows.has(item.itemId);
  const grown = log.items.filter(there).length - log.items.filter((item) => !item.arrived).length;
  if (mark.itemCount + grown !== after.library.itemCount) return undefined;
  if (log.items.some((item) => item.relocated && folders.has(item.itemId))) return undefined;
  const found = await sort(log.items, rows, look);
  return found && answer(look, after, found);
}

function continues(mark: Mark, now: Mark): boolean {
  const isSame = (["listId", "root", "filter", "showing"] as const).every((key) => mark[key] === now[key]);
  return isSame && now.token !== "";
}

interface Found {
  readonly touched: readonly Sighting[];
  readonly gone: readonly ItemId[];
}

/** undefined: something vanished that we never knew, and it may have been a folder with much below it. */
async function sort(
  items: readonly TouchedItem[],
  rows: ReadonlyMap<ItemId, Sighting | undefined>,
  { isKnown }: Look,
): Promise<Found | undefined> {
  const touched: Sighting[] = [];
  const gone: ItemId[] = [];
  for (const item of items) {
    const sighting = rows.get(item.itemId);
    if (sighting) touched.push(sighting);
    else if (await isKnown(item.itemId)) gone.push(item.itemId);
    else if (!rows.has(item.itemId) && !item.arrived) return undefined;
  }
  return { touched, gone };
}

function answer({ feed }: Look, part: LibraryPart, found: Found): ChangesSince {
  const { root } = placeOf(feed.site, part);
  return { mark: encodeMark(markOf(part, feed.filter)), ...found, recall: (item) => recall(item, root) };
}

/** Throws for an item that cannot have been seen in this part of the library. */
function recall(item: RememberedItem, root: string): Sighting {
  const path = pathBelow(root, item.serverPath);
  if (path === undefined) throw new RemoteError(`recall '${item.serverPath}': it does not lie below '${root}'`);
  const { itemId, listItemId, name, serverPath, url, rawUrl, fingerprint } = item;
  const remembered = { itemId, listItemId, name, serverPath, url, rawUrl, fingerprint };
  return { ...remembered, kind: "sighting", path, documentType: fileTypeOf(path), form: "document" };
}
