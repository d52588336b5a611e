import OpenAI, { AzureOpenAI, type ClientOptions } from "openai";
import { fetch as undiciFetch } from "undici";
import { BadInputError, CancelledError } from "../../contracts/errors.ts";
import type { VectorStoreId } from "../../contracts/ids.ts";
import type { UploadJournals } from "../../contracts/uploads.ts";
import { backoffMs, jitter, type RetryLimits } from "../../lib/backoff.ts";
import { createProxyAgent } from "../../lib/proxy-agent.ts";
import { sleep } from "../../lib/time.ts";
import { Refusal, toRefusal } from "./refusal.ts";

export interface OpenAiOptions {
  readonly kind: "openai" | "azure_openai";
  readonly apiKey: string;
  /** OpenAI: the address up to `/v1`. Azure: the resource's endpoint. */
  readonly baseUrl?: string;
  readonly organization?: string;
  /** Azure: a dated API version; without one, or with `v1`, the undated v1 address is used. */
  readonly apiVersion?: string;
  /** Answers searches through the responses API where the service has no search of its own; "" for none. */
  readonly model?: string;
  /** Replaces the network, for a server in the same process. */
  readonly fetch?: Fetch;
  readonly clock?: Clock;
}

/** What is written down of uploads. */
export interface UploadNotes {
  /** Those under way, so that a run after a crash finds them again. */
  readonly journals: UploadJournals;
  /** Here, those that were taken out of vector stores. */
  readonly folder: string;
}

type Fetch = NonNullable<ClientOptions["fetch"]>;

/** The way to the service, shared by all indexes of a backend. */
export interface Connection {
  readonly client: OpenAI;
  /** Of crawls: they wait as long as the service asks. */
  readonly calls: ServiceCalls;
  /** Of people who wait for an answer. Apart from the others, so that what an upload is told holds up no search. */
  readonly questions: ServiceCalls;
  readonly clock: Clock;
  /** Files whose bytes are being sent. */
  readonly uploads: Slots;
  readonly limits: Limits;
  /** What turned out not to be there; asked once, then remembered. */
  readonly lacks: { search: boolean; batches: boolean };
  readonly model: string;
  /** The setting that gives the model, for people. */
  readonly modelSetting: string;
  readonly notes: UploadNotes;
  close(): Promise<void>;
}

/** What the service allows per minute. */
interface Limits {
  readonly uploads: RateGate;
  /** Requests that attach, however many files they carry. */
  attachCalls(store: VectorStoreId): RateGate;
  /** Files, over all stores. */
  readonly attachedFiles: RateGate;
}

const KEY_NAMES = { openai: "OPENAI_API_KEY", azure_openai: "AZURE_OPENAI_API_KEY" };
const MODEL_NAMES = { openai: "OPENAI_DEFAULT_MODEL_NAME", azure_openai: "AZURE_OPENAI_DEFAULT_MODEL_DEPLOYMENT_NAME" };
const MAX_UPLOADS_AT_ONCE = 16;
/** Nine tenths of what is published: the service's clock is not ours, and others may use the same account. */
const PER_MINUTE = { uploads: 900, attachCalls: 270, attachedFiles: 1800 };
const REQUEST_TIMEOUT_MS = 120_000;
/** Whoever searches rather reads why there is no answer than waits for longer. */
const QUESTION_PATIENCE_MS = 20_000;

export function connect(options: OpenAiOptions, notes: UploadNotes): Connection {
  if (!options.apiKey) throw new BadInputError(`${KEY_NAMES[options.kind]} is missing: the key of the backend.`);
  const clock = options.clock ?? systemClock;
  const network = options.fetch ? { fetch: options.fetch, close: async () => {} } : openNetwork();
  return {
    client: createClient(options, network.fetch),
    calls: createServiceCalls({ clock, apiKey: options.apiKey }),
    questions: createServiceCalls({ clock, apiKey: options.apiKey, patienceMs: QUESTION_PATIENCE_MS }),
    clock,
    uploads: createSlots(MAX_UPLOADS_AT_ONCE),
    limits: createLimits(clock),
    lacks: { search: false, batches: false },
    model: options.model ?? "",
    modelSetting: MODEL_NAMES[options.kind],
    notes,
    close: network.close,
  };
}

function createLimits(clock: Clock): Limits {
  const perStore = new Map<VectorStoreId, RateGate>();
  return {
    uploads: createRateGate(clock, PER_MINUTE.uploads),
    attachedFiles: createRateGate(clock, PER_MINUTE.attachedFiles),
    attachCalls(store) {
      const gate = perStore.get(store) ?? createRateGate(clock, PER_MINUTE.attachCalls);
      perStore.set(store, gate);
      return gate;
    },
  };
}

