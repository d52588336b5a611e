import {
  errorResponse,
  noSuchFile,
  notFound,
  storeExpired,
  WireError,
} from "../../../src/backends/embedded/wire/wire-error.ts";
import type { Faults } from "./faults.ts";
import { askService, type FaultyRequest, isLike } from "./faulty-request.ts";
import type { FaultMemory } from "./with-faults.ts";

const ATTACH = "POST /vector_stores/:id/files";

/** What a fault answers in place of the service; undefined when none strikes. */
export async function refuseRequest(
  asked: FaultyRequest,
  faults: Faults,
  memory: FaultMemory,
): Promise<Response | undefined> {
  const limit = faults.strike("rate-limited", asked);
  if (limit) return tooMany("Rate limit reached.", "requests", "rate_limit_exceeded", limit.retryAfterSeconds ?? 1);
  if (faults.strike("insufficient-quota", asked)) {
    return tooMany("You exceeded your current quota.", "insufficient_quota", "insufficient_quota", undefined);
  }
  if (faults.strike("server-error", asked)) return errorResponse(new WireError(500, "The server had an error."));
  const error = ghostError(asked, memory) ?? expiredError(asked, faults) ?? (await attachError(asked, faults));
  if (error) return errorResponse(error);
  if (isLike(asked, "POST /vector_stores/:id/search") && faults.strike("search-404", asked)) {
    return errorResponse(notFound("Resource not found"));
  }
  const after = asked.method === "GET" ? asked.query.get("after") : null;
  if (after && faults.strike("cursor-deleted-while-paging", asked)) {
    return errorResponse(new WireError(400, `Invalid value for 'after': '${after}' is not in this list.`, "after"));
  }
  return undefined;
}

function tooMany(message: string, type: string, code: string, retryAfterSeconds: number | undefined): Response {
  const headers = retryAfterSeconds === undefined ? {} : { "retry-after": String(retryAfterSeconds) };
  return Response.json({ error: { message, type, param: null, code } }, { status: 429, headers });
}

/** A deleted file whose rows stayed: gone for everything that does not go through a store. */
function ghostError({ segments, fileId, ...asked }: FaultyRequest, { ghosts }: FaultMemory): WireError | undefined {
  if (fileId === undefined || !ghosts.has(fileId)) return undefined;
  const throughStore = segments[0] === "vector_stores" && !isLike({ segments, fileId, ...asked }, ATTACH);
  return throughStore ? undefined : noSuchFile(fileId);
}

function expiredError(asked: FaultyRequest, faults: Faults): WireError | undefined {
  if (asked.storeId === undefined) return undefined;
  if (isLike(asked, "GET /vector_stores/:id") || isLike(asked, "DELETE /vector_stores/:id")) return undefined;
  return faults.strike("store-expired", asked) && storeExpired(asked.storeId);
}

async function attachError(asked: FaultyRequest, faults: Faults): Promise<WireError | undefined> {
  const { storeId, fileId } = asked;
  if (!isLike(asked, ATTACH) || fileId === undefined) return undefined;
  if (faults.strike("attach-before-processed-404", asked)) return notFound(`Files [${fileId}] were not found`);
  const held = await askService(asked.wire, "GET", `/vector_stores/${storeId}/files/${fileId}`);
  if (!held.ok || !faults.strike("attach-twice-refused", asked)) return undefined;
  return new WireError(400, `File '${fileId}' is already attached to vector store '${storeId}'.`, "file_id");
}
