import type { Dispatcher } from "undici";
import type { Embedder } from "../../contracts/embedder.ts";
import { CancelledError, explain, RemoteError } from "../../contracts/errors.ts";
import { forEachConcurrent } from "../../lib/concurrency.ts";
import { later } from "../../lib/later.ts";
import { createProxyAgent } from "../../lib/proxy-agent.ts";
import { type AnswerHeaders, backoffMs, jitter, type RetryLimits, readRetryAfterMs } from "../../lib/retry.ts";
import { sleep } from "../../lib/time.ts";
import type { SpaceRow } from "./spaces.ts";
import { createServiceModel, onceOpened, type VectorModel } from "./vector-model.ts";
import { normalise } from "./vectors.ts";

export interface HttpModelSettings extends EmbeddingsService {
  /** 0: the model's default. */
  readonly dimensions: number;
}

/** Concurrent requests; services limit them and would refuse more. */
const CONCURRENCY = 4;
/** Some 8,000 tokens: the window of today's models. They would ignore the rest of a text anyway. */
const MAX_TEXT_CHARACTERS = 30_000;
/** Below this, the length is not the problem. */
const MIN_TEXT_CHARACTERS = 200;

/** Uses any `/v1/embeddings` address. Requests its dimensions when a store first needs vectors, unless they are configured. */
export function createHttpModel(settings: HttpModelSettings): VectorModel {
  const open = onceOpened(() => openHttpEmbedder(settings));
  // Without requesting the dimensions again: a search needs one request, not two.
  const known = async ({ model, revision, dimensions }: SpaceRow): Promise<Embedder | undefined> =>
    model === settings.model && revision === String(dimensions) ? createHttpEmbedder(settings, dimensions) : undefined;
  return createServiceModel(open, known);
}

/** Throws RemoteError if the service must be asked and does not respond. */
export async function openHttpEmbedder(settings: HttpModelSettings): Promise<Embedder> {
  if (settings.dimensions > 0) return createHttpEmbedder(settings, settings.dimensions);
  const [vector] = await postEmbeddings(settings, { texts: ["dimensions"], dimensions: 0, requested: 0 });
  return createHttpEmbedder(settings, vector?.length ?? 0);
}

function createHttpEmbedder(settings: HttpModelSettings, dimensions: number): Embedder {
  // If dimensions are configured, the service is asked for the length of the current space, which may be an older one.
  const requested = settings.dimensions > 0 ? dimensions : 0;
  let longest = MAX_TEXT_CHARACTERS;
  const embedBatch = async (texts: readonly string[], signal?: AbortSignal): Promise<Float32Array[]> => {
    for (;;) {
      const cut = texts.map((text) => text.slice(0, longest));
      try {
        return await postEmbeddings(settings, { texts: cut, dimensions, requested }, signal);
      } catch (error) {
        if (!(error instanceof TooLongError)) throw error;
        if (texts.length > 1) return await halves(texts, signal);
        const length = cut[0]?.length ?? 0;
        if (length <= MIN_TEXT_CHARACTERS) throw error;
        longest = Math.floor(length / 2);
      }
    }
  };
  const halves = async (texts: readonly string[], signal?: AbortSignal): Promise<Float32Array[]> => {
    const middle = Math.ceil(texts.length / 2);
    const first = await embedBatch(texts.slice(0, middle), signal);
    return [...first, ...(await embedBatch(texts.slice(middle), signal))];
  };
  return {
    model: settings.model,
    revision: String(dimensions),
    dimensions,
    async embed(texts, signal) {
      const vectors: Float32Array[] = texts.map(() => new Float32Array(dimensions));
      await forEachConcurrent(
        batchTexts(texts, MAX_TEXT_CHARACTERS),
        CONCURRENCY,
        async ({ indexes, texts: batch }) => {
          const answer = await embedBatch(batch, signal);
          for (const [at, index] of indexes.entries()) vectors[index] = answer[at] ?? new Float32Array(dimensions);
        },
      );
      return vectors;
    },
  };
}

const undici = later<typeof import("undici")>("undici");

