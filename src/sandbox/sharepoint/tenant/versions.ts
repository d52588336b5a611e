import { BadInputError } from "../../../contracts/errors.ts";
import { requireItem } from "./place-item.ts";
import type { Tenant } from "./tenant.ts";
import { FIRST_VERSION, type FileItem, type ItemVersion, type TenantItem, versionLabelOf } from "./tenant-item.ts";

const MAX_VERSIONS = 500;

/** The version the item is in now, kept as it is. */
export function snapshotOf(item: TenantItem): ItemVersion {
  return {
    uiVersion: item.uiVersion,
    modifiedAtMs: item.modifiedAtMs,
    editorId: item.editorId,
    columns: new Map(item.columns),
    comment: item.checkInComment,
    pending: item.pending,
    ...(item.kind === "file"
      ? { content: item.content, listedSize: item.listedSize, contentVersion: item.contentVersion }
      : {}),
  };
}

/** Call before a change: what the item is now becomes history, and the item the next version. */
export function beginVersion(item: TenantItem, kind: "major" | "minor" = usualKind(item)): void {
  item.history.push(snapshotOf(item));
  if (item.history.length > MAX_VERSIONS) item.history.shift();
  item.uiVersion = kind === "minor" ? item.uiVersion + 1 : nextMajorVersion(item.uiVersion);
  item.checkInComment = "";
  item.pending = item.library.moderation;
}

function usualKind(item: TenantItem): "major" | "minor" {
  return item.library.minorVersions && item.kind === "file" ? "minor" : "major";
}

function nextMajorVersion(uiVersion: number): number {
  return (Math.floor(uiVersion / FIRST_VERSION) + 1) * FIRST_VERSION;
}

export function isDraft(version: { readonly uiVersion: number; readonly pending: boolean }): boolean {
  return version.uiVersion % FIRST_VERSION !== 0 || version.pending;
}

/** Takes columns and content of an earlier version; identity, path and version number stay the item's own. */
function takeOver(item: TenantItem, version: ItemVersion): void {
  item.columns.clear();
  for (const [name, value] of version.columns) item.columns.set(name, value);
  if (item.kind !== "file" || version.content === undefined) return;
  item.content = version.content;
  item.listedSize = version.listedSize ?? version.content.length;
  item.contentVersion++;
}

/** An old version becomes a new one on top, with a new and therefore later time. */
export function restoreVersion(tenant: Tenant, path: string, label: string, options: { at?: string } = {}): TenantItem {
  const item = requireItem(tenant, path);
  const version = item.history.find((each) => versionLabelOf(each) === label);
  if (!version) {
    const known = item.history.map(versionLabelOf).join(", ") || "none";
    throw new BadInputError(`Restore version '${label}' of '${path}': the earlier versions are ${known}.`);
  }
  refuseCheckedOut(item, "Restore a version of");
  const atMs = tenant.clock.resolveMs(options.at);
  beginVersion(item);
  takeOver(item, version);
  item.modifiedAtMs = options.at === undefined ? Math.max(atMs, item.modifiedAtMs + 1000) : atMs;
  item.etag++;
  item.library.noteChange(tenant.clock.nowMs(), "Update", item);
  return item;
}

/** The latest draft becomes the next major version; time and ETag stay as they are. */
export function publishItem(tenant: Tenant, path: string, options: { comment?: string } = {}): TenantItem {
  const item = requireItem(tenant, path);
  if (item.uiVersion % FIRST_VERSION === 0)
    throw new BadInputError(`Publish '${path}': version ${versionLabelOf(item)} is no draft.`);
  refuseCheckedOut(item, "Publish");
  item.uiVersion = nextMajorVersion(item.uiVersion);
  item.pending = item.library.moderation;
  item.checkInComment = options.comment ?? "";
  item.library.noteChange(tenant.clock.nowMs(), "Update", item);
  return item;
}

/** What waits for approval becomes what everybody sees. */
export function approveItem(tenant: Tenant, path: string): TenantItem {
  const item = requireItem(tenant, path);
  if (!item.pending) throw new BadInputError(`Approve '${path}': it does not wait for approval.`);
  item.pending = false;
  item.etag++;
  item.library.noteChange(tenant.clock.nowMs(), "Update", item);
  return item;
}

