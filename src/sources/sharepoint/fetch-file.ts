import { RemoteError } from "../../contracts/errors.ts";
import type { Fetched, ItemRef } from "../../contracts/source.ts";
import { firstValue, TransientFailure, transportFailure } from "./http.ts";
import { GUID } from "./library-codec.ts";
import { type CallContext, type RestClient, SharePointError, type StreamedResponse } from "./rest-client.ts";
import type { SiteAddress } from "./site-url.ts";

/** Fetches by id, not by path: a file that was renamed or moved since the listing is still found. */
export async function fetchFile(
  rest: RestClient,
  site: SiteAddress,
  item: ItemRef,
  call: CallContext,
): Promise<Fetched> {
  return await fetchFrom(`${fileUrl(site, item)}/$value`, rest, item, call);
}

export function fileUrl(site: SiteAddress, item: ItemRef): string {
  if (!GUID.test(item.itemId)) throw new RemoteError(`download '${item.path}': '${item.itemId}' is no SharePoint id`);
  return `${site.api}web/GetFileById('${item.itemId}')`;
}

interface ExpectedVersion {
  /** Fetch only this version; "" for any. */
  readonly etag: string;
  /** Called when it is another version, or an unknown one. Without it, another version is an error. */
  onMismatch?(): Promise<Fetched>;
}

/** Fetches from the given URL. */
export async function fetchFrom(
  url: string,
  rest: RestClient,
  item: ItemRef,
  call: CallContext,
  { etag, onMismatch }: ExpectedVersion = { etag: "" },
): Promise<Fetched> {
  try {
    const response = await rest.open(url, call);
    refuseWebPage(response, item);
    const [expectedVersion, receivedVersion] = [etagVersion(etag), etagVersion(firstValue(response.headers["etag"]))];
    if (expectedVersion !== receivedVersion && expectedVersion !== "" && (receivedVersion !== "" || onMismatch)) {
      response.body.once("error", () => undefined).destroy();
      if (onMismatch) return await onMismatch();
      throw new RemoteError("it was changed at this moment");
    }
    const requestRange = (range: Record<string, string>): Promise<StreamedResponse> => rest.open(url, call, range);
    return {
      status: "fetched",
      body: completeBody(response, item, { idleMs: rest.idleMs, signal: call.signal, requestRange }),
    };
  } catch (error) {
    const outcome = expectedOutcome(error);
    if (outcome) return outcome;
    throw downloadFailure(error, item);
  }
}

/** Prefixes the error with the file, once. */
export function downloadFailure(error: unknown, { path }: ItemRef): unknown {
  const needsPrefix = error instanceof RemoteError && !error.message.startsWith("download ");
  return needsPrefix ? new RemoteError(`download '${path}': ${error.message}`, { cause: error }) : error;
}

/** Throws for a sign-in or error page that comes with status 200 instead of the file. */
function refuseWebPage({ body, headers }: StreamedResponse, item: ItemRef): void {
  const type = firstValue(headers["content-type"]) ?? "";
  if (!/^text\/html\b/i.test(type) || /\.(html?|aspx?|xhtml)$/i.test(item.name)) return;
  body.once("error", () => undefined).destroy();
  throw new RemoteError("SharePoint answered with a web page instead of the file");
}

/** The 3 of `"{GUID},3"`; "" for anything else. */
export function etagVersion(etag: string): string {
  return /^"\{[^}]*\},(\d+)"$/.exec(etag)?.[1] ?? "";
}

export function expectedOutcome(error: unknown): Fetched | undefined {
  if (!(error instanceof SharePointError)) return undefined;
  // A 404 without SharePoint's own error in it may be about the whole site, so it does not mean that this file is gone.
  if (error.status === 404 && error.exception) return { status: "gone" };
  if (error.status === 403) return { status: "refused", reason: `access denied: ${error.message}` };
  if (error.status === 423) return { status: "refused", reason: `locked: ${error.message}` };
  return undefined;
}

interface BodyOptions {
  readonly idleMs: number;
  readonly signal: AbortSignal;
  /** Repeats the request with these headers. */
  requestRange(range: Record<string, string>): Promise<StreamedResponse>;
}

