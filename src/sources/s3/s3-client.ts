import { AwsV4Signer } from "aws4fetch";
import type { XMLParser } from "fast-xml-parser";
import type { Dispatcher } from "undici";
import { decodeEntities } from "../../lib/html-entities.ts";
import { isJsonObject } from "../../lib/json-object.ts";
import { later } from "../../lib/later.ts";
import { createProxyAgent } from "../../lib/proxy-agent.ts";
import { backoffMs, jitter, readRetryAfterMs, STORAGE_RETRIES } from "../../lib/retry.ts";
import { sleep } from "../../lib/time.ts";
import type { AwsCredentials } from "./environment-credentials.ts";

/** What the service said instead of what was asked for; without a status, why it said nothing. Holds nothing that could be a secret. */
export class S3Failure extends Error {
  override readonly name: string = "S3Failure";
  readonly status: number | undefined;
  /** `NoSuchBucket`, `ENOTFOUND`; "" when there is none. */
  readonly code: string;
  /** Where the bucket is, when that is what was wrong. */
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
  /** What requests are signed with, anew for each; none: they are not. */
  readonly credentials?: (() => Promise<AwsCredentials>) | undefined;
  readonly timing?: S3Timing | undefined;
}

/** How the service is waited for, where the usual patience does not fit: tests have none. */
export interface S3Timing {
  readonly wait?: (ms: number, signal: AbortSignal) => Promise<void>;
  readonly idleMs?: number;
}

export type S3Response = Pick<Dispatcher.ResponseData, "statusCode" | "headers" | "body">;

export interface S3Client {
  /**
   * GETs an address. Failures that may pass are tried again, those of `take` among them. Throws S3Failure, or
   * what the signal was aborted with.
   */
  get<T>(request: S3Request, signal: AbortSignal, consume: (response: S3Response) => Promise<T>): Promise<T>;
}

interface S3Request {
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** A service that wants to be left alone for longer is not waited for. */
const MAX_WAIT_MS = 5 * 60_000;
const IDLE_MS = 60_000;
const CONNECT_MS = 10_000;
const MAX_ERROR_BYTES = 64 * 1024;
const TRANSIENT_CODE = /^(SlowDown|InternalError|ServiceUnavailable|RequestTimeout|Throttling|ThrottlingException)$/;
const PERMANENT_ERRNO = /^(ENOTFOUND$|CERT_|ERR_TLS_|SELF_SIGNED|DEPTH_ZERO|UNABLE_TO_)/;

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
  if (status === undefined) return !PERMANENT_ERRNO.test(code);
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

/** Only what looks like a name is repeated: whatever else a server says could be anything. */
function wordIn(value: unknown): string {
  return typeof value === "string" && /^[\w-]{1,64}$/.test(value) ? value : "";
}

/** undefined when there is more. */
export async function readText(body: AsyncIterable<Uint8Array>, maxBytes: number): Promise<string | undefined> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.byteLength;
    if (bytes > maxBytes) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}

const xml = later<typeof import("fast-xml-parser")>("fast-xml-parser");
/** Made for the first answer. */
let reader: XMLParser | undefined;

function readXml(text: string): unknown {
  reader ??= new (xml().XMLParser)({
    parseTagValue: false,
    trimValues: false,
    // Some services write quotes as numbers, which the parser leaves as they are.
    processEntities: false,
    tagValueProcessor: (_name, text) => decodeEntities(text),
    isArray: (name) => name === "Contents",
  });
  return reader.parse(text, true);
}

/** undefined for what is no XML. */
export function parseXml(text: string): Record<string, unknown> | undefined {
  try {
    const parsed = readXml(text);
    return isJsonObject(parsed) ? parsed : undefined;
  } catch {
    return undefined;
  }
}
