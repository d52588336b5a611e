import OpenAI, { AzureOpenAI, type ClientOptions } from "openai";
import { fetch as undiciFetch } from "undici";
import { BadInputError, CancelledError } from "../../contracts/errors.ts";
import type { VectorStoreId } from "../../contracts/ids.ts";
import type { UploadJournals } from "../../contracts/uploads.ts";
import { createLimiter, type Limiter } from "../../lib/concurrency.ts";
import { createProxyAgent } from "../../lib/proxy-agent.ts";
import { backoffMs, jitter, type RetryLimits } from "../../lib/retry.ts";
import { sleep } from "../../lib/time.ts";
import { ServiceError, toServiceError } from "./service-error.ts";

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

/** What is recorded of uploads. */
export interface UploadRecords {
  /** Uploads in progress, so that a run after a crash finds them again. */
  readonly journals: UploadJournals;
  /** Has the list of uploads that were taken out of vector stores. */
  readonly folder: string;
}

type Fetch = NonNullable<ClientOptions["fetch"]>;

/** Connection to the service, shared by all indexes of a backend. */
export interface Connection {
  readonly client: OpenAI;
  /** Calls of crawls: they wait as long as the service asks. */
  readonly calls: ServiceCalls;
  /** Calls that a person waits for, with a timeout. Separate, so that a Retry-After of an upload delays no search. */
  readonly interactiveCalls: ServiceCalls;
  readonly clock: Clock;
  /** Limits concurrent uploads. */
  readonly uploads: Limiter;
  readonly limits: Limits;
  /** Endpoints that the service turned out not to support. */
  readonly unsupported: { search: boolean; batches: boolean };
  readonly model: string;
  /** Name of the setting for the model, for messages. */
  readonly modelSetting: string;
  readonly records: UploadRecords;
  close(): Promise<void>;
}

/** Rate limits of the service, per minute. */
interface Limits {
  readonly uploads: RateLimiter;
  /** Attach requests, whatever their number of files. */
  attachCalls(store: VectorStoreId): RateLimiter;
  /** Attached files, over all stores. */
  readonly attachedFiles: RateLimiter;
}

const KEY_NAMES = { openai: "OPENAI_API_KEY", azure_openai: "AZURE_OPENAI_API_KEY" };
const MODEL_NAMES = { openai: "OPENAI_DEFAULT_MODEL_NAME", azure_openai: "AZURE_OPENAI_DEFAULT_MODEL_DEPLOYMENT_NAME" };
const MAX_UPLOADS_AT_ONCE = 16;
/** Nine tenths of the published limits: clocks differ, and others may use the same account. */
const PER_MINUTE = { uploads: 900, attachCalls: 270, attachedFiles: 1800 };
const REQUEST_TIMEOUT_MS = 120_000;
/** After this, a person rather reads an error than waits on. */
const INTERACTIVE_TIMEOUT_MS = 20_000;

export function connect(options: OpenAiOptions, records: UploadRecords): Connection {
  if (!options.apiKey) throw new BadInputError(`${KEY_NAMES[options.kind]} is missing: the key of the backend.`);
  const clock = options.clock ?? systemClock;
  const network = options.fetch ? { fetch: options.fetch, close: async () => {} } : openNetwork();
  return {
    client: createClient(options, network.fetch),
    calls: createServiceCalls({ clock, apiKey: options.apiKey }),
    interactiveCalls: createServiceCalls({ clock, apiKey: options.apiKey, timeoutMs: INTERACTIVE_TIMEOUT_MS }),
    clock,
    uploads: createLimiter(MAX_UPLOADS_AT_ONCE),
    limits: createLimits(clock),
    unsupported: { search: false, batches: false },
    model: options.model ?? "",
    modelSetting: MODEL_NAMES[options.kind],
    records,
    close: network.close,
  };
}

function createLimits(clock: Clock): Limits {
  const perStore = new Map<VectorStoreId, RateLimiter>();
  return {
    uploads: createRateLimiter(clock, PER_MINUTE.uploads),
    attachedFiles: createRateLimiter(clock, PER_MINUTE.attachedFiles),
    attachCalls(store) {
      const gate = perStore.get(store) ?? createRateLimiter(clock, PER_MINUTE.attachCalls);
      perStore.set(store, gate);
      return gate;
    },
  };
}