/** How often an interrupted body is resumed; then the whole file is retried later. */
const MAX_RESUMES = 5;

/**
 * Ends normally only after the last byte. A body that is not read is dropped after the idle time, because it
 * holds a slot that other downloads wait for. An interrupted body is resumed if the server tells its version.
 */
function completeBody(response: StreamedResponse, item: ItemRef, options: BodyOptions): AsyncIterable<Uint8Array> {
  const { body, headers } = response;
  const expected = declaredLength(headers);
  const etag = firstValue(headers["etag"]);
  const unread = setTimeout(() => body.destroy(new Error("the body was not read in time")), options.idleMs);
  // Without a listener, an error before the first read would end the process. The reader still gets it.
  body.once("error", () => clearTimeout(unread));
  body.once("close", () => clearTimeout(unread));

  async function* read(): AsyncGenerator<Uint8Array> {
    clearTimeout(unread);
    let received = 0;
    let part: StreamedResponse = response;
    for (let resumed = 0; ; resumed += 1) {
      const before = received;
      try {
        for await (const piece of skipping(part.body, part === response || part.status === 206 ? 0 : received)) {
          received += piece.byteLength;
          yield piece;
        }
        break;
      } catch (error) {
        const failure = transportFailure("", error, options.signal);
        const isWorthIt = failure instanceof TransientFailure && received > 0 && (received > before || resumed === 0);
        if (!isWorthIt || typeof expected !== "number" || !STRONG_ETAG.test(etag) || resumed >= MAX_RESUMES) {
          throw interruptedError(error, failure, item, received);
        }
      }
      part = await resume(item, { received, etag, total: expected }, options);
    }
    if (expected === "chunked" || received === expected) return;
    const promised = expected === undefined ? "no length" : `${expected} bytes`;
    throw new RemoteError(`download '${item.path}': ${received} bytes received, the server announced ${promised}`);
  }
  return read();
}

/** Weak ETags do not guarantee identical bytes. */
const STRONG_ETAG = /^"[^"]+"$/;

function interruptedError(error: unknown, failure: Error, { path }: ItemRef, received: number): RemoteError {
  const reason = failure instanceof TransientFailure ? failure.error : failure;
  const text = `download '${path}': broke off after ${received} bytes: ${reason.message}`;
  return new RemoteError(text, { cause: error });
}

interface Progress {
  readonly received: number;
  readonly etag: string;
  readonly total: number;
}

/** Requests the rest of the same version; a server without ranges sends all of it. Throws when it is another version now. */
async function resume(
  item: ItemRef,
  { received, etag, total }: Progress,
  { requestRange }: BodyOptions,
): Promise<StreamedResponse> {
  let response: StreamedResponse;
  try {
    response = await requestRange({ range: `bytes=${received}-`, "if-range": etag });
  } catch (error) {
    throw downloadFailure(error, item);
  }
  const { status, headers, body } = response;
  const isSame = firstValue(headers["etag"]) === etag;
  const fits = status === 206 ? firstValue(headers["content-range"]).startsWith(`bytes ${received}-`) : isSame;
  if (fits && (isSame || firstValue(headers["etag"]) === "") && (status === 206 || declaredLength(headers) === total))
    return response;
  body.once("error", () => undefined).destroy();
  throw new RemoteError(
    `download '${item.path}': broke off after ${received} bytes, and was changed before it could go on`,
  );
}

/** Skips the first bytes of the body. */
async function* skipping(body: AsyncIterable<Uint8Array>, bytes: number): AsyncGenerator<Uint8Array> {
  let left = bytes;
  for await (const piece of body) {
    const rest = piece.subarray(Math.min(left, piece.byteLength));
    left -= piece.byteLength - rest.byteLength;
    if (rest.byteLength > 0) yield rest;
  }
}

/** Returns undefined when the end of the body cannot be told from a broken connection. */
function declaredLength(headers: StreamedResponse["headers"]): number | "chunked" | undefined {
  const length = firstValue(headers["content-length"]);
  if (/^\d+$/.test(length)) return Number(length);
  return /\bchunked\b/i.test(firstValue(headers["transfer-encoding"])) ? "chunked" : undefined;
}
