import type { Context } from "hono";
import { answerPage } from "../pages/answer-page.ts";
import type { Answer, Endpoint, Taken } from "./endpoint.ts";
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
