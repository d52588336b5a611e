import { BadInputError } from "../../contracts/errors.ts";
import type { Site } from "./site.ts";
import { type ColumnValue, FIRST_VERSION, type FolderItem, type TenantItem } from "./tenant-item.ts";

export type ColumnType = "Text" | "Number" | "Boolean" | "DateTime";

const COLUMN_NAME = /^[A-Za-z][A-Za-z0-9_]{0,31}$/;
const BUILT_IN_COLUMN =
  /^(Id|GUID|UniqueId|File\w*|FSObjType|Folder|ParentList|Modified|Created|AuthorId|EditorId|ContentTypeId|CheckoutUserId|ComplianceAssetId|Server\w*|OData_\w*)$/i;
const INSTANT = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/;

/** A document library. Its rows stay sorted by list item id, so a page costs its own length, not the library's. */
export class Library {
  readonly id: string;
  readonly title: string;
  readonly site: Site;
  readonly createdAtMs: number;
  readonly root: FolderItem;
  readonly columns = new Map<string, ColumnType>();
  readonly #rows: TenantItem[] = [];
  #nextItemId = 1;
  changeSequence = 0;
  changedAtMs: number;
  deletedAtMs: number;

  constructor(site: Site, names: { title: string; urlName: string }, createdAtMs: number, takeGuid: () => string) {
    this.id = takeGuid();
    this.title = names.title;
    this.site = site;
    this.createdAtMs = createdAtMs;
    this.changedAtMs = createdAtMs;
    this.deletedAtMs = createdAtMs;
    this.root = this.#systemFolder(names.urlName, null, takeGuid);
    // Every library has this one; it is no list item, yet folder listings show it.
    this.root.children.set("forms", this.#systemFolder("Forms", this.root, takeGuid));
  }

  #systemFolder(name: string, parent: FolderItem | null, takeGuid: () => string): FolderItem {
    return {
      kind: "folder",
      uniqueId: takeGuid(),
      guid: takeGuid(),
      listItemId: 0,
      name,
      parent,
      library: this,
      createdAtMs: this.createdAtMs,
      modifiedAtMs: this.createdAtMs,
      etag: 1,
      uiVersion: FIRST_VERSION,
      columns: new Map(),
      authorId: 1073741823,
      editorId: 1073741823,
      children: new Map(),
    };
  }

  /** In ascending order of list item id, folders included. Not to be changed by the reader. */
  get rows(): readonly TenantItem[] {
    return this.#rows;
  }

  /** The position of the first row whose id is greater. */
  positionAfter(listItemId: number): number {
    let low = 0;
    let high = this.#rows.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      const row = this.#rows[middle];
      if (row && row.listItemId <= listItemId) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  find(listItemId: number): TenantItem | undefined {
    const row = this.#rows[this.positionAfter(listItemId) - 1];
    return row?.listItemId === listItemId ? row : undefined;
  }

  takeItemId(): number {
    return this.#nextItemId++;
  }

  insert(items: Iterable<TenantItem>): void {
    for (const item of items) this.#rows.splice(this.positionAfter(item.listItemId), 0, item);
  }

  remove(items: ReadonlySet<TenantItem>): void {
    let kept = 0;
    for (const row of this.#rows) if (!items.has(row)) this.#rows[kept++] = row;
    this.#rows.length = kept;
  }

  /** Every change moves the change token and the list's own time. */
  noteChange(atMs: number): void {
    this.changeSequence++;
    this.changedAtMs = Math.max(this.changedAtMs, atMs);
  }

  noteDeletion(atMs: number): void {
    this.noteChange(atMs);
    this.deletedAtMs = Math.max(this.deletedAtMs, atMs);
  }

  /** Columns come into being with their first value, and keep the type of it. */
  ensureColumn(name: string, value: ColumnValue): void {
    if (!COLUMN_NAME.test(name)) {
      throw new BadInputError(
        `Column '${name}': a column name is 1 to 32 letters, digits or underscores, a letter first.`,
      );
    }
    if (BUILT_IN_COLUMN.test(name)) throw new BadInputError(`Column '${name}': SharePoint itself keeps this one.`);
    const known = this.columns.get(name);
    const type = value === null ? known : columnTypeOf(value);
    if (known && type !== known) throw new BadInputError(`Column '${name}': holds ${known}, not ${type}.`);
    this.columns.set(name, type ?? "Text");
  }
}

function columnTypeOf(value: string | number | boolean): ColumnType {
  if (typeof value === "number") return "Number";
  if (typeof value === "boolean") return "Boolean";
  return INSTANT.test(value) ? "DateTime" : "Text";
}