/** undici's own fetch instead of Node's, which keeps a whole upload in memory. HTTPS_PROXY and NO_PROXY are honoured. */
function openNetwork(): { fetch: Fetch; close: () => Promise<void> } {
  // The client's timeout rules; undici's five minutes without a header would cut off a slow answer before it.
  const dispatcher = createProxyAgent({ headersTimeout: 0, bodyTimeout: REQUEST_TIMEOUT_MS });
  const viaUndici = (input: Parameters<Fetch>[0], init: Parameters<Fetch>[1]): unknown =>
    undiciFetch(input as Parameters<typeof undiciFetch>[0], { ...(init as object), dispatcher });
  return { fetch: viaUndici as Fetch, close: () => dispatcher.close() };
}

function createClient(options: OpenAiOptions, fetch: Fetch): OpenAI {
  const settings = {
    apiKey: options.apiKey,
    organization: options.organization || null,
    project: null,
    fetch,
    // A redirect would carry the key to another host.
    fetchOptions: { redirect: "manual" },
    // The client ignores a Retry-After of more than a minute, so service-calls.ts does the waiting.
    maxRetries: 0,
    timeout: REQUEST_TIMEOUT_MS,
    logLevel: "off",
  } satisfies ClientOptions;
  if (options.kind === "openai") {
    return new OpenAI({ ...settings, baseURL: options.baseUrl || "https://api.openai.com/v1" });
  }
  const endpoint = readAzureEndpoint(options.baseUrl);
  if (options.apiVersion && options.apiVersion !== "v1") {
    return new AzureOpenAI({ ...settings, baseURL: `${endpoint}/openai`, apiVersion: options.apiVersion });
  }
  return new OpenAI({
    ...settings,
    baseURL: `${endpoint}/openai/v1/`,
    defaultHeaders: { "api-key": options.apiKey, Authorization: null },
  });
}

/** People copy the endpoint with and without the path that follows it. */
export function readAzureEndpoint(text: string | undefined): string {
  if (!text) throw new BadInputError("AZURE_OPENAI_ENDPOINT is missing: the address of the Azure OpenAI resource.");
  return text.replace(/\/+$/, "").replace(/\/openai(\/v1)?$/, "");
}

interface RateGate {
  /** Waits until `weight` more fit into the last minute; CancelledError when the signal aborts. */
  pass(weight: number, what: string, signal?: AbortSignal): Promise<void>;
}

const WINDOW_MS = 60_000;

/**
 * Lets at most `limit` through in any minute. Services count in minutes of their own, which begin when they like, so the
 * window slides instead of starting afresh.
 */
export function createRateGate(clock: Clock, limit: number): RateGate {
  const passed: { readonly atMs: number; readonly weight: number }[] = [];
  let used = 0;

  function forget(): void {
    for (let oldest = passed[0]; oldest && oldest.atMs + WINDOW_MS <= clock.now(); oldest = passed[0]) {
      used -= oldest.weight;
      passed.shift();
    }
  }

  return {
    async pass(weight, what, signal) {
      for (forget(); used + weight > limit; forget()) {
        const oldest = passed[0];
        // More than fits into an empty window is let through alone: to refuse it for ever would help nobody.
        if (!oldest) break;
        await pause(clock, oldest.atMs + WINDOW_MS - clock.now(), what, signal);
      }
      passed.push({ atMs: clock.now(), weight });
      used += weight;
    },
  };
}

interface Slots {
  /** Waits for a free slot, first come first served; call the result once to free it. CancelledError when the signal aborts. */
  take(what: string, signal: AbortSignal): Promise<() => void>;
}

export function createSlots(count: number): Slots {
  let free = count;
  const waiting = new Set<() => void>();

  function release(): void {
    const next = waiting.values().next().value;
    if (!next) {
      free++;
      return;
    }
    waiting.delete(next);
    next();
  }

  function queue(signal: AbortSignal): Promise<"granted" | "given up"> {
    return new Promise((resolve) => {
      const grant = (): void => {
        signal.removeEventListener("abort", giveUp);
        resolve("granted");
      };
      const giveUp = (): void => {
        waiting.delete(grant);
        resolve("given up");
      };
      waiting.add(grant);
      signal.addEventListener("abort", giveUp, { once: true });
    });
  }

  async function take(what: string, signal: AbortSignal): Promise<() => void> {
    throwIfCancelled(what, signal);
    if (free > 0) free--;
    else if ((await queue(signal)) === "given up") throw new CancelledError(`${what}: cancelled`);
    return release;
  }

  return { take };
}

interface ServiceCalls {
  /**
   * Runs one request, again while the refusal may pass. Ends with CancelledError on abort, with Refusal when the service
   * did not do its part, and with any other error (an unreadable file) as it is. `work` must be ready to run again:
   * a stream is reopened, not replayed, and a try without an answer may have been carried out. The signal it is given
   * also aborts when patience ends.
   */
  run<T>(
    what: string,
    work: (attempt: number, signal: AbortSignal | undefined) => Promise<T>,
    signal?: AbortSignal,
  ): Promise<T>;
}

