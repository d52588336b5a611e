import { BadInputError } from "../../../contracts/errors.ts";
import type { Term } from "./column.ts";
import type { Library } from "./library.ts";

export interface UrlValue {
  readonly Description: string;
  readonly Url: string;
}

/** As the column keeps it: people and looked-up rows by id. */
export type ColumnValue = Scalar | UrlValue | Term | readonly (string | number | Term)[];
type Scalar = string | number | boolean | null;

/** What an item was in an earlier version. */
export interface ItemVersion {
  readonly uiVersion: number;
  readonly modifiedAtMs: number;
  readonly editorId: number;
  readonly columns: ReadonlyMap<string, ColumnValue>;
  readonly comment: string;
  readonly content?: Uint8Array;
  readonly listedSize?: number;
  readonly contentVersion?: number;
  readonly pending: boolean;
}

/** What was edited since the check-out; nobody else sees it. */
interface WorkingCopy {
  readonly byId: number;
  readonly columns: Map<string, ColumnValue>;
  content?: Uint8Array;
  listedSize?: number;
}

interface ItemState {
  /** Lower-case GUID without braces; the identity that survives everything but leaving the site. */
  uniqueId: string;
  /** The GUID column: another value, there to punish whoever mistakes it for the identity. */
  readonly guid: string;
  /** Counts per library and is never used again; 0 for what has no list item (root folder, Forms). */
  listItemId: number;
  name: string;
  /** null for the root folder of a library. */
  parent: FolderItem | null;
  library: Library;
  createdAtMs: number;
  modifiedAtMs: number;
  /** The n of `"{GUID},n"`. */
  etag: number;
  /** 512 per major version plus the minor version. */
  uiVersion: number;
  readonly columns: Map<string, ColumnValue>;
  readonly authorId: number;
  editorId: number;
  /** Earlier versions, oldest first. */
  readonly history: ItemVersion[];
  checkInComment: string;
  checkedOut: WorkingCopy | null;
  /** This version waits for approval. */
  pending: boolean;
  /** The app is not shown it: rights of its own, or uploaded and never checked in. It counts all the same. */
  hidden: boolean;
}

export interface FileItem extends ItemState {
  readonly kind: "file";
  content: Uint8Array;
  /** What listings say; differs from the content's length where SharePoint rewrote the file. */
  listedSize: number;
  /** The last part of ContentTag: changes with the content only. */
  contentVersion: number;
}

export interface FolderItem extends ItemState {
  readonly kind: "folder";
  readonly children: Map<string, TenantItem>;
}

/** A row of a list. Its name, `7_.000`, is there only to give it a path. */
export interface RowItem extends ItemState {
  readonly kind: "row";
  readonly attachments: Map<string, FileItem>;
}

export type TenantItem = FileItem | FolderItem | RowItem;

export const FIRST_VERSION = 512;
/** 0.1 */
export const FIRST_DRAFT = 1;

/** Decoded, from the host's root: `/sites/demo/Shared Documents/Policies/Travel.docx`. */
export function pathOf(item: TenantItem): string {
  return item.parent ? `${pathOf(item.parent)}/${item.name}` : item.library.path;
}

export function folderPathOf(item: TenantItem): string {
  return item.parent ? pathOf(item.parent) : item.library.path.slice(0, item.library.path.lastIndexOf("/"));
}

/** The item itself first, then everything below it, parents before children. */
export function* withDescendants(item: TenantItem): Generator<TenantItem> {
  yield item;
  if (item.kind === "folder") for (const child of item.children.values()) yield* withDescendants(child);
}

export function attach(item: TenantItem, folder: FolderItem): void {
  item.parent = folder;
  folder.children.set(nameKey(item.name), item);
}

/** The item keeps its parent as a memory of where it was. */
export function detach(item: TenantItem): void {
  item.parent?.children.delete(nameKey(item.name));
}

export function etagOf(item: TenantItem): string {
  return `"{${item.uniqueId.toUpperCase()}},${item.etag}"`;
}

export function contentTagOf(file: FileItem): string {
  return `{${file.uniqueId.toUpperCase()}},${file.etag},${file.contentVersion}`;
}

export function versionLabelOf(item: { readonly uiVersion: number }): string {
  return `${Math.floor(item.uiVersion / FIRST_VERSION)}.${item.uiVersion % FIRST_VERSION}`;
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are exactly what SharePoint refuses.
const FORBIDDEN = /["*:<>?/\\|\u0000-\u001f\u007f-\u009f]/;
const RESERVED = /^(\.lock|con|prn|aux|nul|com\d|lpt\d|desktop\.ini)$/i;
const MAX_SEGMENT_CHARS = 255;
const MAX_PATH_CHARS = 400;

/** SharePoint's own rules for the name of a file or folder. */
export function checkItemName(name: string): void {
  const problem = findProblem(name);
  if (problem) throw new BadInputError(`Name '${name.slice(0, 80)}': ${problem}.`);
}

function findProblem(name: string): string | undefined {
  if (name === "" || name === "." || name === "..") return "a name must not be empty, '.' or '..'";
  if (name.length > MAX_SEGMENT_CHARS) return `a name has at most ${MAX_SEGMENT_CHARS} characters`;
  if (FORBIDDEN.test(name)) return 'a name must not contain " * : < > ? / \\ | or control characters';
  if (name !== name.trim()) return "a name must not begin or end with a space";
  if (RESERVED.test(name) || name.startsWith("~$") || name.includes("_vti_")) return "SharePoint reserves this name";
  return undefined;
}

/** The limit counts from below the site: folder and file name, decoded. */
export function checkSiteRelativePath(path: string): void {
  if (path.length > MAX_PATH_CHARS) {
    throw new BadInputError(
      `Path '${path.slice(0, 80)}…': ${path.length} characters, at most ${MAX_PATH_CHARS} are allowed.`,
    );
  }
}

/** Paths are compared without case and stored as given. Not normalised: SharePoint keeps NFC and NFD apart. */
export function nameKey(name: string): string {
  return name.toLowerCase();
}
