import type { Context } from "hono";
import { answerPage } from "../pages/answer-page.ts";
import type { Frame } from "../pages/layout.ts";
import type { Answer, Endpoint, EndpointArguments, RawAnswer } from "./endpoint.ts";
import type { Failure } from "./failure.ts";
import type { Parameters } from "./parameters.ts";

export async function respondAnswer(
  c: Context,
  one: Endpoint,
  result: Answer<unknown>,
  args: EndpointArguments<Parameters, Parameters>,
  { format, frame }: Rendered,
): Promise<Response> {
  const rendering = format === "ui" ? one.ui : format === "html" ? one.html : undefined;
  if (rendering) return c.html(await rendering(result, args, frame));
  const content = one.envelope.answer(result);
  return format === "json"
    ? c.json(content as object, result.later ? 202 : 200)
    : c.html(await answerPage(one.path, content, frame, { hasChanged: one.changes !== null }));
}

/** A format that is sent at once, and the frame of its page. */
export interface Rendered {
  readonly format: "json" | "html" | "ui";
  readonly frame: Frame;
}

export async function respondFailure(
  c: Context,
  one: Endpoint,
  failure: Failure,
  { format, frame }: Rendered,
): Promise<Response> {
  const content = one.envelope.failure(failure.message);
  if (failure.status === 429) c.header("retry-after", "1");
  return format === "json"
    ? c.json(content as object, failure.status)
    : c.html(await answerPage(one.path, content, frame), failure.status);
}

/** An error in the middle ends the body before its content-length, so the client notices. */
export function respondRaw(answer: RawAnswer, method: string, onError: (error: unknown) => void): Response {
  const body = method === "HEAD" ? null : toStream(watched(answer.content, onError));
  return new Response(body, {
    headers: {
      "content-type": answer.mediaType,
      ...(answer.bytes === undefined ? {} : { "content-length": String(answer.bytes) }),
      ...(answer.lasting ? { "cache-control": "private, max-age=31536000, immutable" } : {}),
      "content-disposition": `attachment; filename="${answer.fileName.replaceAll(/[^\w.~-]/g, "_")}"`,
    },
  });
}

/** Reads only as fast as the client does. */
function toStream(content: AsyncGenerator<Uint8Array, void>): ReadableStream<Uint8Array> {
  return new ReadableStream({
    async pull(controller) {
      const step = await content.next();
      if (step.done) controller.close();
      else controller.enqueue(step.value);
    },
    async cancel() {
      await content.return();
    },
  });
}

async function* watched(
  content: AsyncIterable<Uint8Array>,
  onError: (error: unknown) => void,
): AsyncGenerator<Uint8Array, void> {
  try {
    yield* content;
  } catch (error) {
    onError(error);
    throw error;
  }
}

/** null: 204, which tells an EventSource to stop reconnecting. */
export function respondStream(
  events: AsyncIterable<Uint8Array> | null,
  about: string,
  options: { readonly keepAliveMs: number; readonly logError: (about: string, error: unknown) => void },
  gone: AbortController,
): Response {
  if (events === null) return new Response(null, { status: 204 });
  const body = withKeepAlive(events, {
    intervalMs: options.keepAliveMs,
    onCancel: () => gone.abort(),
    onError: (error) => options.logError(about, error),
  });
  return new Response(body, { headers: STREAM_HEADERS });
}

const STREAM_HEADERS = {
  "content-type": "text/event-stream; charset=utf-8",
  "cache-control": "no-store",
  "x-accel-buffering": "no",
};

/** The answer to HEAD: a stream opened for it would have no reader for as long as the job runs. */
export function respondStreamHead(): Response {
  return new Response(null, { headers: STREAM_HEADERS });
}

const KEEP_ALIVE = new TextEncoder().encode(": keep-alive\n\n");
const EVENT_END = "\n\n";

export const KEEP_ALIVE_MS = 15_000;

export interface EventStreamOptions {
  readonly intervalMs: number;
  /** The client disconnected: stop producing. The job goes on. */
  readonly onCancel: () => void;
  readonly onError: (error: unknown) => void;
}

/**
 * Passes bytes on, with a comment after a while of silence so that proxies keep the connection. A comment never lands inside an
 * event, nor before the first: a stream begins with its `start_json`.
 */
function withKeepAlive(events: AsyncIterable<Uint8Array>, options: EventStreamOptions): ReadableStream<Uint8Array> {
  const iterator = events[Symbol.asyncIterator]();
  let timer: NodeJS.Timeout | undefined;
  let tail = "";
  let open = true;
  const end = (): void => {
    open = false;
    clearInterval(timer);
  };
  const waitForSilence = (controller: ReadableStreamDefaultController<Uint8Array>): void => {
    clearInterval(timer);
    timer = setInterval(() => {
      if (tail === EVENT_END) controller.enqueue(KEEP_ALIVE);
    }, options.intervalMs);
  };
  return new ReadableStream<Uint8Array>({
    start: waitForSilence,
    async pull(controller) {
      try {
        const next = await iterator.next();
        if (!open) return;
        if (next.done) {
          end();
          controller.close();
          return;
        }
        tail = (tail + String.fromCharCode(...next.value.subarray(-2))).slice(-2);
        controller.enqueue(next.value);
        waitForSilence(controller);
      } catch (error) {
        end();
        options.onError(error);
        controller.error(error);
      }
    },
    async cancel() {
      end();
      options.onCancel();
      await iterator.return?.();
    },
  });
}
