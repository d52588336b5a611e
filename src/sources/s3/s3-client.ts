import { AwsV4Signer } from "aws4fetch";
import type { XMLParser } from "fast-xml-parser";
import type { Dispatcher } from "undici";
import { isPermanent } from "../../lib/explain-network.ts";
import { decodeEntities } from "../../lib/html-entities.ts";
import { isJsonObject } from "../../lib/json-object.ts";
import { later } from "../../lib/later.ts";
import { createProxyAgent } from "../../lib/proxy-agent.ts";
import { backoffMs, jitter, readRetryAfterMs, STORAGE_RETRIES } from "../../lib/retry.ts";
import { readUpTo } from "../../lib/text.ts";
import { sleep } from "../../lib/time.ts";
import type { AwsCredentials } from "./environment-credentials.ts";

/** An error response of the service; without a status, a network error. Contains no secrets. */
export class S3Failure extends Error {
  override readonly name: string = "S3Failure";
  readonly status: number | undefined;
  /** `NoSuchBucket`, `ENOTFOUND`; "" if there is none. */
  readonly code: string;
  /** The bucket's region, if the request went to another one. */
  readonly region: string;
  readonly retryAfterMs: number | undefined;
  constructor(status: number | undefined, code: string, { region = "", retryAfterMs }: FailureHints = {}) {
    super(`S3: ${[status, code].filter(Boolean).join(" ")}`);
    this.status = status;
    this.code = code;
    this.region = region;
    this.retryAfterMs = retryAfterMs;
  }
}

interface FailureHints {
  readonly region?: string;
  readonly retryAfterMs?: number | undefined;
}

interface S3ClientOptions {
  readonly region: string;
  /** Returns credentials for each request; without it, requests are not signed. */
  readonly credentials?: (() => Promise<AwsCredentials>) | undefined;
  readonly timing?: S3Timing | undefined;
}

/** Replaces waiting times, for tests. */
export interface S3Timing {
  readonly wait?: (ms: number, signal: AbortSignal) => Promise<void>;
  readonly idleMs?: number;
}

export type S3Response = Pick<Dispatcher.ResponseData, "statusCode" | "headers" | "body">;

export interface S3Client {
  /** Sends a GET request. Retries transient failures, also those of `consume`. Throws S3Failure, or the signal's reason. */
  get<T>(request: S3Request, signal: AbortSignal, consume: (response: S3Response) => Promise<T>): Promise<T>;
}

interface S3Request {
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** A longer Retry-After is not waited for. */
const MAX_WAIT_MS = 5 * 60_000;
const IDLE_MS = 60_000;
const CONNECT_MS = 10_000;
const MAX_ERROR_BYTES = 64 * 1024;
const TRANSIENT_CODE = /^(SlowDown|InternalError|ServiceUnavailable|RequestTimeout|Throttling|ThrottlingException)$/;

let shared: Dispatcher | undefined;

export function createS3Client({ region, credentials, timing = {} }: S3ClientOptions): S3Client {
  const { wait = sleep, idleMs = IDLE_MS } = timing;
  // Over HTTP/1.1 a cut body is always recognisable by its length or its last chunk.
  shared ??= createProxyAgent({ connectTimeout: CONNECT_MS, allowH2: false });
  const agent = shared;
  const signingKeys = new Map<string, ArrayBuffer>();

  async function sign({ url, headers = {} }: S3Request): Promise<Readonly<Record<string, string>>> {
    if (!credentials) return headers;
    const { accessKeyId, secretAccessKey, sessionToken } = await credentials();
    const keys = { accessKeyId, secretAccessKey, ...(sessionToken && { sessionToken }) };
    const signer = new AwsV4Signer({ url, headers, ...keys, service: "s3", region, cache: signingKeys });
    return Object.fromEntries((await signer.sign()).headers);
  }

  async function attempt<T>(
    request: S3Request,
    signal: AbortSignal,
    consume: (response: S3Response) => Promise<T>,
  ): Promise<T> {
    const headers = await sign(request);
    const { origin, pathname, search } = new URL(request.url);
    try {
      const timeouts = { headersTimeout: idleMs, bodyTimeout: idleMs };
      const path = `${pathname}${search}`;
      const response = await agent.request({ origin, path, method: "GET", headers, signal, ...timeouts });
      if (response.statusCode < 200 || response.statusCode > 299) throw await readFailure(response);
      return await consume(response);
    } catch (error) {
      signal.throwIfAborted();
      throw error instanceof S3Failure || !isNetworkError(error) ? error : new S3Failure(undefined, error.code);
    }
  }

  return {
    async get(request, signal, consume) {
      for (let tries = 1; ; tries++) {
        signal.throwIfAborted();
        try {
          return await attempt(request, signal, consume);
        } catch (error) {
          if (!(error instanceof S3Failure) || !isTransient(error) || tries === STORAGE_RETRIES.attempts) throw error;
          const waitMs = error.retryAfterMs ?? jitter(backoffMs(tries, STORAGE_RETRIES));
          if (waitMs > MAX_WAIT_MS) throw error;
          await wait(waitMs, signal);
        }
      }
    },
  };
}

function isTransient({ status, code }: S3Failure): boolean {
  if (status === undefined) return !isPermanent(code);
  return TRANSIENT_CODE.test(code) || status === 408 || status === 429 || (status >= 500 && status !== 501);
}

function isNetworkError(error: unknown): error is Error & { readonly code: string } {
  return error instanceof Error && "code" in error && typeof error.code === "string";
}

async function readFailure({ statusCode, headers, body }: S3Response): Promise<S3Failure> {
  const error = parseXml((await readText(body, MAX_ERROR_BYTES).catch(() => undefined)) ?? "")?.["Error"];
  const details = isJsonObject(error) ? error : {};
  const region = headers["x-amz-bucket-region"] ?? details["Region"];
  return new S3Failure(statusCode, wordIn(details["Code"]), {
    region: wordIn(region),
    retryAfterMs: readRetryAfterMs(headers),
  });
}

/** Returns text only if it looks like a code: messages of a server could contain anything. */
function wordIn(value: unknown): string {
  return typeof value === "string" && /^[\w-]{1,64}$/.test(value) ? value : "";
}

/** Returns undefined if the body is longer than `maxBytes`. */
export async function readText(body: AsyncIterable<Uint8Array>, maxBytes: number): Promise<string | undefined> {
  return (await readUpTo(body, maxBytes))?.toString();
}

const xml = later<typeof import("fast-xml-parser")>("fast-xml-parser");
/** Created for the first response. */
let reader: XMLParser | undefined;

function readXml(text: string): unknown {
  reader ??= new (xml().XMLParser)({
    parseTagValue: false,
    trimValues: false,
    // Some services write quotes as numeric entities, which the parser does not decode.
    processEntities: false,
    tagValueProcessor: (_name, text) => decodeEntities(text),
    isArray: (name) => name === "Contents",
  });
  return reader.parse(text, true);
}

/** Returns undefined if it is no XML. */
export function parseXml(text: string): Record<string, unknown> | undefined {
  try {
    const parsed = readXml(text);
    return isJsonObject(parsed) ? parsed : undefined;
  } catch {
    return undefined;
  }
}
