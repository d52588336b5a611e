import { BadInputError } from "../../../contracts/errors.ts";
import { createFolder, enter, newItemState, openPlace, refuseIfTaken, requireItem } from "./place-item.ts";
import type { Tenant } from "./tenant.ts";
import {
  type ColumnValue,
  FIRST_DRAFT,
  FIRST_VERSION,
  type FileItem,
  type FolderItem,
  type TenantItem,
} from "./tenant-item.ts";
import { beginVersion } from "./versions.ts";

export type Columns = Readonly<Record<string, ColumnValue>>;

export interface WriteOptions {
  /** The instant the item will show as its modified time; now when absent. */
  readonly at?: string;
  readonly columns?: Columns;
  /** What listings say instead of the real length, as happens where SharePoint rewrites Office files. */
  readonly listedSize?: number;
}

export function addFile(
  tenant: Tenant,
  path: string,
  content: string | Uint8Array,
  options: WriteOptions = {},
): FileItem {
  const atMs = tenant.clock.resolveMs(options.at);
  const place = openPlace(tenant, path, atMs);
  refuseIfTaken(place);
  const { library } = place.folder;
  if (library.isList) throw new BadInputError(`Add file '${path}': a list holds rows; this is no library.`);
  const bytes = toBytes(content);
  const file: FileItem = {
    ...newItemState(tenant, place, atMs),
    kind: "file",
    uiVersion: library.minorVersions ? FIRST_DRAFT : FIRST_VERSION,
    content: bytes,
    listedSize: options.listedSize ?? bytes.length,
    contentVersion: 1,
  };
  putColumns(file, accepted(file, options.columns ?? {}));
  enter(tenant, file, place.folder);
  return file;
}

export function addFolder(tenant: Tenant, path: string, options: { at?: string } = {}): FolderItem {
  const atMs = tenant.clock.resolveMs(options.at);
  const place = openPlace(tenant, path, atMs);
  refuseIfTaken(place);
  return createFolder(tenant, place, atMs);
}

/** An upload over an existing file: same identity, new content, new major version. */
export function updateFile(
  tenant: Tenant,
  path: string,
  content: string | Uint8Array,
  options: WriteOptions = {},
): FileItem {
  const file = requireItem(tenant, path);
  if (file.kind !== "file") throw new BadInputError(`Update '${path}': it is a ${file.kind}.`);
  const bytes = toBytes(content);
  if (file.checkedOut) {
    for (const [name, value] of accepted(file, options.columns ?? {})) file.checkedOut.columns.set(name, value);
    file.checkedOut.content = bytes;
    file.checkedOut.listedSize = options.listedSize ?? bytes.length;
    return file;
  }
  const columns = accepted(file, options.columns ?? {});
  beginVersion(file);
  putColumns(file, columns);
  file.content = bytes;
  file.listedSize = options.listedSize ?? bytes.length;
  file.contentVersion++;
  file.modifiedAtMs = tenant.clock.resolveMs(options.at);
  file.etag++;
  file.library.noteChange(tenant.clock.nowMs(), "Update", file);
  return file;
}

/**
 * Edits columns. "edit" is what a person does (new time, new version); "system-update" is what migration tools and
 * workflows do: only the ETag shows it.
 */
export function setColumns(
  tenant: Tenant,
  path: string,
  columns: Columns,
  options: { at?: string; via?: "edit" | "system-update" } = {},
): TenantItem {
  const item = requireItem(tenant, path);
  const isEdit = options.via !== "system-update";
  const values = accepted(item, columns);
  if (item.checkedOut && isEdit) {
    for (const [name, value] of values) item.checkedOut.columns.set(name, value);
    return item;
  }
  if (isEdit) beginVersion(item);
  putColumns(item, values);
  item.etag++;
  if (isEdit) item.modifiedAtMs = tenant.clock.resolveMs(options.at);
  item.library.noteChange(tenant.clock.nowMs(), options.via === "system-update" ? "SystemUpdate" : "Update", item);
  return item;
}

/** Checked before anything changes: a value that does not fit refuses the whole operation. */
function accepted(item: TenantItem, columns: Columns): [string, ColumnValue][] {
  return Object.entries(columns).map(([name, value]) => [name, item.library.accept(name, value)]);
}

function putColumns(item: TenantItem, values: readonly [string, ColumnValue][]): void {
  for (const [name, value] of values) item.columns.set(name, value);
}

function toBytes(content: string | Uint8Array): Uint8Array {
  return typeof content === "string" ? Buffer.from(content) : content;
}
