import type { Column } from "./list-columns.ts";

/**
 * Requests that together ask for all columns of an item. SharePoint answers for at most 12 columns that look into other
 * lists at once, some of its own among them, and for addresses of limited length.
 */
const MAX_LOOKUPS = 10;
const MAX_SELECT_LENGTH = 1500;

const ITEM_FIELDS = "Id,UniqueId,FileSystemObjectType,FileRef,Created,Modified";
/** Counts every touch of the item, and is hidden; the label does where it cannot be had. */
export const TOUCH_COUNT = "owshiddenversion";
export const VERSION_LABEL = "OData__UIVersionString";
/** The hidden lookup that knows the texts of an item's terms. */
export const TERMS = "TaxCatchAll";
export const SHOWN_TEXTS = "FieldValuesAsText";

interface GroupOptions {
  /** Whether items of this list have attachments at all. */
  readonly attachments: boolean;
  readonly touchCount: boolean;
  /** Looked-up texts as SharePoint shows them, and people without their mail: slower, and never refused. */
  readonly safe: boolean;
}

interface Group {
  readonly select: string[];
  readonly expand: string[];
  length: number;
  lookups: number;
}

/** `$select=…&$expand=…`, ready for the URL. The first one identifies the item, the others are joined to it by `Id`. */
export function fieldGroups(columns: readonly Column[], options: GroupOptions): string[] {
  const first = newGroup([ITEM_FIELDS, options.touchCount ? TOUCH_COUNT : VERSION_LABEL]);
  if (options.attachments) addTo(first, { select: ["AttachmentFiles"], expand: "AttachmentFiles", lookups: 0 });
  const groups = [first];
  for (const selection of selectionsFor(columns, options)) {
    const group = groups.at(-1) ?? first;
    const length = selection.select.join().length;
    const full = group.lookups + selection.lookups > MAX_LOOKUPS || group.length + length > MAX_SELECT_LENGTH;
    addTo(full ? (groups[groups.push(newGroup(["Id"])) - 1] ?? group) : group, selection);
  }
  return groups.map(({ select, expand }) => `$select=${select}${expand.length > 0 ? `&$expand=${expand}` : ""}`);
}

interface Selection {
  readonly select: readonly string[];
  readonly expand: string;
  readonly lookups: number;
}

function selectionsFor(columns: readonly Column[], { safe: cautious }: GroupOptions): Selection[] {
  const selected = columns.filter(
    ({ property, internalName }) => property !== "" && !ALWAYS_SELECTED.has(internalName),
  );
  const shown = cautious && selected.some(isLookup);
  const terms = columns.some(({ type }) => type === "TaxonomyFieldType");
  return [
    ...selected.filter((column) => !shown || !isLookup(column)).map((column) => toSelection(column, cautious)),
    ...(terms ? [{ select: [`${TERMS}/ID`, `${TERMS}/Term`], expand: TERMS, lookups: 1 }] : []),
    ...(shown ? [{ select: [SHOWN_TEXTS], expand: SHOWN_TEXTS, lookups: MAX_LOOKUPS }] : []),
  ];
}

const ALWAYS_SELECTED: ReadonlySet<string> = new Set(["ID", "Created", "Modified"]);

export function isLookup({ type }: Column): boolean {
  return type === "Lookup" || type === "LookupMulti";
}

function toSelection(column: Column, cautious: boolean): Selection {
  const { property, type, lookupField } = column;
  const name = encodeURIComponent(property);
  if (/^User/.test(type)) {
    return { select: [`${name}/${cautious ? "Id" : "EMail"}`, `${name}/Title`], expand: name, lookups: 1 };
  }
  if (isLookup(column)) {
    return { select: [`${name}/Id`, `${name}/${shownField(lookupField)}`], expand: name, lookups: 1 };
  }
  return { select: [name], expand: "", lookups: /^Taxonomy/.test(type) ? 1 : 0 };
}

/** What a lookup shows, as the JSON of the other list calls it. */
export function shownField(lookupField: string): string {
  const name = lookupField || "Title";
  return encodeURIComponent(name.startsWith("_") ? `OData_${name}` : name);
}

function newGroup(select: readonly string[]): Group {
  return { select: [...select], expand: [], length: select.join().length, lookups: 0 };
}

function addTo(group: Group, selection: Selection): void {
  group.select.push(...selection.select);
  if (selection.expand) group.expand.push(selection.expand);
  group.length += selection.select.join().length + 1;
  group.lookups += selection.lookups;
}
