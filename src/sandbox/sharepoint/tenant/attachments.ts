import { BadInputError, NotFoundError } from "../../../contracts/errors.ts";
import type { Library } from "./library.ts";
import type { Tenant } from "./tenant.ts";
import { checkItemName, FIRST_VERSION, type FileItem, type FolderItem, nameKey, type RowItem } from "./tenant-item.ts";
import { beginVersion } from "./versions.ts";

const FOLDER = "attachments";

/** `Attachments/7/offer.pdf` below a list; undefined when it is anything else. */
export function attachmentAt(library: Library, names: readonly string[]): FileItem | undefined {
  const [folder, id, name] = names;
  if (!library.isList || names.length !== 3 || folder?.toLowerCase() !== FOLDER) return undefined;
  const row = library.find(Number(id));
  return row?.kind === "row" ? row.attachments.get(nameKey(name ?? "")) : undefined;
}

/** Attaching changes the row's time, ETag and version. */
export function addAttachment(
  tenant: Tenant,
  row: RowItem,
  file: { readonly name: string; readonly content: string | Uint8Array },
  options: { at?: string } = {},
): FileItem {
  checkItemName(file.name);
  if (row.attachments.has(nameKey(file.name))) {
    throw new BadInputError(`Attach '${file.name}': the row has an attachment of this name.`);
  }
  const atMs = tenant.clock.resolveMs(options.at);
  const content = typeof file.content === "string" ? Buffer.from(file.content) : file.content;
  const attachment = newAttachment(tenant, row, { name: file.name, content, atMs });
  touch(tenant, row, atMs);
  row.attachments.set(nameKey(file.name), attachment);
  return attachment;
}

export function removeAttachment(tenant: Tenant, row: RowItem, name: string, options: { at?: string } = {}): void {
  if (!row.attachments.has(nameKey(name)))
    throw new NotFoundError(`Remove attachment '${name}': the row has none of this name.`);
  touch(tenant, row, tenant.clock.resolveMs(options.at));
  row.attachments.delete(nameKey(name));
}

function touch(tenant: Tenant, row: RowItem, atMs: number): void {
  beginVersion(row);
  row.modifiedAtMs = atMs;
  row.etag++;
  row.library.noteChange(tenant.clock.nowMs(), "Update", row);
}

function newAttachment(
  tenant: Tenant,
  row: RowItem,
  { name, content, atMs }: { name: string; content: Uint8Array; atMs: number },
): FileItem {
  return {
    kind: "file",
    uniqueId: tenant.takeGuid(),
    guid: tenant.takeGuid(),
    listItemId: 0,
    name,
    parent: folderOf(row),
    library: row.library,
    createdAtMs: atMs,
    modifiedAtMs: atMs,
    etag: 1,
    uiVersion: FIRST_VERSION,
    columns: new Map(),
    authorId: row.editorId,
    editorId: row.editorId,
    history: [],
    checkInComment: "",
    checkedOut: null,
    pending: false,
    hidden: false,
    content,
    listedSize: content.length,
    contentVersion: 1,
  };
}

/** A folder named after the row's id, which nothing lists: it gives the attachment its path. */
function folderOf(row: RowItem): FolderItem {
  const parent = row.library.root.children.get(FOLDER);
  if (parent?.kind !== "folder")
    throw new Error(`attach to row ${row.listItemId}: its list has no folder for attachments`);
  return { ...parent, name: String(row.listItemId), parent, children: new Map() };
}
