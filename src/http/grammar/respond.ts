import type { Context } from "hono";
import { answerPage } from "../pages/answer-page.ts";
import type { Answer, Endpoint, RawAnswer, Taken } from "./endpoint.ts";
import { withKeepAlive } from "./event-stream.ts";
import type { Failure } from "./failure.ts";
import type { Parameters } from "./parameters.ts";

export async function respondAnswer(
  c: Context,
  one: Endpoint,
  result: Answer<unknown>,
  args: Taken<Parameters, Parameters>,
  format: "json" | "html",
): Promise<Response> {
  if (format === "html" && one.html) return c.html(await one.html(result, args));
  const content = one.envelope.answer(result);
  return format === "html" ? c.html(await answerPage(one.path, content)) : c.json(content as object);
}

export async function respondFailure(
  c: Context,
  one: Endpoint,
  failure: Failure,
  format: "json" | "html",
): Promise<Response> {
  const content = one.envelope.failure(failure.message);
  return format === "html"
    ? c.html(await answerPage(one.path, content), failure.status)
    : c.json(content as object, failure.status);
}

/** What is cut by an error is shorter than it was announced, so the client knows. */
export function respondRaw(answer: RawAnswer, method: string, onError: (error: unknown) => void): Response {
  const body = method === "HEAD" ? null : toStream(watched(answer.content, onError));
  return new Response(body, {
    headers: {
      "content-type": answer.mediaType,
      "content-length": String(answer.bytes),
      "content-disposition": `attachment; filename="${answer.fileName.replaceAll(/[^\w.~-]/g, "_")}"`,
    },
  });
}

/** Read as fast as the client takes it, and no faster. */
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
  return new Response(body, {
    headers: {
      "content-type": "text/event-stream; charset=utf-8",
      "cache-control": "no-store",
      "x-accel-buffering": "no",
    },
  });
}