/** A service that speaks OpenAI's embeddings protocol. */
export interface EmbeddingsService {
  /** Up to and including `/v1`; of Azure, up to and including the deployment. */
  readonly baseUrl: string;
  /** "" if the service needs none. */
  readonly apiKey: string;
  readonly model: string;
  /** Only for Azure with dated versions; otherwise "". */
  readonly apiVersion: string;
  /** Waits before a retry; tests skip hours. */
  readonly wait?: (ms: number, signal?: AbortSignal) => Promise<void>;
}

export interface EmbeddingsRequest {
  readonly texts: readonly string[];
  /** The required length of a vector; 0: any. */
  readonly dimensions: number;
  /** The length to request; 0: the service's default. */
  readonly requested: number;
}

/** The service says that the texts are too many or too long. */
class TooLongError extends RemoteError {
  override readonly name: string = "TooLongError";
}

const RETRIES: RetryLimits = { attempts: 7, firstMs: 500, longestMs: 60_000 };
/** A service that asks for a longer pause will not be available again in this run. */
const MAX_PAUSE_MS = 15 * 60_000;
const TIMEOUTS = { headersTimeout: 120_000, bodyTimeout: 120_000, connectTimeout: 10_000 };
let shared: Dispatcher | undefined;

/** Returns one vector of length 1 per text, in order. Retries while the service is busy or failing, then throws RemoteError. */
export async function postEmbeddings(
  service: EmbeddingsService,
  order: EmbeddingsRequest,
  signal?: AbortSignal,
): Promise<Float32Array[]> {
  for (let attempt = 1; ; attempt++) {
    throwIfAborted(signal);
    const outcome = await ask(service, order, signal);
    if ("body" in outcome) return readVectors(service, order, outcome.body);
    if (!outcome.again || attempt >= RETRIES.attempts) throw failure(service, outcome);
    const ms = outcome.pauseMs ?? jitter(backoffMs(attempt, RETRIES));
    if (ms > MAX_PAUSE_MS) throw failure(service, outcome);
    await (service.wait ?? sleep)(ms, signal);
  }
}

interface Refusal {
  readonly reason: string;
  /** A retry may succeed. */
  readonly again: boolean;
  readonly pauseMs?: number | undefined;
  readonly tooLong?: boolean;
  readonly cause?: unknown;
}

async function ask(
  service: EmbeddingsService,
  { texts, requested }: EmbeddingsRequest,
  signal?: AbortSignal,
): Promise<{ body: string } | Refusal> {
  const content = { model: service.model, input: texts, encoding_format: "float" };
  try {
    const response = await undici().request(addressOf(service), {
      method: "POST",
      headers: { "content-type": "application/json", ...credentials(service) },
      body: JSON.stringify(requested > 0 ? { ...content, dimensions: requested } : content),
      dispatcher: dispatcher(),
      signal: signal ?? null,
    });
    const body = await response.body.text();
    if (response.statusCode === 200) return { body };
    return refusal(response.statusCode, body, response.headers);
  } catch (error) {
    throwIfAborted(signal);
    return { reason: explain(error), again: true, cause: error };
  }
}

function dispatcher(): Dispatcher {
  shared ??= createProxyAgent(TIMEOUTS);
  return shared;
}

function addressOf({ baseUrl, apiVersion }: EmbeddingsService): string {
  const query = apiVersion === "" ? "" : `?api-version=${encodeURIComponent(apiVersion)}`;
  return `${baseUrl.replace(/\/+$/, "")}/embeddings${query}`;
}

/** Azure expects keys in another header. */
function credentials({ baseUrl, apiKey, apiVersion }: EmbeddingsService): Record<string, string> {
  if (apiKey === "") return {};
  const azure = apiVersion !== "" || URL.parse(baseUrl)?.hostname.endsWith(".azure.com");
  return azure ? { "api-key": apiKey } : { authorization: `Bearer ${apiKey}` };
}

