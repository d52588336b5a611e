import {
  fileDoesNotExist,
  folderOrListNotFound,
  invalidExpression,
  itemDoesNotExist,
  ODataError,
  resourceNotFound,
} from "../odata/odata-error.ts";
import type { Segment } from "../odata/path-segments.ts";
import type { Library } from "../tenant/library.ts";
import type { Site } from "../tenant/site.ts";
import type { FileItem, TenantItem } from "../tenant/tenant-item.ts";
import { folderType, listType, siteType, webType } from "./entity-types.ts";
import { fileType } from "./file-type.ts";
import { itemTypeOf } from "./item-type.ts";
import { argumentOf, collection, entity, type RequestScope, type Resource } from "./resource.ts";
import { decodedPath, legacyPath } from "./server-relative-path.ts";

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
  if (resource.kind === "collection" && resource.type === listType && segment.name.toLowerCase() === "getbytitle") {
    return listByTitle(scope, String(argumentOf(segment) ?? argumentOf(segment, "title")));
  }
  throw resourceNotFound(segment.name);
}

/** A link or a property of the entity. */
function followName(from: Resource & { kind: "entity" }, segment: Segment, scope: RequestScope): Resource | undefined {
  if (segment.args !== undefined) return undefined;
  const name = segment.name.toLowerCase();
  for (const [linkName, link] of Object.entries(from.type.links)) {
    if (linkName.toLowerCase() !== name) continue;
    const target = link.get(from.value);
    if (Array.isArray(target)) return collection(link.type(from.value), target);
    if (target === null) throw resourceNotFound(segment.name);
    return entity(link.type(target), target);
  }
  const property = Object.keys(from.type.properties).find((each) => each.toLowerCase() === name);
  const read = property === undefined ? undefined : from.type.properties[property];
  return read && property !== undefined
    ? { kind: "scalar", name: property, value: read(from.value, scope) }
    : undefined;
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
  },
  "SP.List": {
    items: (library, segment) => itemsOf(library as Library, segment),
    getitembyid: (library, segment) => itemById(library as Library, argumentOf(segment)),
  },
  "SP.File": {
    $value: (file) => ({ kind: "content", file: file as FileItem }),
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

function listById(site: Site, id: unknown): Resource {
  const library = typeof id === "string" ? site.libraryById(id) : undefined;
  if (!library) {
    throw new ODataError(
      404,
      "-1, System.ArgumentException",
      `List does not exist. The page you selected contains a list that does not exist. It may have been deleted by another user.`,
    );
  }
  return entity(listType, library);
}

function listByTitle(scope: RequestScope, title: string): Resource {
  const library = scope.site.libraryByTitle(title);
  if (library) return entity(listType, library);
  throw new ODataError(
    404,
    "-1, System.ArgumentException",
    `List '${title}' does not exist at site with URL '${scope.webUrl}'.`,
  );
}

function listByPath(scope: RequestScope, path: string): Resource {
  const located = scope.tenant.locate(path);
  if (located?.library.site !== scope.site || located.names.length > 0) throw folderOrListNotFound();
  return entity(listType, located.library);
}

function itemsOf(library: Library, segment: Segment): Resource {
  if (segment.args) return itemById(library, argumentOf(segment));
  return collection(itemTypeOf(library), library.rows, {
    positionAfter: (id) => library.positionAfter(id),
    idOf: (row) => (row as TenantItem).listItemId,
  });
}

function itemById(library: Library, id: unknown): Resource {
  const item = typeof id === "number" ? library.find(id) : undefined;
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
  const item = liveItemById(scope, id);
  if (item?.kind !== "file") throw folderOrListNotFound();
  return entity(fileType, item);
}

function folderById(scope: RequestScope, id: string): Resource {
  const item = liveItemById(scope, id);
  if (item?.kind !== "folder") throw folderOrListNotFound();
  return entity(folderType, item);
}

function fileByPath(scope: RequestScope, path: string): Resource {
  const item = scope.tenant.itemAt(path);
  if (item?.kind !== "file" || item.library.site !== scope.site) throw fileDoesNotExist(path);
  return entity(fileType, item);
}

function folderByPath(scope: RequestScope, path: string): Resource {
  const item = scope.tenant.itemAt(path);
  if (item?.kind !== "folder" || item.library.site !== scope.site) throw folderOrListNotFound();
  return entity(folderType, item);
}
