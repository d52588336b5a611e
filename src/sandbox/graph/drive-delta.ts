import type { LoggedChange } from "../tenant/change-log.ts";
import type { Library } from "../tenant/library.ts";
import type { Tenant } from "../tenant/tenant.ts";
import { type TenantItem, withDescendants } from "../tenant/tenant-item.ts";

/** How far a reader has come: through the rows (and from where to go on with the changes), or through the changes. */
export type DeltaCursor =
  | { readonly kind: "rows"; readonly startedAt: number; readonly after: number }
  | { readonly kind: "changes"; readonly after: number }
  | { readonly kind: "moment"; readonly atMs: number };

export interface DeltaPage {
  readonly entries: readonly (TenantItem | LoggedChange)[];
  readonly next: DeltaCursor;
  /** Whether `next` is the way to the rest of this round, or to what will have changed by another day. */
  readonly isLast: boolean;
}

export interface DeltaOptions {
  readonly pageSize: number;
  /** Whether the folders above a changed item come with it. */
  readonly withParents: boolean;
}

/** undefined when the log no longer reaches back to the cursor. */
export function deltaPage(
  tenant: Tenant,
  library: Library,
  cursor: DeltaCursor,
  options: DeltaOptions,
): DeltaPage | undefined {
  if (cursor.kind === "rows") return pageOfRows(library, cursor, options);
  const position =
    cursor.kind === "moment" ? { atMs: cursor.atMs, sequence: undefined } : { atMs: 0, sequence: cursor.after };
  const changes = library.changes.since(position);
  if (!changes) return undefined;
  const taken = changes.slice(0, options.pageSize);
  const isLast = taken.length === changes.length;
  const after = isLast ? library.changes.position.sequence : (taken.at(-1)?.sequence ?? 0);
  return { entries: entriesOf(tenant, library, taken, options), next: { kind: "changes", after }, isLast };
}

/** What changes while the rows are read is told after them, so an item may come twice, and the last one is right. */
function pageOfRows(library: Library, cursor: DeltaCursor & { kind: "rows" }, options: DeltaOptions): DeltaPage {
  const position = library.positionAfter(cursor.after);
  const rows = library.rows.slice(position, position + options.pageSize);
  const entries = cursor.after === 0 ? [library.root, ...rows] : rows;
  const lastId = rows.at(-1)?.listItemId ?? cursor.after;
  if (position + rows.length < library.rows.length) {
    return { entries, next: { ...cursor, after: lastId }, isLast: false };
  }
  const isLast = library.changes.position.sequence === cursor.startedAt;
  return { entries, next: { kind: "changes", after: cursor.startedAt }, isLast };
}

/** The latest state of whatever changed, once for each change: duplicates are the reader's to sort out. */
function entriesOf(
  tenant: Tenant,
  library: Library,
  changes: readonly LoggedChange[],
  { withParents }: DeltaOptions,
): (TenantItem | LoggedChange)[] {
  const entries: (TenantItem | LoggedChange)[] = [];
  const told = new Set<TenantItem>();
  changes.forEach((change, index) => {
    const item = tenant.itemsByUniqueId.get(change.uniqueId);
    if (item?.library !== library) {
      entries.push(change);
      return;
    }
    for (const parent of withParents ? ancestorsOf(item) : []) {
      if (!told.has(parent)) entries.push(parent);
      told.add(parent);
    }
    if (bringsItsContents(change, changes[index - 1])) entries.push(...withDescendants(item));
    else entries.push(item);
  });
  return entries;
}

/** A folder that moves about in its drive comes alone; one that comes into the drive or back comes with all it holds. */
function bringsItsContents(change: LoggedChange, before: LoggedChange | undefined): boolean {
  if (change.type === "Restore") return true;
  return change.type === "MoveInto" && !(before?.type === "MoveAway" && before.uniqueId === change.uniqueId);
}

/** From the root down. */
function ancestorsOf(item: TenantItem): TenantItem[] {
  return item.parent === null ? [] : [...ancestorsOf(item.parent), item.parent];
}