function refusal(status: number, body: string, headers: AnswerHeaders): Refusal {
  const said = messageOf(body);
  const tooLong =
    status === 413 ||
    (status === 400 && /too (long|large|many)|maximum|context length|exceed|input length|batch size/i.test(said));
  // Waiting does not refill an empty account.
  const spent = /insufficient_quota|exceeded your current quota|billing/i.test(body);
  const again = (status === 429 && !spent) || status === 408 || status >= 500;
  return { reason: `${status}${said ? `: ${said}` : ""}`, again, pauseMs: readRetryAfterMs(headers), tooLong };
}

function messageOf(body: string): string {
  let said: unknown = body;
  try {
    const { error } = JSON.parse(body) as { error?: { message?: unknown } | string };
    said = typeof error === "object" ? error.message : error;
  } catch {
    // A proxy in between responds in HTML.
  }
  return (typeof said === "string" ? said : body).replaceAll(/\s+/g, " ").trim().slice(0, 300);
}

function failure(service: EmbeddingsService, { reason, tooLong, cause }: Refusal): RemoteError {
  const text = withoutKey(`embed with ${service.model} at ${addressOf(service)}: ${reason}`, service);
  return tooLong ? new TooLongError(text, { cause }) : new RemoteError(text, { cause });
}

/** Some services repeat the key they refuse. */
function withoutKey(text: string, { apiKey }: EmbeddingsService): string {
  return apiKey === "" ? text : text.replaceAll(apiKey, "***");
}

function throwIfAborted(signal: AbortSignal | undefined): void {
  if (signal?.aborted) throw new CancelledError("embed passages: cancelled", { cause: signal.reason });
}

function readVectors(service: EmbeddingsService, order: EmbeddingsRequest, body: string): Float32Array[] {
  const vectors: Float32Array[] = [];
  for (const [at, item] of itemsOf(body).entries()) {
    // JSON turns NaN into null, which would become 0: a vector that is wrong for ever and looks right.
    const numbers = Array.isArray(item.embedding) ? item.embedding.map((one) => (one === null ? Number.NaN : one)) : [];
    if (numbers.length > 0) vectors[item.index ?? at] = Float32Array.from(numbers);
  }
  const dimensions = order.dimensions || (vectors[0]?.length ?? 0);
  const problem = problemWith(vectors, order.texts.length, dimensions);
  if (problem) throw failure(service, { reason: problem, again: false });
  return vectors.map(normalise);
}

function itemsOf(body: string): { index?: number; embedding?: (number | null)[] }[] {
  try {
    const { data } = JSON.parse(body) as { data?: { index?: number; embedding?: (number | null)[] }[] };
    return Array.isArray(data) ? data : [];
  } catch {
    return [];
  }
}

function problemWith(vectors: readonly Float32Array[], count: number, dimensions: number): string | undefined {
  if (vectors.length !== count || Object.keys(vectors).length !== count || dimensions === 0) {
    return `it answered with ${Object.keys(vectors).length} vectors for ${count} texts`;
  }
  const odd = vectors.find((vector) => vector.length !== dimensions);
  if (odd) return `it answered with ${odd.length} numbers per vector instead of ${dimensions}`;
  return vectors.some((vector) => vector.some((value) => !Number.isFinite(value)))
    ? "a vector has no numbers in it"
    : undefined;
}

/** Within the limits of OpenAI, Azure and local services for one request. */
const MAX_TEXTS = 256;
const MAX_CHARACTERS = 400_000;

export interface TextBatch {
  /** The position of each text in the input. */
  readonly indexes: readonly number[];
  readonly texts: readonly string[];
}

/** Yields the texts for each request. Leaves out empty texts: services refuse them. */
function* batchTexts(texts: readonly string[], longest: number): Generator<TextBatch> {
  let indexes: number[] = [];
  let characters = 0;
  const batch = (): TextBatch => ({ indexes, texts: indexes.map((index) => texts[index] ?? "") });
  for (const [index, text] of texts.entries()) {
    if (text.trim() === "") continue;
    const length = Math.min(text.length, longest);
    if (indexes.length > 0 && (indexes.length >= MAX_TEXTS || characters + length > MAX_CHARACTERS)) {
      yield batch();
      indexes = [];
      characters = 0;
    }
    indexes.push(index);
    characters += length;
  }
  if (indexes.length > 0) yield batch();
}
