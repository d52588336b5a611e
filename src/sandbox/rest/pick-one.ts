import { ODataError, resourceNotFound } from "../odata/odata-error.ts";
import type { Segment } from "../odata/path-segments.ts";
import type { Library } from "../tenant/library.ts";
import { fieldType, findField } from "./field-type.ts";
import { listById, listByTitle } from "./find-list.ts";
import { argumentOf, type Collection, entity, type RequestScope, type Resource } from "./resource.ts";
import { userType } from "./user-type.ts";

/** `AttachmentFiles` is all of them, `AttachmentFiles('a.pdf')` one. */
export function oneOf(all: Collection, segment: Segment): Resource {
  return segment.args === undefined ? all : pick(all, segment);
}

/** The one whose key the segment gives in parentheses. */
export function pick({ type, rows }: Collection, segment: Segment): Resource {
  const wanted = String(argumentOf(segment) ?? argumentOf(segment, "id")).toLowerCase();
  const found = rows.find((row) => String(type.key?.(row)).toLowerCase() === wanted);
  if (found === undefined) throw type === userType ? noSuchUser() : resourceNotFound(segment.name);
  return entity(type, found);
}

function noSuchUser(): ODataError {
  return new ODataError(500, "-2146232832, Microsoft.SharePoint.SPException", "User cannot be found.");
}

type Step = (all: Collection, segment: Segment, scope: RequestScope) => Resource;

/** The functions that pick one of a collection, by the type of what is in it. */
const STEPS: Readonly<Record<string, Readonly<Record<string, Step>>>> = {
  "SP.List": {
    getbytitle: (_all, segment, scope) =>
      listByTitle(scope, String(argumentOf(segment) ?? argumentOf(segment, "title"))),
    getbyid: (_all, segment, scope) => listById(scope.site, argumentOf(segment) ?? argumentOf(segment, "id")),
  },
  "SP.Field": {
    getbyinternalnameortitle: (all, segment) => fieldByName(all, String(argumentOf(segment))),
    getbytitle: (all, segment) => fieldByName(all, String(argumentOf(segment))),
    getbyid: pick,
  },
  "SP.User": { getbyid: pick },
  "SP.Attachment": { getbyfilename: pick },
  "SP.FileVersion": { getbyid: pick },
};

/** undefined when the collection has no such function. */
export function stepInto(all: Collection, segment: Segment, scope: RequestScope): Resource | undefined {
  return STEPS[all.type.typeName]?.[segment.name.toLowerCase()]?.(all, segment, scope);
}

function fieldByName(all: Collection, name: string): Resource {
  const [first] = all.rows as { library: Library }[];
  const field = first && findField(first.library, name);
  if (field) return entity(fieldType, field);
  throw new ODataError(
    400,
    "-2147024809, System.ArgumentException",
    `Column '${name}' does not exist. It may have been deleted by another user.`,
  );
}