/** The app is no longer shown the item, or again. The log tells it as what it is: a change of rights. */
export function setHidden(tenant: Tenant, path: string, isHidden: boolean): TenantItem {
  const item = requireItem(tenant, path);
  item.hidden = isHidden;
  item.library.noteChange(tenant.clock.nowMs(), isHidden ? "AssignmentDelete" : "AssignmentAdd", item);
  return item;
}

export function refuseCheckedOut(item: TenantItem, verb: string): void {
  if (item.checkedOut) throw new BadInputError(`${verb} '${item.name}': it is checked out.`);
}

/** Back to the last published version, as if the drafts after it had never been. */
export function discardDraft(tenant: Tenant, path: string): TenantItem {
  const item = requireItem(tenant, path);
  const published = item.history.findLastIndex((version) => !isDraft(version));
  const version = item.history[published];
  if (!isDraft(item) || !version)
    throw new BadInputError(`Discard draft of '${path}': there is no draft of a published one.`);
  refuseCheckedOut(item, "Discard draft of");
  takeOver(item, version);
  item.uiVersion = version.uiVersion;
  item.pending = version.pending;
  item.modifiedAtMs = version.modifiedAtMs;
  item.editorId = version.editorId;
  item.history.length = published;
  item.etag++;
  item.library.noteChange(tenant.clock.nowMs(), "Update", item);
  return item;
}

/** What somebody sees who may not see drafts: the last published version, or nothing. */
export function publishedView(item: TenantItem): TenantItem | undefined {
  if (!isDraft(item)) return item;
  const published = item.history.filter((each) => !isDraft(each));
  const version = published.pop();
  return version && { ...viewOf(item, version), history: published };
}

/** The item as it was in that version, in the place where it is now. */
export function viewOf(item: TenantItem, version: ItemVersion): TenantItem {
  const { uiVersion, modifiedAtMs, editorId, columns, pending } = version;
  const view = { ...item, uiVersion, modifiedAtMs, editorId, pending, columns: new Map(columns) };
  if (view.kind !== "file" || version.content === undefined) return view;
  return {
    ...view,
    content: version.content,
    listedSize: version.listedSize ?? version.content.length,
    contentVersion: version.contentVersion ?? view.contentVersion,
  };
}

/**
 * What is edited while checked out is the working copy of one person: everybody else, an app included, goes on seeing
 * the version that was checked in last.
 */
export function checkOut(tenant: Tenant, path: string, options: { by?: string } = {}): FileItem {
  const file = requireFile(tenant, path, "Check out");
  if (file.checkedOut) throw new BadInputError(`Check out '${path}': it is checked out already.`);
  const byId = options.by === undefined ? file.editorId : file.library.site.users.ensure(options.by).id;
  file.checkedOut = { byId, columns: new Map() };
  return file;
}

/** Makes a new version with a new time even when nothing was edited. */
export function checkIn(
  tenant: Tenant,
  path: string,
  options: { at?: string; comment?: string; as?: "major" | "minor" } = {},
): FileItem {
  const file = requireFile(tenant, path, "Check in");
  const working = file.checkedOut;
  if (!working) throw new BadInputError(`Check in '${path}': it is not checked out.`);
  const atMs = tenant.clock.resolveMs(options.at);
  beginVersion(file, file.library.minorVersions ? options.as : "major");
  for (const [name, value] of working.columns) file.columns.set(name, value);
  if (working.content) {
    file.content = working.content;
    file.listedSize = working.listedSize ?? working.content.length;
    file.contentVersion++;
  }
  file.checkedOut = null;
  file.hidden = false;
  file.editorId = working.byId;
  file.checkInComment = options.comment ?? "";
  file.modifiedAtMs = options.at === undefined ? Math.max(atMs, file.modifiedAtMs + 1000) : atMs;
  file.etag++;
  file.library.noteChange(tenant.clock.nowMs(), "Update", file);
  return file;
}

/** Drops the working copy; only the ETag tells that something was going on. */
export function undoCheckOut(tenant: Tenant, path: string): FileItem {
  const file = requireFile(tenant, path, "Undo check-out of");
  if (!file.checkedOut) throw new BadInputError(`Undo check-out of '${path}': it is not checked out.`);
  file.checkedOut = null;
  file.etag++;
  file.library.noteChange(tenant.clock.nowMs(), "Update", file);
  return file;
}

function requireFile(tenant: Tenant, path: string, verb: string): FileItem {
  const item = requireItem(tenant, path);
  if (item.kind !== "file") throw new BadInputError(`${verb} '${path}': it is not a file.`);
  return item;
}
