import OpenAI, { AzureOpenAI, type ClientOptions } from "openai";
import { EnvHttpProxyAgent, fetch as undiciFetch } from "undici";
import { BadInputError } from "../../contracts/errors.ts";
import type { VectorStoreId } from "../../contracts/ids.ts";
import type { UploadJournals } from "../../contracts/uploads.ts";
import { type Clock, systemClock } from "./clock.ts";
import { createRateGate, type RateGate } from "./rate-gate.ts";
import { createServiceCalls, type ServiceCalls } from "./service-calls.ts";
import { createSlots, type Slots } from "./slots.ts";

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
export interface Limits {
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
  const dispatcher = new EnvHttpProxyAgent({ headersTimeout: 0, bodyTimeout: REQUEST_TIMEOUT_MS });
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
