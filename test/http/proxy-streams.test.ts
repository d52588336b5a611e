// Streams pass through the proxy piece by piece, and end when either side ends.
import assert from "node:assert/strict";
import { once } from "node:events";
import { type IncomingMessage, request, type ServerResponse } from "node:http";
import { Readable } from "node:stream";
import { after, afterEach, before, describe, test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import OpenAI from "openai";
import { type ProxiedServer, serveProxied } from "./scripted-service.ts";

const MB = 1024 * 1024;
const BODY_MB = 224;
/** What sockets and streams between two ends of this machine hold at most; a proxy that buffers would hold the body. */
const ON_THE_WAY_MB = 64;
const BLOCK = Buffer.alloc(MB / 4, "x");

describe("streams through the proxy", () => {
  let at: ProxiedServer;
  let client: OpenAI;
  before(async () => {
    at = await serveProxied();
    client = new OpenAI({ baseURL: `${at.url}/openai/v1`, apiKey: "any", maxRetries: 0 });
  });
  after(() => at.close());
  afterEach(() => {
    at.service.answer = undefined;
  });

  const eventStream = (outgoing: ServerResponse): ServerResponse =>
    outgoing.writeHead(200, { "content-type": "text/event-stream" });

  test("tokens arrive one by one: each is written only after the one before it was read", async () => {
    const words = ["Hotels", " cost", " 190", " euros."];
    let heard: (() => void) | undefined;
    at.service.answer = async (incoming, outgoing) => {
      incoming.resume();
      eventStream(outgoing);
      for (const content of words) {
        const read = new Promise<void>((resolve) => {
          heard = resolve;
        });
        outgoing.write(`data: ${JSON.stringify({ choices: [{ index: 0, delta: { content } }] })}\n\n`);
        await read;
      }
      outgoing.end("data: [DONE]\n\n");
    };
    const stream = await client.chat.completions.create({ model: "m", messages: [], stream: true });
    const read: unknown[] = [];
    for await (const chunk of stream) {
      read.push(chunk.choices[0]?.delta.content);
      heard?.();
    }
    assert.deepEqual(read, words);
  });

  test("a client that leaves ends the work of the service", async () => {
    const left = new Promise<void>((resolve) => {
      at.service.answer = (incoming, outgoing) => {
        incoming.resume();
        eventStream(outgoing).write(`data: ${JSON.stringify({ type: "response.created" })}\n\n`);
        outgoing.on("close", resolve);
      };
    });
    const stream = await client.responses.create({ model: "m", input: "x", stream: true });
    for await (const _ of stream) break;
    await left;
  });

  test("a client that leaves before any answer does, too", async () => {
    const gone = new AbortController();
    const left = new Promise<void>((resolve) => {
      at.service.answer = (incoming) => {
        incoming.on("close", resolve);
        gone.abort();
      };
    });
    await assert.rejects(client.models.list({ signal: gone.signal }));
    await left;
  });

  const BREAKS: Readonly<Record<string, (outgoing: ServerResponse) => void>> = {
    "in a stream of events": (outgoing) => eventStream(outgoing).write("data: 1\n\n", () => outgoing.destroy()),
    "right after the headers": (outgoing) => {
      eventStream(outgoing).flushHeaders();
      outgoing.socket?.end(() => outgoing.destroy());
    },
    "in a body of known length": (outgoing) => {
      outgoing.writeHead(200, { "content-length": "1000" }).write("not all of it", () => outgoing.destroy());
    },
  };
  for (const [where, breakOff] of Object.entries(BREAKS)) {
    test(`a service that breaks off ${where} is no clean end`, async () => {
      at.service.answer = (incoming, outgoing) => {
        incoming.resume();
        breakOff(outgoing);
      };
      await assert.rejects(async () => {
        const response = await fetch(`${at.url}/openai/v1/responses`, { method: "POST", body: "{}" });
        await response.text();
      });
    });
  }

  test("a large upload and a large download pass in pieces, at the pace of the slower end", async () => {
    let arrived = 0;
    at.service.answer = async (incoming, outgoing) => {
      for await (const block of incoming) {
        arrived += (block as Buffer).length;
        await turn();
      }
      outgoing.writeHead(200, { "content-length": BODY_MB * MB });
      await pump(outgoing, (sent) => watch(sent - downloaded));
    };
    let downloaded = 0;
    let most = 0;
    const watch = (onTheWay: number): void => {
      most = Math.max(most, onTheWay);
    };
    const before = process.memoryUsage().rss;
    let grown = 0;
    const sent = request(`${at.url}/openai/v1/files`, {
      method: "POST",
      headers: { "content-type": "multipart/form-data; boundary=b", "content-length": BODY_MB * MB },
    });
    const answered = once(sent, "response") as Promise<[IncomingMessage]>;
    await pump(sent, (bytes) => watch(bytes - arrived));
    const [answer] = await answered;
    for await (const block of answer) {
      downloaded += (block as Buffer).length;
      grown = Math.max(grown, process.memoryUsage().rss - before);
      await turn();
    }
    assert.deepEqual([arrived, downloaded], [BODY_MB * MB, BODY_MB * MB]);
    assert.ok(most < ON_THE_WAY_MB * MB, `${most / MB} MB were on the way at once`);
    assert.ok(grown < (BODY_MB * MB * 2) / 3, `memory grew by ${grown / MB} MB`);
  });

  test("a service that refuses an upload before it is all sent is heard", async () => {
    at.service.answer = (incoming, outgoing) => {
      const body = JSON.stringify({ error: { message: "too large", type: "x", param: null, code: null } });
      outgoing.writeHead(413, { "content-type": "application/json" }).end(body, () => incoming.resume());
    };
    const body = Readable.from(
      (function* () {
        for (let at = 0; at < 16; at++) yield BLOCK;
      })(),
    );
    const sent = request(`${at.url}/openai/v1/files`, { method: "POST" });
    const answered = once(sent, "response") as Promise<[IncomingMessage]>;
    body.pipe(sent);
    const [answer] = await answered;
    assert.equal(answer.statusCode, 413);
    answer.resume();
    sent.on("error", () => undefined);
  });
});

/** Writes the whole body as fast as the other end takes it. */
async function pump(to: ServerResponse | ReturnType<typeof request>, tell: (sent: number) => void): Promise<void> {
  for (let sent = BLOCK.length; sent <= BODY_MB * MB; sent += BLOCK.length) {
    if (!to.write(BLOCK)) await once(to, "drain");
    tell(sent);
  }
  to.end();
}
