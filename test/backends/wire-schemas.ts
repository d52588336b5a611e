import assert from "node:assert/strict";
import { ANSWER_LISTS, ANSWER_OBJECTS } from "./wire-answer-schemas.ts";
import {
  anyOf,
  asObject,
  type Check,
  count,
  instant,
  listOf,
  mapOf,
  number,
  object,
  oneOf,
  orNull,
  text,
  truth,
} from "./wire-checks.ts";

const counts = object({ in_progress: count, completed: count, failed: count, cancelled: count, total: count });
const attributes = mapOf(anyOf(text, number, truth));

const file = object(
  {
    id: text,
    object: oneOf("file"),
    bytes: count,
    created_at: instant,
    filename: text,
    purpose: text,
    status: oneOf("uploaded", "processed", "error"),
  },
  { expires_at: instant, status_details: text },
);

const staticChunking = object({ max_chunk_size_tokens: count, chunk_overlap_tokens: count });
const storeFile = object(
  {
    id: text,
    object: oneOf("vector_store.file"),
    usage_bytes: count,
    created_at: instant,
    vector_store_id: text,
    status: oneOf("in_progress", "completed", "cancelled", "failed"),
    last_error: orNull(object({ code: oneOf("server_error", "unsupported_file", "invalid_file"), message: text })),
  },
  {
    chunking_strategy: anyOf(
      object({ type: oneOf("static"), static: staticChunking }),
      object({ type: oneOf("other") }),
    ),
    attributes: orNull(attributes),
  },
);

/** By the value of `object`. */
const OBJECTS: Readonly<Record<string, Check>> = {
  ...ANSWER_OBJECTS,
  file: anyOf(file, object({ id: text, object: oneOf("file"), deleted: oneOf(true) })),
  upload: object(
    {
      id: text,
      object: oneOf("upload"),
      bytes: count,
      created_at: instant,
      filename: text,
      purpose: text,
      status: oneOf("pending", "completed", "cancelled", "expired"),
      expires_at: instant,
    },
    { file: orNull(file) },
  ),
  "upload.part": object({ id: text, object: oneOf("upload.part"), created_at: instant, upload_id: text }),
  vector_store: object(
    {
      id: text,
      object: oneOf("vector_store"),
      created_at: instant,
      name: text,
      usage_bytes: count,
      file_counts: counts,
      status: oneOf("expired", "in_progress", "completed"),
      last_active_at: orNull(instant),
      metadata: orNull(mapOf(text)),
    },
    { expires_after: object({ anchor: oneOf("last_active_at"), days: count }), expires_at: orNull(instant) },
  ),
  "vector_store.deleted": object({ id: text, object: oneOf("vector_store.deleted"), deleted: oneOf(true) }),
  "vector_store.file": storeFile,
  "vector_store.file.deleted": object({ id: text, object: oneOf("vector_store.file.deleted"), deleted: oneOf(true) }),
  "vector_store.files_batch": object({
    id: text,
    object: oneOf("vector_store.files_batch"),
    created_at: instant,
    vector_store_id: text,
    status: oneOf("in_progress", "completed", "cancelled", "failed"),
    file_counts: counts,
  }),
  "vector_store.file_content.page": object({
    object: oneOf("vector_store.file_content.page"),
    data: listOf(object({ type: oneOf("text"), text })),
    has_more: truth,
    next_page: orNull(text),
  }),
  "vector_store.search_results.page": object({
    object: oneOf("vector_store.search_results.page"),
    search_query: listOf(text),
    data: listOf(
      object({
        file_id: text,
        filename: text,
        score: (value, at) => assert.ok(Number(value) >= 0 && Number(value) <= 1, at),
        attributes: orNull(attributes),
        content: listOf(object({ type: oneOf("text"), text })),
      }),
    ),
    has_more: truth,
    next_page: orNull(text),
  }),
};

const error = object({ error: object({ message: text, type: text, param: orNull(text), code: orNull(text) }) });

/** Lists of objects, and first_id and last_id that are the ids at its ends. */
const list: Check = (value, at) => {
  object({
    object: oneOf("list"),
    data: listOf(checkObject),
    first_id: orNull(text),
    last_id: orNull(text),
    has_more: truth,
  })(value, at);
  const {
    data,
    first_id: first,
    last_id: last,
  } = value as { data: { id: string }[]; first_id: unknown; last_id: unknown };
  assert.deepEqual([first, last], [data[0]?.id ?? null, data.at(-1)?.id ?? null], `${at}: first_id and last_id`);
};

/** An object of the wire protocol by its `object` field, or by its `type` where it has none. */
export function checkObject(value: unknown, at: string): void {
  const fields = asObject(value, at);
  const kind = String(fields["object"] ?? fields["type"]);
  const [first] = Array.isArray(fields["data"]) ? fields["data"] : [];
  const ownList = ANSWER_LISTS[String((first as { readonly object?: unknown } | undefined)?.object)];
  const check = kind === "list" ? (ownList ?? list) : OBJECTS[kind];
  if (!check) assert.fail(`${at}: no schema for '${kind}'`);
  check(value, `${at} (${kind})`);
}

/** Headers that every answer has, and a body as the schemas say. */
export async function checkAnswer(response: Response, at: string): Promise<void> {
  for (const name of ["x-request-id", "openai-processing-ms", "openai-version", "openai-poll-after-ms"]) {
    assert.ok(response.headers.get(name), `${at} lacks the header ${name}`);
  }
  if (!response.headers.get("content-type")?.startsWith("application/json")) return;
  const body: unknown = await response.clone().json();
  if (response.ok) checkObject(body, at);
  else error(body, at);
}

/** A fetch that checks what it gets. */
export async function checkingFetch(url: string | URL | Request, init?: RequestInit): Promise<Response> {
  const response = await fetch(url, init);
  await checkAnswer(response, `${init?.method ?? "GET"} ${String(url)}`);
  return response;
}
