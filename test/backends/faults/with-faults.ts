import { errorResponse, noSuchFile, notFound, withHeaders } from "../../../src/backends/embedded/wire/wire-error.ts";
import { drainBody } from "../../../src/backends/embedded/wire.ts";
import type { Wire } from "../../../src/contracts/backend.ts";
import { isJsonObject, type JsonObject } from "../../../src/lib/json-object.ts";
import { bendAnswer, highest } from "./bend-answer.ts";
import type { Faults } from "./faults.ts";
import { askService, dataOf, type FaultyRequest, isLike, readRequest, storesOf } from "./faulty-request.ts";
import { refuseRequest } from "./refuse-request.ts";

/** What faults have to remember between requests. */
export interface FaultMemory {
  /** Deleted files whose rows stayed in the stores. */
  readonly ghosts: Set<string>;
  /** `store/file` of everything that was attached. */
  readonly attached: Set<string>;
  /** `store/file` of what is listed twice. */
  readonly twice: Set<string>;
  /** The largest counts a store ever had, by its id. */
  readonly peaks: Map<string, Record<string, number>>;
}

const DROPPED = "x-dropped-connection";

/** Whoever carries the response must break the connection instead. */
export function isDropped(response: Response): boolean {
  return response.headers.has(DROPPED);
}

/** The same service, with the faults that are switched on. */
export function withFaults(wire: Wire, faults: Faults): Wire {
  const memory: FaultMemory = { ghosts: new Set(), attached: new Set(), twice: new Set(), peaks: new Map() };
  return async (request) => {
    const asked = await readRequest(request, wire);
    if (faults.strike("drop-before-effect", asked)) return drop(asked);
    const refused = await refuseRequest(asked, faults, memory);
    if (refused) return drained(asked, withHeaders(refused, performance.now()));
    const answer = await carryOut(asked, faults, memory);
    return faults.strike("drop-after-effect", asked) ? drop(asked) : withHeaders(answer, performance.now());
  };
}

async function carryOut(asked: FaultyRequest, faults: Faults, memory: FaultMemory): Promise<Response> {
  if (asked.method === "DELETE") return carryOutDeletion(asked, faults, memory);
  const isAttach = isLike(asked, "POST /vector_stores/:id/files");
  const held = isAttach && (await askService(asked.wire, "GET", storeFilePath(asked))).ok;
  const endless = asked.method === "GET" && isList(asked) && faults.strike("pages-never-end", asked);
  const response = await asked.wire(endless ? withoutCursor(asked.request) : asked.request);
  if (!response.ok || isLike(asked, "GET /files/:id/content")) return response;
  if (isAttach) memory.attached.add(`${asked.storeId}/${asked.fileId}`);
  if (held && faults.strike("attach-twice-listed-twice", asked)) memory.twice.add(`${asked.storeId}/${asked.fileId}`);
  if (isLike(asked, "POST /files") && faults.strike("upload-duplicates", asked)) return uploadAgain(asked, response);
  if (asked.method !== "GET" && !isLike(asked, "POST /vector_stores/:id/file_batches")) return response;
  const body: unknown = await response.clone().json();
  if (!isJsonObject(body)) return response;
  if (asked.method === "POST") {
    await noteBatch(asked, body, memory);
    return response;
  }
  const bent = bendAnswer(asked, body, faults, memory);
  if (!bent)
    return errorResponse(notFound(`No file found with id '${asked.fileId}' in vector store '${asked.storeId}'.`));
  return Response.json(endless ? { ...bent, has_more: true } : bent, { headers: response.headers });
}

async function carryOutDeletion(asked: FaultyRequest, faults: Faults, memory: FaultMemory): Promise<Response> {
  const { fileId = "", wire } = asked;
  const stores = await storesOf(wire);
  for (const { id, file_counts: counts } of stores) {
    memory.peaks.set(String(id), highest(memory.peaks.get(String(id)), counts as Record<string, number>));
  }
  if (isLike(asked, "DELETE /files/:id") && faults.strike("ghost-row-after-delete", asked)) {
    if (!(await askService(wire, "GET", `/files/${fileId}`)).ok) return errorResponse(noSuchFile(fileId));
    memory.ghosts.add(fileId);
    return Response.json({ id: fileId, object: "file", deleted: true });
  }
  const response = await wire(asked.request);
  if (!response.ok) return response;
  if (isLike(asked, "DELETE /vector_stores/:id/files/:file")) {
    memory.twice.delete(`${asked.storeId}/${fileId}`);
    if (faults.strike("detach-detaches-everywhere", asked)) {
      for (const { id } of stores) await askService(wire, "DELETE", `/vector_stores/${String(id)}/files/${fileId}`);
    }
  }
  return faults.strike("double-delete-404", asked) ? errorResponse(notFound("Not found")) : response;
}

async function noteBatch(asked: FaultyRequest, batch: JsonObject, memory: FaultMemory): Promise<void> {
  const path = `/vector_stores/${asked.storeId}/file_batches/${String(batch["id"])}/files?limit=100`;
  for (let after = ""; ; ) {
    const { body } = await askService(asked.wire, "GET", `${path}${after}`);
    for (const { id } of dataOf(body)) memory.attached.add(`${asked.storeId}/${String(id)}`);
    if (body["has_more"] !== true) return;
    after = `&after=${String(body["last_id"])}`;
  }
}

async function uploadAgain({ wire }: FaultyRequest, response: Response): Promise<Response> {
  const { id, filename, purpose } = (await response.json()) as Record<string, string>;
  const content = await wire(new Request(`http://faults.invalid/files/${id}/content`));
  const form = new FormData();
  form.append("purpose", purpose ?? "");
  form.append("file", new File([await content.blob()], filename ?? ""));
  return wire(new Request("http://faults.invalid/files", { method: "POST", body: form }));
}

function storeFilePath({ storeId, fileId }: FaultyRequest): string {
  return `/vector_stores/${storeId}/files/${fileId}`;
}

function isList(asked: FaultyRequest): boolean {
  const lists = [
    "/files",
    "/vector_stores",
    "/vector_stores/:id/files",
    "/vector_stores/:id/file_batches/:batch/files",
  ];
  return lists.some((path) => isLike(asked, `GET ${path}`));
}

function withoutCursor(request: Request): Request {
  const url = new URL(request.url);
  url.searchParams.delete("after");
  return new Request(url, request);
}

function drop(asked: FaultyRequest): Promise<Response> {
  return drained(asked, new Response(null, { status: 599, headers: { [DROPPED]: "1" } }));
}

async function drained({ request }: FaultyRequest, response: Response): Promise<Response> {
  await drainBody(request);
  return response;
}
