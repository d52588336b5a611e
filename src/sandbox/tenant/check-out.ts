import { BadInputError } from "../../contracts/errors.ts";
import { requireItem } from "./place-item.ts";
import type { Tenant } from "./tenant.ts";
import type { FileItem } from "./tenant-item.ts";
import { beginVersion } from "./versions.ts";

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
