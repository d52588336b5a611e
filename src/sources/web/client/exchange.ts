import type { Dispatcher } from "undici";
import { CancelledError, explain } from "../../../contracts/errors.ts";
import { BodyError, type WebResponse } from "../../../contracts/web.ts";
import { readHeaders } from "./read-headers.ts";
import { notWhole, readCodings, tooLarge, unpackBody } from "./unpack-body.ts";

export interface Order {
  readonly url: URL;
  readonly method: "GET" | "HEAD";
  readonly headers: Readonly<Record<string, string>>;
  readonly maxBytes: number;
  readonly excess: "refused" | "cut off";
  /** For the connection and the headers, and then between two pieces of the body. */
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  /** Hears what is in `Set-Cookie`. */
  readonly onCookies?: ((fields: readonly string[]) => void) | undefined;
  /** Called once, when nothing more is under way, however it ended. */
  readonly onOver: () => void;
}

/** A body that brings less than this each second, over its whole time, only keeps the line busy. */
const MIN_BYTES_PER_SECOND = 16 * 1024;
/** Kept before anybody asks for the body; small pages need no second look at the socket. */
const EAGER_BYTES = 64 * 1024;
/** A rest as small as this is read to keep the connection; for more a new one is cheaper. */
const DRAIN_BYTES = 64 * 1024;

/** One request on the wire. Rejects when no answer begins; what happens to the body is told by `body()`. */
export function exchange(line: Dispatcher, order: Order): Promise<WebResponse> {
  return new Promise((resolve, reject) => {
    const handler = new Exchange(order, resolve, reject);
    const { url, method, headers } = order;
    line.dispatch({ origin: url.origin, path: `${url.pathname}${url.search}`, method, headers }, handler);
  });
}

class Exchange implements Dispatcher.DispatchHandler, WebResponse {
  readonly kind = "response";
  status = 0;
  headers: ReadonlyMap<string, string> = new Map();
  readonly #order: Order;
  readonly #resolve: (response: WebResponse) => void;
  readonly #reject: (error: unknown) => void;
  readonly #onAbort = (): void => this.#stop(new CancelledError("the request was cancelled"));
  #controller: Dispatcher.DispatchController | undefined;
  #timer: NodeJS.Timeout;
  #startedAt = performance.now();
  #heardAt = this.#startedAt;
  #pieces: Uint8Array[] = [];
  #received = 0;
  #use: "none" | "read" | "discarded" = "none";
  #end: { readonly error?: unknown } | undefined;
  #told: (() => void) | undefined;

  constructor(order: Order, resolve: (response: WebResponse) => void, reject: (error: unknown) => void) {
    this.#order = order;
    this.#resolve = resolve;
    this.#reject = reject;
    this.#timer = setTimeout(() => this.#checkPace(), order.timeoutMs);
    order.signal.addEventListener("abort", this.#onAbort, { once: true });
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#end) controller.abort(new CancelledError("the request was cancelled"));
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: Record<string, string | string[] | undefined>,
  ): void {
    if (status < 200 || this.#end) return;
    this.status = status;
    this.headers = readHeaders(headers);
    const cookies = headers["set-cookie"];
    if (cookies) this.#order.onCookies?.([cookies].flat());
    this.#startedAt = this.#heardAt = performance.now();
    this.#resolve(this);
  }

  onResponseData(controller: Dispatcher.DispatchController, piece: Uint8Array): void {
    this.#received += piece.byteLength;
    this.#heardAt = performance.now();
    if (this.#use === "discarded") {
      if (this.#received > DRAIN_BYTES) this.#stop(undefined);
      return;
    }
    const excess = this.#received - this.#order.maxBytes;
    if (excess > 0 && !this.#isCutOff) {
      this.#stop(tooLarge(this.#order.maxBytes));
      return;
    }
    this.#pieces.push(excess > 0 ? piece.subarray(0, -excess) : piece);
    if (excess > 0) this.#stop(undefined);
    else if (this.#use === "none" && this.#received > EAGER_BYTES) controller.pause();
  }

  onResponseEnd(): void {
    this.#finish({});
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.#finish({ error });
  }

  async body(): Promise<Uint8Array> {
    if (this.#use !== "none") throw new Error("the body was taken already");
    this.#use = "read";
    if (!this.#end) {
      this.#controller?.resume();
      await new Promise<void>((told) => {
        this.#told = told;
      });
    }
    const pieces = this.#pieces;
    this.#pieces = [];
    try {
      if (this.#end?.error) throw this.#end.error;
      const [only] = pieces;
      const packed = pieces.length === 1 && only ? only : Buffer.concat(pieces);
      const codings = readCodings(this.headers.get("content-encoding"));
      if (!codings) throw new BodyError("it is packed in a way that cannot be unpacked here", "broken");
      return codings.length === 0 ? packed : await unpackBody(packed, codings, this.#order.maxBytes);
    } catch (error) {
      throw this.#bodyFailure(error);
    }
  }

  async cancel(): Promise<void> {
    if (this.#end || this.#use === "read") return;
    this.#use = "discarded";
    this.#pieces = [];
    if (Number(this.headers.get("content-length") ?? 0) > DRAIN_BYTES) this.#stop(undefined);
    else this.#controller?.resume();
  }

  /** The beginning of packed bytes may not unpack to anything. */
  get #isCutOff(): boolean {
    return this.#order.excess === "cut off" && readCodings(this.headers.get("content-encoding"))?.length === 0;
  }

  #bodyFailure(error: unknown): Error {
    if (error instanceof CancelledError) return error;
    const cause = error instanceof BodyError ? error : notWhole(error);
    const { origin, pathname } = this.#order.url;
    return new BodyError(`read ${origin}${pathname}: ${explain(cause)}`, cause.why, { cause: error });
  }

  #checkPace(): void {
    const { timeoutMs } = this.#order;
    const paceMs = timeoutMs + (this.#received / MIN_BYTES_PER_SECOND) * 1000;
    const leftMs = Math.min(this.#heardAt + timeoutMs, this.#startedAt + paceMs) - performance.now();
    if (leftMs > 0) this.#timer = setTimeout(() => this.#checkPace(), Math.ceil(leftMs));
    else this.#stop(new Error(this.status === 0 ? "no answer within the time limit" : "it took too long"));
  }

  /** Breaks the connection off: what else would come is not wanted. */
  #stop(error: Error | undefined): void {
    this.#finish(error ? { error } : {});
    this.#controller?.abort(error ?? new CancelledError("the rest is not wanted"));
  }

  #finish(end: { readonly error?: unknown }): void {
    if (this.#end) return;
    this.#end = end;
    clearTimeout(this.#timer);
    this.#order.signal.removeEventListener("abort", this.#onAbort);
    this.#order.onOver();
    if (this.status === 0) this.#reject(end.error);
    else this.#told?.();
  }
}
