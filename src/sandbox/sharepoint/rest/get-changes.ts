import { headerOf, type SandboxRequest } from "../../http-reply.ts";
import { invalidExpression, ODataError } from "../odata/odata-error.ts";
import { type EntityType, entityType } from "../odata/projection.ts";
import {
  CHANGE_TYPES,
  type ChangePosition,
  type ChangeType,
  changeTokenText,
  type LoggedChange,
  parseChangeToken,
} from "../tenant/change-log.ts";
import type { Library } from "../tenant/library.ts";
import { collection, type Resource } from "./resource.ts";

const MAX_CHANGES = 1000;

/** Which flag of the query lets a change through. */
const FLAG_OF: Readonly<Record<ChangeType, string>> = {
  Add: "Add",
  Update: "Update",
  DeleteObject: "DeleteObject",
  Rename: "Rename",
  MoveAway: "Move",
  MoveInto: "Move",
  Restore: "Restore",
  AssignmentAdd: "RoleAssignmentAdd",
  AssignmentDelete: "RoleAssignmentDelete",
  SystemUpdate: "SystemUpdate",
};

/** The properties of SP.ChangeQuery; a misspelt one is refused, as by the real one. */
const KNOWN = new Set([
  ...["__metadata", "ChangeTokenStart", "ChangeTokenEnd", "FetchLimit", "LatestFirst", "RecursiveAll"],
  ...["RequireSecurityTrim", "IgnoreStartTokenNotFoundError"],
  ...["Add", "Update", "DeleteObject", "Rename", "Move", "Restore", "SystemUpdate"],
  ...["Activity", "GroupMembershipAdd", "GroupMembershipDelete", "Navigation"],
  ...["RoleAssignmentAdd", "RoleAssignmentDelete", "RoleDefinitionAdd", "RoleDefinitionDelete", "RoleDefinitionUpdate"],
  ...["Item", "File", "Folder", "List", "Web", "Site", "View", "Field", "ContentType", "Alert", "Group", "User"],
  ...["SecurityPolicy"],
]);

type ChangeQuery = Readonly<Record<string, unknown>>;

/**
 * `POST …/GetChanges` with `{"query": {...}}`: what happened to the list's items after ChangeTokenStart, oldest first,
 * at most FetchLimit of them. A reader goes on with the token of the last change until nothing comes.
 */
export function changesOf(library: Library, request: SandboxRequest): Resource {
  if (!/^application\/json\b/i.test(headerOf(request, "content-type"))) throw noJson(headerOf(request, "content-type"));
  const query = parseQuery(request.body);
  const start = positionOf(query, "ChangeTokenStart", library);
  const end = positionOf(query, "ChangeTokenEnd", library);
  const found = library.changes.since(start);
  if (!found) throw changeTokenTooOld();
  const wanted = found.filter((change) => isWanted(change, query) && isUpTo(change, end));
  if (query["LatestFirst"] === true) wanted.reverse();
  return collection(changeTypeOf(library), wanted.slice(0, fetchLimitOf(query)));
}

function parseQuery(body: Uint8Array): ChangeQuery {
  const query = asObject(asObject(parseJson(body))?.["query"]);
  if (!query) throw invalidExpression("GetChanges: a JSON body with an object 'query' is expected");
  for (const name of Object.keys(query)) if (!KNOWN.has(name)) throw unknownProperty(name);
  return query;
}

function parseJson(body: Uint8Array): unknown {
  try {
    return JSON.parse(Buffer.from(body).toString());
  } catch {
    return undefined;
  }
}

function asObject(value: unknown): Readonly<Record<string, unknown>> | undefined {
  return typeof value === "object" && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : undefined;
}

function positionOf(
  query: ChangeQuery,
  name: "ChangeTokenStart" | "ChangeTokenEnd",
  library: Library,
): ChangePosition | undefined {
  const token = query[name];
  if (token === undefined || token === null) return undefined;
  const text = asObject(token)?.["StringValue"];
  const position = typeof text === "string" ? parseChangeToken(text, library) : undefined;
  if (!position) throw changeTokenTooOld();
  return position;
}

function isUpTo(change: LoggedChange, end: ChangePosition | undefined): boolean {
  if (!end) return true;
  return end.sequence === undefined ? change.atMs <= end.atMs : change.sequence <= end.sequence;
}

function isWanted(change: LoggedChange, query: ChangeQuery): boolean {
  const isObject = query["Item"] === true || query[change.isFolder ? "Folder" : "File"] === true;
  return isObject && query[FLAG_OF[change.type]] === true;
}

function fetchLimitOf(query: ChangeQuery): number {
  const limit = query["FetchLimit"] ?? MAX_CHANGES;
  const number = typeof limit === "string" ? Number(limit) : limit;
  if (typeof number !== "number" || !Number.isInteger(number) || number < 1) {
    throw invalidExpression("GetChanges: 'FetchLimit' is a whole number from 1");
  }
  return Math.min(number, MAX_CHANGES);
}

/** One for each list: a change needs its list to spell its token. */
function changeTypeOf(library: Library): EntityType {
  return entityType<LoggedChange>({
    typeName: "SP.ChangeItem",
    defaults: [
      ...["ChangeToken", "ChangeType", "SiteId", "Time", "Editor", "EditorEmailHint", "ItemId", "ListId"],
      ...["ServerRelativeUrl", "SharedByUser", "SharedWithUsers", "UniqueId", "WebId"],
    ],
    properties: {
      ChangeToken: (change) => ({ StringValue: changeTokenText(library, change) }),
      ChangeType: (change) => CHANGE_TYPES[change.type],
      SiteId: () => library.site.id,
      // The one time with fractions.
      Time: (change) => new Date(change.atMs).toISOString(),
      Editor: () => "",
      EditorEmailHint: () => null,
      ItemId: (change) => change.itemId,
      ListId: () => library.id,
      ServerRelativeUrl: () => "",
      SharedByUser: () => null,
      SharedWithUsers: () => null,
      UniqueId: (change) => change.uniqueId,
      WebId: () => library.site.webId,
    },
    links: {},
    address: (change) => `Web/Lists(guid'${library.id}')/Changes(${change.sequence})`,
  });
}

/** Expired, foreign and broken tokens alike: there is no way on from them but a full enumeration. */
function changeTokenTooOld(): ODataError {
  return new ODataError(
    500,
    "-2130575172, Microsoft.SharePoint.SPException",
    "The changeToken refers to a time before the start of the current change log.",
  );
}

function noJson(contentType: string): ODataError {
  return new ODataError(
    400,
    "-1, Microsoft.Data.OData.ODataContentTypeException",
    `A supported MIME type could not be found that matches the content type of the request: '${contentType}' is not 'application/json'.`,
  );
}

function unknownProperty(name: string): ODataError {
  return new ODataError(
    400,
    "-1, Microsoft.SharePoint.Client.InvalidClientQueryException",
    `The property '${name}' does not exist on type 'SP.ChangeQuery'. Make sure to only use property names that are defined by the type.`,
  );
}
