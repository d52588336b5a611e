import { headerOf } from "../http-reply.ts";
import type { Library } from "../tenant/library.ts";
import type { TenantItem } from "../tenant/tenant-item.ts";
import { requireSite } from "./authorize-graph.ts";
import { deltaTokenText, parseDeltaToken } from "./delta-token.ts";
import { downloadAddressOf } from "./download-address.ts";
import { type DeltaCursor, deltaPage } from "./drive-delta.ts";
import { deletedItemOf, driveItemOf, driveOf } from "./drive-item.ts";
import { invalidRequest, itemNotFound, resyncRequired } from "./graph-error.ts";
import { driveIdOf, driveItemIdOf, uniqueIdFrom } from "./graph-ids.ts";
import { type GraphAnswer, type GraphRequest, selected } from "./graph-request.ts";

const DRIVE = /^drives\/([^/]+)(?:\/(.+))?$/i;
const DELTA = /^root\/(?:microsoft\.graph\.)?delta(?:\((?:token='([^']*)')?\))?$/i;
const ITEM = /^(?:root|items\/([^/]+))(\/content)?$/i;
const DEFAULT_PAGE = 200;
const MAX_PAGE = 1000;

/** undefined when the path does not lead to a drive or to anything of it that is here. */
export function answerDrive(request: GraphRequest): GraphAnswer | undefined {
  const [, driveId, below] = DRIVE.exec(request.path) ?? [];
  if (driveId === undefined) return undefined;
  const drives = request.tenant.sites.flatMap((site) => site.libraries).filter((library) => !library.isList);
  const library = drives.find((each) => driveIdOf(each) === driveId);
  if (!library) throw itemNotFound("The specified drive could not be found.");
  requireSite(library.site, request.roles, request.signIn);
  if (below === undefined) return { body: selected(driveOf(library, request.scope), request) };
  const delta = DELTA.exec(below);
  if (delta) return answerDelta(request, library, delta[1] ?? request.query.get("token"));
  const item = ITEM.exec(below);
  if (!item) return undefined;
  return answerItem(request, findItem(request, library, item[1]), item[2] !== undefined);
}

function findItem({ tenant }: GraphRequest, library: Library, itemId: string | undefined): TenantItem {
  if (itemId === undefined || itemId === "root" || itemId === driveItemIdOf(library.root)) return library.root;
  const item = tenant.itemsByUniqueId.get(uniqueIdFrom(itemId));
  if (item?.library !== library || driveItemIdOf(item) !== itemId) throw itemNotFound();
  return item;
}

function answerItem(request: GraphRequest, item: TenantItem, wantsContent: boolean): GraphAnswer {
  const address = item.kind === "file" ? downloadAddressOf(item, request.scope.origin) : undefined;
  if (!wantsContent) {
    const body = driveItemOf(item, request.scope);
    return { body: selected(address ? { "@microsoft.graph.downloadUrl": address, ...body } : body, request) };
  }
  if (address === undefined) throw invalidRequest("A folder has no content.");
  return { status: 302, headers: { Location: address }, body: "" };
}

function answerDelta(request: GraphRequest, library: Library, token: string | null): GraphAnswer {
  const { tenant, scope, asked } = request;
  const cursor = parseDeltaToken(token, library);
  if (!cursor) throw invalidRequest("The provided token is not valid for this drive.");
  const page = deltaPage(tenant, library, cursor, {
    pageSize: pageSizeOf(request),
    withParents:
      asked.headers["deltaexcludeparent"] === undefined && !/\bdeltaExcludeParent\b/i.test(headerOf(asked, "prefer")),
  });
  if (!page) throw resyncRequired(deltaLinkOf(request, library, null));
  const value = page.entries.map((entry) =>
    // The content tag is not told in a delta.
    selected(
      "sequence" in entry ? deletedItemOf(library, entry) : { ...driveItemOf(entry, scope), cTag: undefined },
      request,
    ),
  );
  const link = deltaLinkOf(request, library, page.next);
  return {
    body: {
      "@odata.context": `${scope.origin}/v1.0/$metadata#Collection(driveItem)`,
      [page.isLast ? "@odata.deltaLink" : "@odata.nextLink"]: link,
      value,
    },
  };
}

/** Whatever else was asked for stays in the link; a null cursor leads to the beginning. */
function deltaLinkOf({ scope, query }: GraphRequest, library: Library, cursor: DeltaCursor | null): string {
  const kept = new URLSearchParams(query);
  kept.delete("token");
  if (cursor) kept.set("token", deltaTokenText(cursor, library));
  const text = kept.toString();
  return `${scope.origin}/v1.0/drives/${driveIdOf(library)}/root/delta${text === "" ? "" : `?${text}`}`;
}

function pageSizeOf({ query }: GraphRequest): number {
  const top = query.get("$top");
  if (top === null) return DEFAULT_PAGE;
  if (!/^[1-9]\d*$/.test(top)) throw invalidRequest("Invalid value for $top: a whole number from 1 is expected.");
  return Math.min(Number(top), MAX_PAGE);
}
