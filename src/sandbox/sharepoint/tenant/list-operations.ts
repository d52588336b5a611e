import { BadInputError, NotFoundError } from "../../../contracts/errors.ts";
import { type ColumnRequest, readColumnType, toColumnValue } from "./column.ts";
import type { Library } from "./library.ts";
import { createFolder, enter, newItemState, openPlace, refuseIfTaken } from "./place-item.ts";
import type { Tenant } from "./tenant.ts";
import type { ColumnValue, FolderItem, RowItem } from "./tenant-item.ts";
import { beginVersion } from "./versions.ts";

export interface NewColumn {
  readonly title: string;
  readonly name?: string;
  readonly type: string;
  readonly choices?: readonly string[];
  readonly multiple?: boolean;
  /** The title or the path of the list a lookup points at. */
  readonly lookupList?: string;
  readonly lookupField?: string;
  readonly indexed?: boolean;
  readonly richText?: boolean;
  readonly dateOnly?: boolean;
  readonly currencyLocaleId?: number;
}

export interface RowOptions {
  readonly at?: string;
  /** Who does it: a name or a mail address. */
  readonly by?: string;
}

type Values = Readonly<Record<string, unknown>>;

export function addList(
  tenant: Tenant,
  path: string,
  options: { title?: string; at?: string; columns?: readonly NewColumn[] } = {},
): Library {
  const { columns = [], ...names } = options;
  const list = tenant.addLibrary(path, { ...names, template: 100 });
  list.addColumn({ title: "Title", type: "Text" });
  for (const column of columns) addColumn(list, column);
  return list;
}

export function addColumn(library: Library, { name, lookupList, multiple, ...column }: NewColumn): void {
  const type = readColumnType(column.type, multiple ?? false);
  const isLookup = type === "Lookup" || type === "LookupMulti";
  const request: ColumnRequest = {
    ...column,
    type,
    ...(name === undefined ? {} : { internalName: name }),
    ...(isLookup ? { lookupListId: lookedUp(library, lookupList).id, lookupField: column.lookupField ?? "Title" } : {}),
  };
  library.addColumn(request);
}

function lookedUp(library: Library, titleOrPath = ""): Library {
  const { site } = library;
  const found =
    site.libraryByTitle(titleOrPath) ??
    site.libraries.find((each) => each.path.toLowerCase() === titleOrPath.toLowerCase());
  if (!found) throw new NotFoundError(`Look up in list '${titleOrPath}': the site has none of this title or path.`);
  return found;
}

/** A list that must be there and hold rows. */
export function listAt(tenant: Tenant, path: string): Library {
  const list = tenant.libraryAt(path);
  if (!list.isList) throw new BadInputError(`Use list '${path}': it is a library of files.`);
  return list;
}

export function rowOf(list: Library, id: number): RowItem {
  const row = list.find(id);
  if (row?.kind !== "row") throw new NotFoundError(`Find row ${id} of '${list.path}': it does not exist.`);
  return row;
}

export function addListItem(
  tenant: Tenant,
  path: string,
  values: Values,
  options: RowOptions & { readonly folder?: string } = {},
): RowItem {
  const list = listAt(tenant, path);
  const atMs = tenant.clock.resolveMs(options.at);
  const folder = options.folder === undefined ? list.root : tenant.folderAt(`${list.path}/${options.folder}`);
  const columns = new Map(entered(list, values));
  const state = newItemState(tenant, { folder, name: "" }, atMs);
  const byId = userId(list, options.by) ?? state.editorId;
  const row: RowItem = {
    ...state,
    kind: "row",
    name: `${state.listItemId}_.000`,
    columns,
    authorId: byId,
    editorId: byId,
    attachments: new Map(),
  };
  enter(tenant, row, folder);
  return row;
}

/** Only the columns that are named change; null empties one. */
export function updateListItem(
  tenant: Tenant,
  row: RowItem,
  values: Values,
  options: RowOptions & { readonly via?: "edit" | "system-update" } = {},
): RowItem {
  const changes = entered(row.library, values);
  const isEdit = options.via !== "system-update";
  if (isEdit) beginVersion(row);
  for (const [name, value] of changes) row.columns.set(name, value);
  if (isEdit) {
    row.modifiedAtMs = tenant.clock.resolveMs(options.at);
    row.editorId = userId(row.library, options.by) ?? row.editorId;
  }
  row.etag++;
  row.library.noteChange(tenant.clock.nowMs(), isEdit ? "Update" : "SystemUpdate", row);
  return row;
}

export function addListFolder(
  tenant: Tenant,
  list: Library,
  folder: string,
  options: { at?: string } = {},
): FolderItem {
  const atMs = tenant.clock.resolveMs(options.at);
  const place = openPlace(tenant, `${list.path}/${folder}`, atMs);
  refuseIfTaken(place);
  return createFolder(tenant, place, atMs);
}

/** The title changes, the address stays. */
export function renameList(library: Library, title: string): void {
  const other = library.site.libraryByTitle(title);
  if (other && other !== library) throw new BadInputError(`Rename list to '${title}': the site has one of this title.`);
  library.title = title;
}

/** The whole list with everything in it; the sandbox brings none back. */
export function deleteList(tenant: Tenant, library: Library): void {
  library.site.removeLibrary(library);
  for (const row of library.rows) tenant.itemsByUniqueId.delete(row.uniqueId);
  for (const [id, { item }] of tenant.recycleBin) if (item.library === library) tenant.recycleBin.delete(id);
}

function entered(list: Library, values: Values): [string, ColumnValue][] {
  return Object.entries(values).map(([name, value]) => {
    const column = list.column(name);
    if (!column) {
      const known = [...list.columns.values()].map((each) => each.title).join(", ");
      throw new BadInputError(`Column '${name}': the list has ${known}.`);
    }
    return [column.internalName, toColumnValue(column, value, list.site)];
  });
}

function userId(list: Library, by: string | undefined): number | undefined {
  return by === undefined ? undefined : list.site.users.ensure(by).id;
}
