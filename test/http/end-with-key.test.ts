// A stream ends soon after its key was removed, once and cleanly.
import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { Hono } from "hono";
import type { HttpEnv } from "../../src/http/http-env.ts";
import { endWithKey } from "../../src/http/middleware/end-with-key.ts";

const SECOND_MS = 1000;
const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

interface Watched {
  /** What the stream is made of. */
  readonly feed: ReadableStreamDefaultController<Uint8Array>;
  readonly body: ReadableStream<Uint8Array>;
  /** The looks at the key that are under way or over: the answer to each is the test's. */
  readonly looks: PromiseWithResolvers<boolean>[];
  readonly stopped: () => boolean;
}

async function open(t: TestContext): Promise<Watched> {
  t.mock.timers.enable({ apis: ["setInterval", "setTimeout"] });
  const looks: PromiseWithResolvers<boolean>[] = [];
  const isCurrent = (): Promise<boolean> => {
    const look = Promise.withResolvers<boolean>();
    looks.push(look);
    return look.promise;
  };
  let feed: ReadableStreamDefaultController<Uint8Array> | undefined;
  let stopped = false;
  const source = new ReadableStream<Uint8Array>({
    start: (controller) => {
      feed = controller;
    },
    cancel: () => {
      stopped = true;
    },
  });
  const http = new Hono<HttpEnv>();
  http.use(async (c, next) => {
    c.set("principal", { kind: "key", id: "lk_1", name: "ann", role: "read" });
    await next();
  });
  http.use(endWithKey({ isCurrent }));
  http.get("/", () => new Response(source, { headers: { "content-type": "text/event-stream" } }));
  const { body } = await http.request("/");
  assert.ok(body && feed);
  return { feed, body, looks, stopped: () => stopped };
}

/** Everything that was waiting for a promise has gone on; what throws there unheard ends the test. */
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe("a stream whose key is removed", () => {
  it("while its client leaves", async (t) => {
    const { feed, body, looks, stopped } = await open(t);
    const reader = body.getReader();
    feed.enqueue(bytes("data: 1\n\n"));
    await reader.read();
    t.mock.timers.tick(SECOND_MS);
    assert.equal(looks.length, 1);
    await reader.cancel();
    looks[0]?.resolve(false);
    await settled();
    assert.ok(stopped());
  });

  it("while it ends by itself", async (t) => {
    const { feed, body, looks } = await open(t);
    const reader = body.getReader();
    const first = reader.read();
    feed.enqueue(bytes("data: 1\n\n"));
    await first;
    t.mock.timers.tick(SECOND_MS);
    feed.close();
    assert.ok((await reader.read()).done);
    looks[0]?.resolve(false);
    await settled();
    t.mock.timers.tick(10 * SECOND_MS);
    assert.equal(looks.length, 1, "nobody looks any more");
  });

  it("while it breaks", async (t) => {
    const { feed, body, looks } = await open(t);
    const reader = body.getReader();
    const first = reader.read();
    t.mock.timers.tick(SECOND_MS);
    feed.error(new Error("the service broke off"));
    await assert.rejects(first, /broke off/);
    looks[0]?.resolve(false);
    await settled();
  });

  it("and the look takes longer than the next one would wait: there is one at a time, and one farewell", async (t) => {
    const { body, looks, stopped } = await open(t);
    const reader = body.getReader();
    const first = reader.read();
    for (let second = 0; second < 3; second++) t.mock.timers.tick(SECOND_MS);
    assert.equal(looks.length, 1);
    for (const look of looks) look.resolve(false);
    assert.match(new TextDecoder().decode((await first).value), /The key that opened this stream was removed/);
    assert.ok((await reader.read()).done);
    await settled();
    assert.ok(stopped());
  });

  it("is looked at again after a look that failed", async (t) => {
    const { body, looks } = await open(t);
    const reader = body.getReader();
    const first = reader.read();
    t.mock.timers.tick(SECOND_MS);
    looks[0]?.reject(new Error("disk"));
    await settled();
    t.mock.timers.tick(SECOND_MS);
    looks[1]?.resolve(false);
    assert.match(new TextDecoder().decode((await first).value), /removed/);
    await reader.cancel();
  });

  it("and that nobody reads is not looked at", async (t) => {
    const { looks } = await open(t);
    t.mock.timers.tick(10 * SECOND_MS);
    assert.equal(looks.length, 0);
  });
});
