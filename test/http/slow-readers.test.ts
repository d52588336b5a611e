// A client that neither sends nor reads is cut off.
import assert from "node:assert/strict";
import { connect } from "node:net";
import { after, before, describe, it } from "node:test";
import { type Served, serveScripted } from "./scripted-app.ts";

/** Long enough for the request to be answered before its timeouts is over, also on a busy machine. */
const REQUEST_TIMEOUTS = { headersMs: 20_000, bodyMs: 4000, leastBytes: 1 };

describe("a client that neither sends nor reads", () => {
  let served: Served;
  const warnings: Error[] = [];
  const heed = (warning: Error): number => warnings.push(warning);
  before(async () => {
    served = await serveScripted({ timeouts: REQUEST_TIMEOUTS });
    process.on("warning", heed);
  });
  after(async () => {
    process.off("warning", heed);
    await served.close();
  });

  it("is cut off, although it never takes what was sent to it", async () => {
    const cut = Promise.withResolvers<void>();
    const { hostname, port } = new URL(served.url);
    const socket = connect(Number(port), hostname);
    served.script.wire = async (request) => {
      socket.pause();
      request.signal.addEventListener("abort", () => cut.resolve());
      // More than any buffer on the way holds.
      const pull = (to: ReadableStreamDefaultController): void => to.enqueue(new Uint8Array(64 * 1024));
      return new Response(new ReadableStream({ pull }));
    };
    // On a busy machine its timeout may be over before anybody asked for the body; then there is nothing to see here.
    socket.on("close", () => cut.resolve()).resume();
    socket.on("error", () => undefined);
    socket.write(`POST /openai/v1/files HTTP/1.1\r\nhost: ${hostname}\r\ncontent-length: 10\r\n\r\n`);
    await cut.promise;
    socket.destroy();
    assert.deepEqual(warnings, []);
  });
});
