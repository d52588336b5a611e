import { BadInputError } from "../../contracts/errors.ts";

/** Where the files of an item lie: its id as a name, and the letters that spread items over folders. */
export interface ItemName {
  readonly name: string;
  readonly key: string;
}

/** undefined for anything that is no item's id, and so must not become a path. */
export function itemName(id: string): ItemName | undefined {
  const key = /^(?:url|file)_([a-z2-7]{26})$/.exec(id)?.[1];
  return key === undefined ? undefined : { name: id, key };
}

export function checkedItemName(id: string): ItemName {
  const name = itemName(id);
  if (name) return name;
  throw new BadInputError(
    `An item's id is 'url_' or 'file_' and 26 letters and digits (a-z, 2-7); got '${id.slice(0, 80)}'.`,
  );
}
