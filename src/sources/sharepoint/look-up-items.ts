import { RemoteError } from "../../contracts/errors.ts";
import type { ItemId } from "../../contracts/ids.ts";
import type { Sighting } from "../../contracts/source.ts";
import { forEachConcurrent } from "../../lib/concurrency.ts";
import { type LibraryPart, placeOf } from "./find-library.ts";
import { itemFields, type Row } from "./library-codec.ts";
import { type FilePlace, readingOf } from "./list-files.ts";
import { readItems, windowFilter } from "./read-items.ts";
import { type CallContext, SharePointError } from "./rest-client.ts";

export interface LookedUp {
  /** Those that are in the library now; without a sighting where they are folders or outside the wanted part. */
  readonly rows: ReadonlyMap<ItemId, Sighting | undefined>;
  readonly folders: ReadonlySet<ItemId>;
}

interface Wanted {
  readonly itemId: ItemId;
  readonly listItemId: number;
}

/** Ids this close together are asked for in one question; the rows between them are passed over. */
const CLOSE = 20;
const WINDOW = 500;
const AT_ONCE = 4;

/**
 * How these items are now. Asked for as the listing asks, in windows of ids, so that an item which the listing would
 * not show is not there either. Throws when a row makes no sense.
 */
export async function lookUpItems(
  place: FilePlace,
  part: LibraryPart,
  items: readonly Wanted[],
  call: CallContext,
): Promise<LookedUp> {
  const reading = readingOf(part.library, place);
  const wanted = new Set(items.map((item) => item.itemId));
  const rows = new Map<ItemId, Sighting | undefined>();
  const folders = new Set<ItemId>();
  const take = (row: Row): void => {
    if (row.key && !wanted.has(row.key as ItemId)) return;
    if (row.kind === "senseless") throw new RemoteError(`look up what changed: ${row.unreadable.reason}`);
    rows.set(row.key as ItemId, row.kind === "file" ? row.sighting : undefined);
    if (row.kind === "aside" && row.folder) folders.add(row.key as ItemId);
  };
  await forEachConcurrent(windows(items.map((item) => item.listItemId)), AT_ONCE, async ({ first, last }) => {
    const filter = windowFilter("", first - 1, last);
    const query = { ...place, listId: part.library.listId, filter, pageSize: WINDOW, call };
    const answers = await readWithTag((fields) => readAll({ ...query, fields }));
    for (const answer of answers) take(reading.decode(answer, placeOf(place.site, part)));
  });
  const found = [...rows.values()].filter((sighting) => sighting !== undefined);
  for (const each of await reading.settle(found, call)) {
    if (each.kind !== "sighting") throw new RemoteError(`look up what changed: ${each.reason}`);
    rows.set(each.itemId, each);
  }
  return { rows, folders };
}

async function readAll(query: Parameters<typeof readItems>[0]): Promise<unknown[]> {
  const rows: unknown[] = [];
  for await (const page of readItems(query, (each) => each)) rows.push(...page);
  return rows;
}

/** As in the listing: the content tag is a nicety. */
async function readWithTag<T>(read: (fields: string) => Promise<T>): Promise<T> {
  try {
    return await read(itemFields({ contentTag: true }));
  } catch (error) {
    if (!(error instanceof SharePointError) || error.status !== 400) throw error;
    return await read(itemFields({ contentTag: false }));
  }
}

function windows(ids: readonly number[]): { readonly first: number; readonly last: number }[] {
  const sorted = ids.toSorted((a, b) => a - b);
  const found: { first: number; last: number }[] = [];
  for (const id of sorted) {
    const open = found.at(-1);
    if (open && id - open.last <= CLOSE && id - open.first < WINDOW) open.last = id;
    else found.push({ first: id, last: id });
  }
  return found;
}
