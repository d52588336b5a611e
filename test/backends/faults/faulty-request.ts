import type { Wire } from "../../../src/contracts/backend.ts";
import { isJsonObject, type JsonObject } from "../../../src/lib/json-object.ts";
import type { FaultOccasion } from "./faults.ts";

/** A request as faults look at it. */
export interface FaultyRequest extends FaultOccasion {
  readonly method: string;
  readonly path: string;
  readonly segments: readonly string[];
  readonly query: URLSearchParams;
  readonly storeId: string | undefined;
  readonly fileId: string | undefined;
  /** What is to be carried out. */
  readonly request: Request;
  /** The same service without faults. */
  readonly wire: Wire;
}

export async function readRequest(request: Request, wire: Wire): Promise<FaultyRequest> {
  const url = new URL(request.url);
  const path = url.pathname.replace(/^\/v1(?=\/|$)/, "").replace(/\/$/, "");
  const segments = path.split("/").slice(1);
  const { method } = request;
  const inStore = segments[0] === "vector_stores";
  const storeId = inStore ? segments[1] : undefined;
  const isAttach = method === "POST" && inStore && segments[2] === "files" && segments.length === 3;
  const named = inStore ? (segments[2] === "files" ? segments[3] : undefined) : segments[1];
  const fileId = isAttach ? await fileIdIn(request) : named;
  return { method, path, segments, query: url.searchParams, storeId, fileId, request, wire };
}

async function fileIdIn(request: Request): Promise<string | undefined> {
  const body: unknown = await request
    .clone()
    .json()
    .catch(() => undefined);
  return isJsonObject(body) && typeof body["file_id"] === "string" ? body["file_id"] : undefined;
}

/** `/files`, `/vector_stores/:id/files` and the like, with this method. */
export function isLike({ method, segments }: FaultyRequest, pattern: string): boolean {
  const [wantedMethod, wantedPath = ""] = pattern.split(" ");
  const wanted = wantedPath.split("/").slice(1);
  const fits = (segment: string, at: number): boolean => segment.startsWith(":") || segment === segments[at];
  return wantedMethod === method && wanted.length === segments.length && wanted.every(fits);
}

/** What the service itself says, for faults that need to know. */
export async function askService(
  wire: Wire,
  method: string,
  path: string,
): Promise<{ readonly ok: boolean; readonly body: JsonObject }> {
  const response = await wire(new Request(`http://faults.invalid${path}`, { method }));
  const body: unknown = await response.json();
  return { ok: response.ok, body: isJsonObject(body) ? body : {} };
}

export async function storesOf(wire: Wire): Promise<JsonObject[]> {
  const { body } = await askService(wire, "GET", "/vector_stores?limit=100");
  return dataOf(body);
}

/** The objects of a list. */
export function dataOf(body: JsonObject): JsonObject[] {
  return Array.isArray(body["data"]) ? body["data"].filter(isJsonObject) : [];
}