interface ServiceCallsOptions {
  readonly clock: Clock;
  readonly apiKey: string;
  /** A call that cannot be over by then ends with what the service said last; without it a call waits as it is told. */
  readonly patienceMs?: number;
}

const RETRIES: RetryLimits = { attempts: 8, firstMs: 500, longestMs: 30_000 };
/** Longer than this is no pacing any more; a timer of more than 24 days would even fire at once. */
const LONGEST_WAIT_MS = 24 * 3600 * 1000;

export function createServiceCalls({ clock, apiKey, patienceMs }: ServiceCallsOptions): ServiceCalls {
  // A Retry-After is meant for all of a kind: what runs beside waits too instead of collecting refusals of its own.
  let nobodyBeforeMs = 0;
  let closedBy: Refusal | undefined;
  const longestWaitMs = Math.min(patienceMs ?? LONGEST_WAIT_MS, LONGEST_WAIT_MS);

  async function waitForTurn(what: string, giveUpAtMs: number, signal?: AbortSignal): Promise<void> {
    throwIfCancelled(what, signal);
    while (clock.now() < nobodyBeforeMs) {
      const waitMs = nobodyBeforeMs - clock.now();
      if (nobodyBeforeMs > giveUpAtMs && closedBy) throw tooLong(closedBy, waitMs, what);
      await pause(clock, waitMs, what, signal);
    }
  }

  function chooseWait(refusal: Refusal, attempt: number, giveUpAtMs: number): number {
    const waitMs = refusal.retryAfterMs ?? jitter(backoffMs(attempt, RETRIES));
    if (refusal.retryAfterMs !== undefined && waitMs <= LONGEST_WAIT_MS && clock.now() + waitMs > nobodyBeforeMs) {
      nobodyBeforeMs = clock.now() + waitMs;
      closedBy = refusal;
    }
    if (refusal.retryAfterMs !== undefined && waitMs > longestWaitMs) throw tooLong(refusal, waitMs);
    if (clock.now() + waitMs > giveUpAtMs) throw refusal;
    return waitMs;
  }

  async function run<T>(
    what: string,
    work: (attempt: number, signal: AbortSignal | undefined) => Promise<T>,
    signal?: AbortSignal,
  ): Promise<T> {
    const giveUpAtMs = clock.now() + (patienceMs ?? Number.POSITIVE_INFINITY);
    const late = patienceMs === undefined ? undefined : AbortSignal.timeout(patienceMs);
    const until = signal && late ? AbortSignal.any([signal, late]) : (signal ?? late);
    let last: Refusal | undefined;
    for (let attempt = 1; ; attempt++) {
      await waitForTurn(what, giveUpAtMs, signal);
      try {
        return await work(attempt, until);
      } catch (error) {
        if (signal?.aborted) throw new CancelledError(`${what}: cancelled`, { cause: error });
        if (late?.aborted) throw last ?? silence(what, patienceMs ?? 0, error);
        const refusal = toRefusal(error, { what, tries: attempt, nowMs: clock.now(), apiKey });
        if (!refusal) throw error;
        if (!refusal.retryable || attempt >= RETRIES.attempts) throw refusal;
        last = refusal;
        await pause(clock, chooseWait(refusal, attempt, giveUpAtMs), what, signal);
      }
    }
  }

  return { run };
}

/** `what`: of another call than the one that was refused. */
function tooLong(refusal: Refusal, waitMs: number, what?: string): Refusal {
  const { message, status, cause } = refusal;
  const said = what === undefined || message.startsWith(`${what}:`) ? message : `${what}: ${message}`;
  return new Refusal(`${said}; it asks to come back in ${inWords(waitMs)}`, { status, concernsAll: true, cause });
}

function inWords(ms: number): string {
  return ms < 2 * 3_600_000 ? `${Math.ceil(ms / 1000)} seconds` : `${Math.round(ms / 3_600_000)} hours`;
}

function silence(what: string, patienceMs: number, cause: unknown): Refusal {
  const message = `${what}: no answer from the service within ${Math.round(patienceMs / 1000)} seconds`;
  return new Refusal(message, { status: undefined, cause });
}

/** Time as retries and polling see it, so that a test can let an hour of Retry-After pass at once. */
export interface Clock {
  /** Milliseconds since 1970. */
  now(): number;
  /** Resolves early when the signal aborts; never rejects. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

const systemClock: Clock = { now: Date.now, sleep };

/** Like sleep, but an abort ends it with CancelledError. */
export async function pause(clock: Clock, ms: number, what: string, signal?: AbortSignal): Promise<void> {
  throwIfCancelled(what, signal);
  await clock.sleep(ms, signal);
  throwIfCancelled(what, signal);
}

export function throwIfCancelled(what: string, signal?: AbortSignal): void {
  if (signal?.aborted) throw new CancelledError(`${what}: cancelled`, { cause: signal.reason });
}
