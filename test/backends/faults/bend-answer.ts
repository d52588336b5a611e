import type { JsonObject } from "../../../src/lib/json-object.ts";
import type { Faults } from "./faults.ts";
import { dataOf, type FaultyRequest, isLike } from "./faulty-request.ts";
import type { FaultMemory } from "./with-faults.ts";

/** The answer as it would look from a service that has the fault; undefined: there is no such object. */
export function bendAnswer(
  asked: FaultyRequest,
  body: JsonObject,
  faults: Faults,
  memory: FaultMemory,
): JsonObject | undefined {
  if (isLike(asked, "GET /files"))
    return withData(
      body,
      dataOf(body).filter(({ id }) => !memory.ghosts.has(String(id))),
    );
  if (isLike(asked, "GET /files/:id") && faults.strike("attach-before-processed-404", asked)) {
    return { ...body, status: "uploaded" };
  }
  if (isLike(asked, "GET /vector_stores") && faults.strike("stores-list-empty", asked)) {
    return { ...withData(body, []), has_more: false };
  }
  if (isLike(asked, "GET /vector_stores/:id")) return bendStore(asked, body, faults, memory);
  if (isLike(asked, "GET /vector_stores/:id/files/:file")) return bendStoreFile(asked, body, faults, memory);
  if (isLike(asked, "GET /vector_stores/:id/files")) return bendStoreFiles(asked, body, faults, memory);
  if (isLike(asked, "GET /vector_stores/:id/file_batches/:batch")) return withStatus(asked, body, faults);
  return body;
}

function bendStore(asked: FaultyRequest, body: JsonObject, faults: Faults, { peaks }: FaultMemory): JsonObject {
  const expired = faults.strike("store-expired", asked) ? { ...body, status: "expired" } : body;
  const counts = body["file_counts"] as Record<string, number>;
  const peak = highest(peaks.get(asked.storeId ?? ""), counts);
  if (!faults.strike("counts-stale", asked)) return expired;
  peaks.set(asked.storeId ?? "", peak);
  return { ...expired, file_counts: peak };
}

/** Of each count the larger. */
export function highest(
  a: Readonly<Record<string, number>> | undefined,
  b: Readonly<Record<string, number>>,
): Record<string, number> {
  return Object.fromEntries(Object.entries(b).map(([name, count]) => [name, Math.max(count, a?.[name] ?? 0)]));
}

function bendStoreFile(
  asked: FaultyRequest,
  body: JsonObject,
  faults: Faults,
  { attached }: FaultMemory,
): JsonObject | undefined {
  const isNew = attached.has(`${asked.storeId}/${asked.fileId}`);
  if (isNew && faults.strike("attach-then-404", asked)) return undefined;
  return withStatus(asked, body, faults);
}

function bendStoreFiles(asked: FaultyRequest, body: JsonObject, faults: Faults, memory: FaultMemory): JsonObject {
  const { attached, twice } = memory;
  const key = ({ id }: JsonObject): string => `${asked.storeId}/${String(id)}`;
  const rows = dataOf(body);
  const hidden = rows.some((row) => attached.has(key(row))) && faults.strike("attach-then-404", asked);
  const seen = hidden ? rows.filter((row) => !attached.has(key(row))) : rows;
  const listed = seen.flatMap((row) => (twice.has(key(row)) ? [row, row] : [row]));
  const unknown = listed.length > 0 && faults.strike("unknown-status", asked);
  return withData(body, unknown ? listed.map((row) => ({ ...row, status: "queued" })) : listed);
}

function withStatus(asked: FaultyRequest, body: JsonObject, faults: Faults): JsonObject {
  return faults.strike("unknown-status", asked) ? { ...body, status: "queued" } : body;
}

function withData(body: JsonObject, data: readonly JsonObject[]): JsonObject {
  return { ...body, data, first_id: data[0]?.["id"] ?? null, last_id: data.at(-1)?.["id"] ?? null };
}
