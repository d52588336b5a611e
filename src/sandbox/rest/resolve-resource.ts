import type { Link } from "../odata/entity-type.ts";
import {
  fileDoesNotExist,
  folderOrListNotFound,
  invalidExpression,
  itemDoesNotExist,
  ODataError,
  outsideTheWeb,
  resourceNotFound,
} from "../odata/odata-error.ts";
import type { Segment } from "../odata/path-segments.ts";
import type { Library } from "../tenant/library.ts";
import type { Site } from "../tenant/site.ts";
import type { FileItem, TenantItem } from "../tenant/tenant-item.ts";
import { viewOf } from "../tenant/versions.ts";
import { fileType, folderType, itemTypeOf, siteType, webType } from "./entity-types.ts";
import { listById, listByPath } from "./find-list.ts";
import { oneOf, pick, stepInto } from "./pick-one.ts";
import { argumentOf, collection, entity, type RequestScope, type Resource } from "./resource.ts";
import { shownItem, shownItems } from "./shown-item.ts";
import { userType } from "./user-type.ts";
import type { VersionOf } from "./version-type.ts";

const GUID = /^\{?[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\}?$/i;

/** Follows the path from the web or the site collection, one segment at a time. Names are matched without case. */
export function resolveResource(segments: readonly Segment[], scope: RequestScope): Resource {
  const [first, ...rest] = segments;
  const start = first?.name.toLowerCase();
  if (first?.args !== undefined || (start !== "web" && start !== "site")) throw resourceNotFound(first?.name ?? "");
  let resource = entity(start === "web" ? webType : siteType, scope.site);
  for (const segment of rest) resource = step(resource, segment, scope);
  return resource;
}

function step(resource: Resource, segment: Segment, scope: RequestScope): Resource {
  if (resource.kind === "entity") {
    const special = ENTITY_STEPS[resource.type.typeName]?.[segment.name.toLowerCase()];
    const found = special?.(resource.value, segment, scope) ?? followName(resource, segment, scope);
    if (found) return found;
  }
  if (resource.kind === "collection") {
    const found = stepInto(resource, segment, scope);
    if (found) return found;
  }
  throw resourceNotFound(segment.name);
}

/** A link or a property of the entity. */
function followName(from: Resource & { kind: "entity" }, segment: Segment, scope: RequestScope): Resource | undefined {
  const name = segment.name.toLowerCase();
  for (const [linkName, link] of Object.entries(from.type.links)) {
    if (linkName.toLowerCase() !== name) continue;
    const target = link.get(from.value);
    if (Array.isArray(target)) return oneOf(collection(link.type(from.value), shown(link, target, scope)), segment);
    if (target === null || segment.args !== undefined) throw resourceNotFound(segment.name);
    return entity(link.type(target), target);
  }
  if (segment.args !== undefined) return undefined;
  const property = Object.keys(from.type.properties).find((each) => each.toLowerCase() === name);
  const read = property === undefined ? undefined : from.type.properties[property];
  return read && property !== undefined
    ? { kind: "scalar", name: property, value: read(from.value, scope) ?? null }
    : undefined;
}

/** Files of a folder are shown as rows are: without drafts to whoever may not see them. */
function shown(link: Link, targets: unknown[], scope: RequestScope): readonly unknown[] {
  return link.type(undefined) === fileType ? shownItems(targets as TenantItem[], scope) : targets;
}

type Step = (value: unknown, segment: Segment, scope: RequestScope) => Resource | undefined;

const ENTITY_STEPS: Readonly<Record<string, Readonly<Record<string, Step>>>> = {
  "SP.Web": {
    lists: (_site, segment, scope) => (segment.args ? listById(scope.site, argumentOf(segment)) : undefined),
    getlist: (_site, segment, scope) => listByPath(scope, legacyPath(textArgument(segment, ""), scope)),
    getlistusingpath: (_site, segment, scope) =>
      listByPath(scope, decodedPath(textArgument(segment, "decodedurl"), scope)),
    getfilebyid: (_site, segment, scope) => fileById(scope, textArgument(segment, "")),
    getfilebyserverrelativepath: (_site, segment, scope) =>
      fileByPath(scope, decodedPath(textArgument(segment, "decodedurl"), scope)),
    getfilebyserverrelativeurl: (_site, segment, scope) =>
      fileByPath(scope, legacyPath(textArgument(segment, ""), scope)),
    getfolderbyid: (_site, segment, scope) => folderById(scope, textArgument(segment, "")),
    getfolderbyserverrelativepath: (_site, segment, scope) =>
      folderByPath(scope, decodedPath(textArgument(segment, "decodedurl"), scope)),
    getfolderbyserverrelativeurl: (_site, segment, scope) =>
      folderByPath(scope, legacyPath(textArgument(segment, ""), scope)),
    getuserbyid: (site, segment) => pick(collection(userType, (site as Site).users.all()), segment),
  },
  "SP.List": {
    items: (library, segment, scope) => itemsOf(library as Library, segment, scope),
    getitembyid: (library, segment, scope) => itemById(library as Library, argumentOf(segment), scope),
  },
  "SP.File": {
    $value: (file) => ({ kind: "content", file: file as FileItem }),
  },
  "SP.Attachment": {
    $value: (file) => ({ kind: "content", file: file as FileItem }),
  },
  "SP.FileVersion": {
    $value: (each) => {
      const { item, version } = each as VersionOf<FileItem>;
      return { kind: "content", file: viewOf(item, version) as FileItem };
    },
  },
};

function textArgument(segment: Segment, name: string): string {
  const value = argumentOf(segment, name) ?? argumentOf(segment, ANY_NAME[segment.name.toLowerCase()] ?? name);
  if (typeof value !== "string") throw invalidExpression(`${segment.name}(…)`);
  return value;
}

/** The names the one-argument functions give their argument, for clients that spell it out. */
const ANY_NAME: Readonly<Record<string, string>> = {
  getlist: "strurl",
  getfilebyid: "uniqueid",
  getfolderbyid: "uniqueid",
  getfilebyserverrelativeurl: "serverrelativeurl",
  getfolderbyserverrelativeurl: "serverrelativeurl",
};

function itemsOf(library: Library, segment: Segment, scope: RequestScope): Resource {
  if (segment.args) return itemById(library, argumentOf(segment), scope);
  const rows = shownItems(library.rows, scope);
  const idOf = (row: unknown): number => (row as TenantItem).listItemId;
  return collection(itemTypeOf(library), rows, {
    positionAfter: (id) => {
      if (rows === library.rows) return library.positionAfter(id);
      const at = rows.findIndex((row) => idOf(row) > id);
      return at < 0 ? rows.length : at;
    },
    idOf,
    threshold: scope.settings.listViewThreshold,
  });
}

function itemById(library: Library, id: unknown, scope: RequestScope): Resource {
  const live = typeof id === "number" ? library.find(id) : undefined;
  const item = live && shownItem(live, scope);
  if (!item) throw itemDoesNotExist();
  return entity(itemTypeOf(library), item);
}

function liveItemById(scope: RequestScope, id: string): TenantItem | undefined {
  if (!GUID.test(id))
    throw new ODataError(
      400,
      "-2147024809, System.ArgumentException",
      "Value does not fall within the expected range.",
    );
  const item = scope.tenant.itemsByUniqueId.get(id.replaceAll(/[{}]/g, "").toLowerCase());
  return item?.library.site === scope.site ? item : undefined;
}

function fileById(scope: RequestScope, id: string): Resource {
  const live = liveItemById(scope, id);
  const item = live && shownItem(live, scope);
  if (item?.kind !== "file") throw folderOrListNotFound();
  return entity(fileType, item);
}

function folderById(scope: RequestScope, id: string): Resource {
  const item = liveItemById(scope, id);
  if (item?.kind !== "folder") throw folderOrListNotFound();
  return entity(folderType, item);
}

function fileByPath(scope: RequestScope, path: string): Resource {
  const live = scope.tenant.itemAt(path);
  const item = live && shownItem(live, scope);
  if (item?.kind !== "file" || item.library.site !== scope.site) throw fileDoesNotExist(path);
  return entity(fileType, item);
}

function folderByPath(scope: RequestScope, path: string): Resource {
  const item = scope.tenant.itemAt(path);
  if (item?.kind !== "folder" || item.library.site !== scope.site) throw folderOrListNotFound();
  return entity(folderType, item);
}

/** A path argument as the `…Path(decodedUrl=…)` functions take it: exactly what it says. */
function decodedPath(text: string, scope: RequestScope): string {
  const path = text.startsWith("/") ? text : `${scope.site.path}/${text}`;
  const trimmed = path.replace(/\/+$/, "");
  if (!`${trimmed.toLowerCase()}/`.startsWith(`${scope.site.path.toLowerCase()}/`)) throw outsideTheWeb();
  return trimmed;
}

/**
 * A path argument as the older `…Url('…')` functions take it: `%` and `#` are taken as a sign that the text is still
 * encoded, so a name that really contains one cannot be reached this way.
 */
function legacyPath(text: string, scope: RequestScope): string {
  const withoutFragment = text.includes("#") ? text.slice(0, text.indexOf("#")) : text;
  return decodedPath(decodeIfPossible(withoutFragment), scope);
}

function decodeIfPossible(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
