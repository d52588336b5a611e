import OpenAI, { AzureOpenAI, type ClientOptions } from "openai";
import { EnvHttpProxyAgent, fetch as undiciFetch } from "undici";
import { BadInputError } from "../../contracts/errors.ts";
import { type Clock, systemClock } from "./clock.ts";
import { createServiceCalls, type ServiceCalls } from "./service-calls.ts";
import { createSlots, type Slots } from "./slots.ts";

export interface OpenAiOptions {
  readonly kind: "openai" | "azure_openai";
  readonly apiKey: string;
  /** OpenAI: the address up to `/v1`. Azure: the resource's endpoint. */
  readonly baseUrl?: string;
  readonly organization?: string;
  /** Azure: a dated API version; without one the undated v1 address is used. */
  readonly apiVersion?: string;
  /** Replaces the network, for a server in the same process. */
  readonly fetch?: Fetch;
  readonly clock?: Clock;
}

type Fetch = NonNullable<ClientOptions["fetch"]>;

/** The way to the service, shared by all indexes of a backend. */
export interface Connection {
  readonly client: OpenAI;
  readonly calls: ServiceCalls;
  readonly clock: Clock;
  /** Files on their way in: from the first byte sent until the service is done with them. */
  readonly additions: Slots;
  close(): Promise<void>;
}

const KEY_NAMES = { openai: "OPENAI_API_KEY", azure_openai: "AZURE_OPENAI_API_KEY" };
const MAX_ADDITIONS = 4;
const REQUEST_TIMEOUT_MS = 120_000;

export function connect(options: OpenAiOptions): Connection {
  if (!options.apiKey) throw new BadInputError(`${KEY_NAMES[options.kind]} is missing: the key of the backend.`);
  const clock = options.clock ?? systemClock;
  const network = options.fetch ? { fetch: options.fetch, close: async () => {} } : openNetwork();
  return {
    client: createClient(options, network.fetch),
    calls: createServiceCalls({ clock, apiKey: options.apiKey }),
    clock,
    additions: createSlots(MAX_ADDITIONS),
    close: network.close,
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
  if (options.apiVersion) {
    return new AzureOpenAI({ ...settings, baseURL: `${endpoint}/openai`, apiVersion: options.apiVersion });
  }
  return new OpenAI({
    ...settings,
    baseURL: `${endpoint}/openai/v1/`,
    defaultHeaders: { "api-key": options.apiKey, Authorization: null },
  });
}

/** People copy the endpoint with and without the path that follows it. */
function readAzureEndpoint(text: string | undefined): string {
  if (!text) throw new BadInputError("AZURE_OPENAI_ENDPOINT is missing: the address of the Azure OpenAI resource.");
  return text.replace(/\/+$/, "").replace(/\/openai(\/v1)?$/, "");
}
