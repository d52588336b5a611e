import { oneLine } from "./clean-text.ts";
import { currencyTitle } from "./currency-sign.ts";
import type { FieldDescription } from "./list-codec.ts";
import { OWN_FROM, TAIL, UTC_MARK } from "./table-layout.ts";

/** A column of the export. */
export interface Column extends FieldDescription {
  /** Its title in the export, unlike that of any other column. */
  readonly heading: string;
}

/** In the order of the export. Whatever a list lacks of the first two and the last four is there without values. */
export function chooseColumns(fields: readonly FieldDescription[]): Column[] {
  const find = (name: string, type: string, title = name): FieldDescription =>
    fields.find((field) => field.internalName === name) ?? { ...ABSENT, internalName: name, title, type };
  const own = fields.filter(isOwn).toSorted(byTitle);
  return withHeadings([
    find("ID", "Counter"),
    find("Title", "Text"),
    ...own,
    find("Created", "DateTime"),
    find("Modified", "DateTime"),
    find("Author", "User", "Created By"),
    find("Editor", "User", "Modified By"),
  ]);
}

const ABSENT: Omit<FieldDescription, "internalName" | "title" | "type"> = {
  property: "",
  hidden: false,
  readOnly: false,
  lookupField: "",
  dateOnly: false,
  richText: undefined,
  currencyLocaleId: 0,
};

/** Columns every list has and nobody filled in. Those SharePoint fills in have their own places. */
const NOT_OWN = new Set(
  `ID Title Created Modified Author Editor AppAuthor AppEditor Attachments CheckoutUser ComplianceAssetId ContentType
ContentTypeId DocIcon Edit FileSizeDisplay FolderChildCount ItemChildCount LinkTitle LinkFilename LinkFilenameNoMenu
MediaServiceAutoTags MediaServiceLocation MediaServiceOCR ParentVersionString SharedWithDetails SharedWithUsers GUID
FileRef FileDirRef FileLeafRef FSObjType PermMask UniqueId SyncClientId ProgId ScopeId MetaInfo ItemType
owshiddenversion WorkflowVersion WorkflowInstanceID Order InstanceID ServerRedirectedEmbedUrl
ServerRedirectedEmbedUri TaxCatchAll TaxCatchAllLabel`.split(/\s/),
);
const WITHOUT_TEXT = new Set(["Computed", "Attachments", "File", "ContentTypeId", "Counter", "PageSeparator"]);

/** `_x65e5_…` is how SharePoint writes a title that begins with anything but a Latin letter; other underscores are its own. */
const INTERNAL = /^_(?!x[0-9a-f]{4}_)/i;

function isOwn(field: FieldDescription): boolean {
  if (field.hidden || field.internalName === "" || INTERNAL.test(field.internalName)) return false;
  if (NOT_OWN.has(field.internalName) || WITHOUT_TEXT.has(field.type)) return false;
  return !field.readOnly || field.type === "Calculated";
}

/** Equal in every language the server may run in, so that an export does not change with the machine. */
function byTitle(a: FieldDescription, b: FieldDescription): number {
  const [left, right] = [a.title.toLowerCase(), b.title.toLowerCase()];
  if (left !== right) return left < right ? -1 : 1;
  return a.internalName < b.internalName ? -1 : 1;
}

/** Two columns may bear the same title; then SharePoint's own keeps it, or the first, and the others add their names. */
function withHeadings(fields: readonly FieldDescription[]): Column[] {
  const isFixed = (at: number): boolean => at < OWN_FROM || at >= fields.length - TAIL;
  const order = [...fields.keys()].toSorted((a, b) => Number(isFixed(b)) - Number(isFixed(a)) || a - b);
  const taken = new Set<string>();
  const headings = new Map<number, string>();
  for (const at of order) {
    const field = fields[at];
    if (!field) continue;
    let title = oneLine(field.title) || field.internalName;
    const tell = (name: string): string => (isFixed(at) ? name : withUnit(name, field));
    while (taken.has(tell(title).toLowerCase())) title += ` (${field.internalName})`;
    headings.set(at, tell(title));
    taken.add(tell(title).toLowerCase());
  }
  return fields.map((field, at) => ({ ...field, heading: headings.get(at) ?? field.internalName }));
}

/** A day is no moment: it is the same wherever one reads it. */
function withUnit(title: string, field: FieldDescription): string {
  if (field.type === "DateTime" && !field.dateOnly) return `${title} ${UTC_MARK}`;
  return field.type === "Currency" ? currencyTitle(title, field.currencyLocaleId) : title;
}