/** undici's own fetch instead of Node's, which keeps a whole upload in memory. HTTPS_PROXY and NO_PROXY are honoured. */
function openNetwork(): { fetch: Fetch; close: () => Promise<void> } {
  // The client's own timeout applies; undici's would cut off a slow response earlier.
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
    // The client ignores a Retry-After of more than a minute, so ServiceCalls retries instead.
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

/** Accepts the endpoint with and without the path that follows it. */
export function readAzureEndpoint(text: string | undefined): string {
  if (!text) throw new BadInputError("AZURE_OPENAI_ENDPOINT is missing: the address of the Azure OpenAI resource.");
  return text.replace(/\/+$/, "").replace(/\/openai(\/v1)?$/, "");
}

interface RateLimiter {
  /** Waits until `weight` more fit into the last minute; CancelledError when the signal aborts. */
  acquire(weight: number, what: string, signal?: AbortSignal): Promise<void>;
}

const WINDOW_MS = 60_000;

/**
 * Lets at most `limit` through in any minute. The window slides: it is unknown when the minutes begin that a service counts
 * by.
 */
export function createRateLimiter(clock: Clock, limit: number): RateLimiter {
  const passed: { readonly atMs: number; readonly weight: number }[] = [];
  let used = 0;

  function dropExpired(): void {
    for (let oldest = passed[0]; oldest && oldest.atMs + WINDOW_MS <= clock.now(); oldest = passed[0]) {
      used -= oldest.weight;
      passed.shift();
    }
  }

  return {
    async acquire(weight, what, signal) {
      for (dropExpired(); used + weight > limit; dropExpired()) {
        const oldest = passed[0];
        // More than fits into an empty window passes alone; otherwise it would wait for ever.
        if (!oldest) break;
        await pause(clock, oldest.atMs + WINDOW_MS - clock.now(), what, signal);
      }
      passed.push({ atMs: clock.now(), weight });
      used += weight;
    },
  };
}

interface ServiceCalls {
  /**
   * Runs one request, with retries while the error is transient. Throws CancelledError on abort, ServiceError if the service
   * failed, and any other error (an unreadable file) as it is. `work` may run several times: it must reopen streams, and a
   * try without a response may have taken effect. The signal it is given also aborts at the timeout.
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
  /** A call that takes longer throws the last error of the service. undefined: it waits as long as the service asks. */
  readonly timeoutMs?: number;
}

const RETRIES: RetryLimits = { attempts: 8, firstMs: 500, longestMs: 30_000 };
/** A longer Retry-After is an outage; timers of more than 24 days would even fire at once. */
const LONGEST_WAIT_MS = 24 * 3600 * 1000;

export function createServiceCalls({ clock, apiKey, timeoutMs }: ServiceCallsOptions): ServiceCalls {
  // A Retry-After applies to all calls: concurrent ones wait too instead of being rejected one by one.
  let pausedUntilMs = 0;
  let pausedBy: ServiceError | undefined;
  const longestWaitMs = Math.min(timeoutMs ?? LONGEST_WAIT_MS, LONGEST_WAIT_MS);

  async function waitForPause(what: string, giveUpAtMs: number, signal?: AbortSignal): Promise<void> {
    throwIfCancelled(what, signal);
    while (clock.now() < pausedUntilMs) {
      const waitMs = pausedUntilMs - clock.now();
      if (pausedUntilMs > giveUpAtMs && pausedBy) throw tooLong(pausedBy, waitMs, what);
      await pause(clock, waitMs, what, signal);
    }
  }

  function chooseWait(failure: ServiceError, attempt: number, giveUpAtMs: number): number {
    const waitMs = failure.retryAfterMs ?? jitter(backoffMs(attempt, RETRIES));
    if (failure.retryAfterMs !== undefined && waitMs <= LONGEST_WAIT_MS && clock.now() + waitMs > pausedUntilMs) {
      pausedUntilMs = clock.now() + waitMs;
      pausedBy = failure;
    }
    if (failure.retryAfterMs !== undefined && waitMs > longestWaitMs) throw tooLong(failure, waitMs);
    if (clock.now() + waitMs > giveUpAtMs) throw failure;
    return waitMs;
  }

  async function run<T>(
    what: string,
    work: (attempt: number, signal: AbortSignal | undefined) => Promise<T>,
    signal?: AbortSignal,
  ): Promise<T> {
    const giveUpAtMs = clock.now() + (timeoutMs ?? Number.POSITIVE_INFINITY);
    const late = timeoutMs === undefined ? undefined : AbortSignal.timeout(timeoutMs);
    const until = signal && late ? AbortSignal.any([signal, late]) : (signal ?? late);
    let last: ServiceError | undefined;
    for (let attempt = 1; ; attempt++) {
      await waitForPause(what, giveUpAtMs, signal);
      try {
        return await work(attempt, until);
      } catch (error) {
        if (signal?.aborted) throw new CancelledError(`${what}: cancelled`, { cause: error });
        if (late?.aborted) throw last ?? noResponse(what, timeoutMs ?? 0, error);
        const failure = toServiceError(error, { what, tries: attempt, nowMs: clock.now(), apiKey });
        if (!failure) throw error;
        if (!failure.retryable || attempt >= RETRIES.attempts) throw failure;
        last = failure;
        await pause(clock, chooseWait(failure, attempt, giveUpAtMs), what, signal);
      }
    }
  }

  return { run };
}

/** `what`: given if the error belongs to another call. */
function tooLong(failure: ServiceError, waitMs: number, what?: string): ServiceError {
  const { message, status, cause } = failure;
  const said = what === undefined || message.startsWith(`${what}:`) ? message : `${what}: ${message}`;
  return new ServiceError(`${said}; it asks to come back in ${inWords(waitMs)}`, { status, isFatal: true, cause });
}

function inWords(ms: number): string {
  return ms < 2 * 3_600_000 ? `${Math.ceil(ms / 1000)} seconds` : `${Math.round(ms / 3_600_000)} hours`;
}

function noResponse(what: string, timeoutMs: number, cause: unknown): ServiceError {
  const message = `${what}: no answer from the service within ${Math.round(timeoutMs / 1000)} seconds`;
  return new ServiceError(message, { status: undefined, cause });
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
