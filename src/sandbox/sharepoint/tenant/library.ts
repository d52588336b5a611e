import { BadInputError } from "../../../contracts/errors.ts";
import { type ChangedItem, ChangeLog, type ChangeType } from "./change-log.ts";
import { type Column, type ColumnRequest, type ColumnType, makeColumn, toColumnValue } from "./column.ts";
import { SYSTEM_USER_ID } from "./site-users.ts";
import type { Site } from "./tenant.ts";
import { type ColumnValue, FIRST_VERSION, type FolderItem, type TenantItem } from "./tenant-item.ts";

/** 100 a list, 101 a document library, 119 the library of site pages. */
export type BaseTemplate = 100 | 101 | 119;

export interface LibraryRequest {
  readonly title: string;
  /** Below the site: `Shared Documents`, `Lists/Tasks`. */
  readonly urlName: string;
  readonly template?: BaseTemplate;
  /** Whether an edit makes a draft (1.1) that has to be published; always so for site pages. */
  readonly minorVersions?: boolean;
}

const COLUMN_NAME = /^[A-Za-z_][A-Za-z0-9_]{0,31}$/;
const BUILT_IN_COLUMN =
  /^(Id|GUID|UniqueId|File\w*|FSObjType|Folder|ParentList|Modified|Created|AuthorId|EditorId|ContentTypeId|CheckoutUserId|ComplianceAssetId|Server\w*|OData_\w*)$/i;
const SIMPLE: readonly ColumnType[] = ["Text", "Number", "Boolean", "DateTime"];
const INSTANT = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/;

/** A document library or a list. Its rows stay sorted by list item id, so a page costs its own length, not the library's. */
export class Library {
  readonly id: string;
  title: string;
  readonly site: Site;
  readonly urlName: string;
  readonly template: BaseTemplate;
  minorVersions: boolean;
  /** Every new version waits for approval, and counts as a draft until then. */
  moderation = false;
  /** Whether uploads stay with who made them until they are checked in. Shown only; `add` says it of each file. */
  forceCheckout = false;
  /** SharePoint's DraftVersionVisibility: who sees drafts. 0: whoever may read; 1: editors; 2: approvers. An app only reads. */
  draftVisibility: 0 | 1 | 2 = 0;
  readonly createdAtMs: number;
  readonly root: FolderItem;
  /** By internal name. */
  readonly columns = new Map<string, Column>();
  /** Goes up when a column comes, goes or changes. */
  schemaVersion = 0;
  readonly #rows: TenantItem[] = [];
  #nextItemId = 1;
  readonly changes: ChangeLog;
  changedAtMs: number;
  deletedAtMs: number;

  constructor(site: Site, request: LibraryRequest, createdAtMs: number, takeGuid: () => string) {
    this.id = takeGuid();
    this.title = request.title;
    this.site = site;
    this.urlName = request.urlName;
    this.template = request.template ?? 101;
    this.minorVersions = request.minorVersions ?? this.template === 119;
    this.createdAtMs = createdAtMs;
    this.changedAtMs = createdAtMs;
    this.changes = new ChangeLog(createdAtMs);
    this.deletedAtMs = createdAtMs;
    this.root = this.#systemFolder(this.urlName.slice(this.urlName.lastIndexOf("/") + 1), null, takeGuid);
    // Every library has this one; it is no list item, yet folder listings show it.
    const own = this.isList ? "Attachments" : "Forms";
    this.root.children.set(own.toLowerCase(), this.#systemFolder(own, this.root, takeGuid));
  }

  /** Lists hold rows, libraries hold files. */
  get isList(): boolean {
    return this.template === 100;
  }

  /** Decoded, from the host's root: `/sites/demo/Lists/Tasks`. */
  get path(): string {
    return `${this.site.path}/${this.urlName}`;
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
      authorId: SYSTEM_USER_ID,
      editorId: SYSTEM_USER_ID,
      history: [],
      checkInComment: "",
      checkedOut: null,
      pending: false,
      hidden: false,
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

  /** Every change is logged, which moves the change token, and moves the list's own time. */
  noteChange(atMs: number, type: ChangeType, item: ChangedItem): void {
    this.changes.note(atMs, type, item);
    this.changedAtMs = Math.max(this.changedAtMs, atMs);
  }

  noteDeletion(atMs: number, type: "DeleteObject" | "MoveAway", item: ChangedItem): void {
    this.noteChange(atMs, type, item);
    this.deletedAtMs = Math.max(this.deletedAtMs, atMs);
  }

  addColumn(request: ColumnRequest): Column {
    const column = makeColumn(request, this.id);
    checkColumnName(column.internalName);
    if (this.columns.has(column.internalName))
      throw new BadInputError(`Column '${column.title}': there is one already.`);
    this.columns.set(column.internalName, column);
    this.schemaVersion++;
    return column;
  }

  /** Its values go with it. */
  dropColumn(column: Column): void {
    this.columns.delete(column.internalName);
    for (const row of this.#rows) row.columns.delete(column.internalName);
    this.schemaVersion++;
  }

  /** By internal name or title. */
  column(name: string): Column | undefined {
    return this.columns.get(name) ?? [...this.columns.values()].find((each) => each.title === name);
  }

  /** What a column keeps of the value; a column that is not there yet comes into being. */
  accept(name: string, value: unknown): ColumnValue {
    const known = this.columns.get(name);
    if (known && !SIMPLE.includes(known.type)) return toColumnValue(known, value, this.site);
    const simple = value as ColumnValue;
    this.ensureColumn(name, simple);
    return simple;
  }

  /** Columns come into being with their first value, and keep the type of it. */
  ensureColumn(name: string, value: ColumnValue): void {
    checkColumnName(name);
    const known = this.columns.get(name)?.type;
    if (known && !SIMPLE.includes(known)) return;
    const type = value === null || (known === "Text" && typeof value === "string") ? known : columnTypeOf(name, value);
    if (known && type !== known) throw new BadInputError(`Column '${name}': holds ${known}, not ${type}.`);
    if (!known) this.addColumn({ title: name, internalName: name, type: type ?? "Text" });
  }
}

function checkColumnName(name: string): void {
  if (!COLUMN_NAME.test(name)) {
    throw new BadInputError(
      `Column '${name}': a column name is 1 to 32 letters, digits or underscores, no digit first.`,
    );
  }
  if (BUILT_IN_COLUMN.test(name)) throw new BadInputError(`Column '${name}': SharePoint itself keeps this one.`);
}

function columnTypeOf(name: string, value: NonNullable<ColumnValue>): ColumnType {
  if (typeof value === "number") return "Number";
  if (typeof value === "boolean") return "Boolean";
  if (typeof value === "string") return INSTANT.test(value) ? "DateTime" : "Text";
  throw new BadInputError(`Column '${name}': there is none that takes such a value; make it first.`);
}
