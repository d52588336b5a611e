import type { Column } from "./list-columns.ts";

/**
 * Builds the requests that together read all columns of an item. SharePoint allows 12 lookup columns per request,
 * some of its own among them, and limits the length of URLs.
 */
const MAX_LOOKUPS = 10;
const MAX_SELECT_LENGTH = 1500;

const ITEM_FIELDS = "Id,UniqueId,FileSystemObjectType,FileRef,Created,Modified";
/** Hidden column that counts every change of the item. The version label replaces it where it is not available. */
export const TOUCH_COUNT = "owshiddenversion";
export const VERSION_LABEL = "OData__UIVersionString";
/** Hidden lookup with the labels of an item's managed metadata terms. */
export const TERMS = "TaxCatchAll";
export const SHOWN_TEXTS = "FieldValuesAsText";

interface GroupOptions {
  /** Whether items of this list can have attachments. */
  readonly attachments: boolean;
  readonly touchCount: boolean;
  /** Reads lookups as displayed texts, and people without e-mail address: slower, but never refused. */
  readonly safe: boolean;
}

interface Group {
  readonly select: string[];
  readonly expand: string[];
  length: number;
  lookups: number;
}

/** Returns `$select=…&$expand=…` of each request. The first one identifies the item; the others are joined by `Id`. */
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

/** Returns the displayed column of a lookup, as it is named in the JSON of the other list. */
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
