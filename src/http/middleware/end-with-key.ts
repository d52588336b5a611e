import type { MiddlewareHandler } from "hono";
import type { Access } from "../../security/access.ts";
import type { HttpEnv } from "../http-env.ts";

const CHECK_EVERY_MS = 1000;
const CLOSING_COMMENT = new TextEncoder().encode(
  "\n\n: The key that opened this stream was removed, or has expired.\n\n",
);

/** Ends an event stream when its key is removed or expires, whichever process removed it. Streams may last for days. */
export function endWithKey(access: Pick<Access, "isCurrent">): MiddlewareHandler<HttpEnv> {
  return async (c, next) => {
    await next();
    const principal = c.get("principal");
    const isStream = /^text\/event-stream/i.test(c.res.headers.get("content-type") ?? "");
    if (!isStream || c.res.body === null || principal?.kind !== "key") return;
    c.res = new Response(
      until(c.res.body, () => access.isCurrent(principal)),
      c.res,
    );
  };
}

function until(body: ReadableStream<Uint8Array>, isCurrent: () => Promise<boolean>): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  let timer: NodeJS.Timeout | undefined;
  let isOver = false;
  const finish = (): void => {
    isOver = true;
    clearTimeout(timer);
  };
  const checkLater = (controller: ReadableStreamDefaultController<Uint8Array>): void => {
    timer = setTimeout(() => check(controller).catch(() => undefined), CHECK_EVERY_MS);
    timer.unref();
  };
  const check = async (controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> => {
    // If the keys cannot be read now, the next check will read them; meanwhile no new request is accepted.
    const stays = await isCurrent().catch(() => true);
    // The stream may have ended, or the client disconnected, meanwhile.
    if (isOver) return;
    if (stays) return checkLater(controller);
    finish();
    controller.enqueue(CLOSING_COMMENT);
    controller.close();
    await reader.cancel();
  };
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        // No checks before the first read.
        if (timer === undefined) checkLater(controller);
        try {
          const { done, value } = await reader.read();
          if (isOver) return;
          if (!done) return controller.enqueue(value);
          finish();
          controller.close();
        } catch (error) {
          finish();
          controller.error(error);
        }
      },
      async cancel(reason) {
        finish();
        await reader.cancel(reason);
      },
    },
    { highWaterMark: 0 },
  );
}
