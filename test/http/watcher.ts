import { createHash } from "node:crypto";
import { get, type IncomingMessage } from "node:http";

/** Somebody who watches a job over a connection of their own. */
export interface Watcher {
  /** Resolves with the first bytes: the server has this watcher now. */
  readonly attached: Promise<void>;
  /** The hash of all that came, at the end of the stream. */
  readonly ended: Promise<string>;
  /** Stops reading. What the server goes on sending fills the connection, and then no more. */
  stopReading(): void;
  readOn(): void;
  leave(): void;
}

/** Rejects `ended` when the connection breaks before the stream has ended. */
export function watch(url: string, headers: Readonly<Record<string, string>> = {}): Watcher {
  const hash = createHash("sha256");
  const attached = Promise.withResolvers<void>();
  const ended = Promise.withResolvers<string>();
  let response: IncomingMessage | undefined;
  const request = get(url, { headers, agent: false }, (answer) => {
    response = answer;
    if (answer.statusCode !== 200) ended.reject(new Error(`watch ${url}: ${answer.statusCode}`));
    answer.on("data", (chunk: Buffer) => {
      hash.update(chunk);
      attached.resolve();
    });
    answer.on("end", () => ended.resolve(hash.digest("hex")));
    answer.on("error", (error) => ended.reject(error));
  });
  request.on("error", (error) => ended.reject(error));
  ended.promise.catch((error: unknown) => attached.reject(error));
  return {
    attached: attached.promise,
    ended: ended.promise,
    stopReading: () => void response?.pause(),
    readOn: () => void response?.resume(),
    leave: () => void request.destroy(),
  };
}

export function hashOf(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}
