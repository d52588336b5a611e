const KEEP_ALIVE = new TextEncoder().encode(": keep-alive\n\n");
const EVENT_END = "\n\n";

export const KEEP_ALIVE_MS = 15_000;

export interface EventStreamOptions {
  readonly intervalMs: number;
  /** The client went away: stop producing. Whatever the events tell of goes on. */
  readonly onCancel: () => void;
  readonly onError: (error: unknown) => void;
}

/**
 * The bytes as they come, with a comment when nothing came for a while, so that proxies do not take silence for death.
 * A comment never lands inside an event, nor before the first: a stream begins with its `start_json`.
 */
export function withKeepAlive(
  events: AsyncIterable<Uint8Array>,
  options: EventStreamOptions,
): ReadableStream<Uint8Array> {
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
