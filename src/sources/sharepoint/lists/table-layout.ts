/**
 * The columns of an export: ID, Title, the list's own in alphabetical order, Created, Modified, Author, Editor. The six
 * are found by their places, because their titles are in the language of the site.
 */
export const ID_AT = 0;
export const TITLE_AT = 1;
export const OWN_FROM = 2;
/** Created, Modified, Author and Editor, counted from the end. */
export const TAIL = 4;
export const MIN_COLUMNS = OWN_FROM + TAIL;

/** At the end of the title of a column of moments: SharePoint shows them in the time of the site, we write them in UTC. */
export const UTC_MARK = "[UTC]";

/** undefined when the row is not that of an item. */
export function rowId(cells: readonly string[]): number | undefined {
  const id = Number(cells[ID_AT]);
  return Number.isSafeInteger(id) && id > 0 ? id : undefined;
}
