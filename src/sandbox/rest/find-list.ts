import { folderOrListNotFound, ODataError } from "../odata/odata-error.ts";
import type { Site } from "../tenant/site.ts";
import { listType } from "./entity-types.ts";
import { entity, type RequestScope, type Resource } from "./resource.ts";

export function listById(site: Site, id: unknown): Resource {
  const library = typeof id === "string" ? site.libraryById(id) : undefined;
  if (!library) {
    throw new ODataError(
      404,
      "-1, System.ArgumentException",
      "List does not exist. The page you selected contains a list that does not exist. It may have been deleted by another user.",
    );
  }
  return entity(listType, library);
}

export function listByTitle(scope: RequestScope, title: string): Resource {
  const library = scope.site.libraryByTitle(title);
  if (library) return entity(listType, library);
  throw new ODataError(
    404,
    "-1, System.ArgumentException",
    `List '${title}' does not exist at site with URL '${scope.webUrl}'.`,
  );
}

export function listByPath(scope: RequestScope, path: string): Resource {
  const located = scope.tenant.locate(path);
  if (located?.library.site !== scope.site || located.names.length > 0) throw folderOrListNotFound();
  return entity(listType, located.library);
}
