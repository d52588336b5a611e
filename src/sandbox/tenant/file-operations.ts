import { BadInputError } from "../../contracts/errors.ts";
import { createFolder, enter, newItemState, openPlace, refuseIfTaken, requireItem } from "./place-item.ts";
import type { Tenant } from "./tenant.ts";
import { type ColumnValue, FIRST_VERSION, type FileItem, type FolderItem, type TenantItem } from "./tenant-item.ts";

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
  const bytes = toBytes(content);
  const file: FileItem = {
    ...newItemState(tenant, place, atMs),
    kind: "file",
    content: bytes,
    listedSize: options.listedSize ?? bytes.length,
    contentVersion: 1,
  };
  putColumns(file, options.columns ?? {});
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
  if (file.kind === "folder") throw new BadInputError(`Update '${path}': it is a folder.`);
  const bytes = toBytes(content);
  putColumns(file, options.columns ?? {});
  file.content = bytes;
  file.listedSize = options.listedSize ?? bytes.length;
  file.contentVersion++;
  file.modifiedAtMs = tenant.clock.resolveMs(options.at);
  file.etag++;
  file.uiVersion = nextMajorVersion(file.uiVersion);
  file.library.noteChange(tenant.clock.nowMs());
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
  putColumns(item, columns);
  item.etag++;
  if (options.via !== "system-update") {
    item.modifiedAtMs = tenant.clock.resolveMs(options.at);
    item.uiVersion = nextMajorVersion(item.uiVersion);
  }
  item.library.noteChange(tenant.clock.nowMs());
  return item;
}

export function putColumns(item: TenantItem, columns: Columns): void {
  for (const [name, value] of Object.entries(columns)) {
    item.library.ensureColumn(name, value);
    item.columns.set(name, value);
  }
}

function nextMajorVersion(uiVersion: number): number {
  return (Math.floor(uiVersion / FIRST_VERSION) + 1) * FIRST_VERSION;
}

function toBytes(content: string | Uint8Array): Uint8Array {
  return typeof content === "string" ? Buffer.from(content) : content;
}
