// An embeddings service is called in batches, retried as it asks, and its errors are explained.
import assert from "node:assert/strict";
import { afterEach, test } from "node:test";
import { createHttpModel, type HttpModelSettings, openHttpEmbedder } from "../../src/index/embedding/http-embedder.ts";
import { embedFixture } from "./embed-fixture.ts";
import { answer, type EmbeddingsServer, type Misbehaviour, startEmbeddings } from "./embeddings-service.ts";

let server: EmbeddingsServer;
afterEach(() => server.close());

const KEY = "sk-very-secret";

async function start(misbehave?: Misbehaviour): Promise<{ settings: HttpModelSettings; waited: number[] }> {
  server = await startEmbeddings(misbehave);
  const waited: number[] = [];
  const wait = async (ms: number): Promise<void> => void waited.push(ms);
  return {
    settings: { baseUrl: server.baseUrl, apiKey: KEY, model: "small", apiVersion: "", dimensions: 0, wait },
    waited,
  };
}

test("learns its dimensions from the first answer; vectors are in order and of length 1", async () => {
  const { settings } = await start();
  const embedder = await openHttpEmbedder(settings);
  assert.deepEqual([embedder.model, embedder.revision, embedder.dimensions], ["small", "3", 3]);
  const [a, empty, b] = await embedder.embed(["abc", "  ", "zz"]);
  assert.ok(Math.abs(Math.hypot(...(a ?? [])) - 1) < 1e-6);
  assert.ok(Math.abs((a?.[0] ?? 0) / (a?.[1] ?? 0) - 3 / 97) < 1e-6);
  assert.ok(Math.abs((b?.[0] ?? 0) / (b?.[1] ?? 0) - 2 / 122) < 1e-6);
  assert.deepEqual(empty, new Float32Array(3), "text without a character is not sent");
  assert.equal(server.asked[1]?.headers.authorization, `Bearer ${KEY}`);
  assert.equal(server.asked[1]?.path, "/v1/embeddings");
  assert.equal(server.asked[1]?.body.dimensions, undefined);
});

test("Azure gets its key and its version in its own way, and the dimensions that are wanted", async () => {
  const { settings } = await start();
  const embedder = await openHttpEmbedder({ ...settings, apiVersion: "2024-10-21", dimensions: 3 });
  assert.equal(server.asked.length, 0, "dimensions that are given need no question");
  await embedder.embed(["abc"]);
  const [asked] = server.asked;
  assert.equal(asked?.path, "/v1/embeddings?api-version=2024-10-21");
  assert.equal(asked?.headers["api-key"], KEY);
  assert.equal(asked?.headers.authorization, undefined);
  assert.equal(asked?.body.dimensions, 3);
});

test("many texts go in batches, by count and by size", async () => {
  const { settings } = await start();
  const embedder = await openHttpEmbedder({ ...settings, dimensions: 3 });
  const vectors = await embedder.embed(Array.from({ length: 600 }, (_, at) => "x".repeat(at + 1)));
  assert.equal(vectors.length, 600);
  assert.ok(vectors.every((vector, at) => Math.abs((vector[0] ?? 0) / (vector[1] ?? 1) - (at + 1) / 120) < 1e-4));
  assert.deepEqual(
    server.asked.map(({ body }) => body.input.length).sort((a, b) => b - a),
    [256, 256, 88],
    "sent side by side, so they come in any order",
  );
  await embedder.embed(Array.from({ length: 20 }, () => "y".repeat(50_000)));
  const sizes = server.asked.slice(3).map(({ body }) => body.input.join("").length);
  assert.deepEqual(
    sizes.sort((a, b) => b - a),
    [390_000, 210_000],
    "long texts are cut to the window of today's models",
  );
});

test("a busy service is asked again when it says so, however late that is", async () => {
  const busy: Misbehaviour = (_asked, n, response) => {
    if (n === 0) return answer(response, 429, { error: { message: "slow down" } }, { "retry-after": "90" });
    if (n === 1) return answer(response, 503, "down");
    if (n === 2) response.socket?.destroy();
    return n === 2 || undefined;
  };
  const { settings, waited } = await start(busy);
  const embedder = await openHttpEmbedder({ ...settings, dimensions: 3 });
  assert.equal((await embedder.embed(["abc"])).length, 1);
  assert.equal(waited[0], 90_000);
  assert.equal(waited.length, 3);
});

const FAILURES: readonly (readonly [name: string, misbehave: Misbehaviour, message: RegExp, requests: number])[] = [
  [
    "a wrong key, without repeating it",
    (_asked, _n, response) => answer(response, 401, { error: { message: `Incorrect API key provided: ${KEY}` } }),
    /^embed with small at http:\S+\/v1\/embeddings: 401: Incorrect API key provided: \*\*\*$/,
    1,
  ],
  [
    "an empty account, at once",
    (_asked, _n, response) => answer(response, 429, { error: { code: "insufficient_quota", message: "no money" } }),
    /429: no money$/,
    1,
  ],
  ["a service that stays broken", (_asked, _n, response) => answer(response, 500, { error: "oops" }), /500: oops$/, 7],
  [
    "a service that wants to be left alone for a day",
    (_asked, _n, response) => answer(response, 429, { error: "later" }, { "retry-after": "86400" }),
    /429: later$/,
    1,
  ],
  [
    "too few vectors",
    (_asked, _n, response) => answer(response, 200, { data: [] }),
    /it answered with 0 vectors for 1 texts$/,
    1,
  ],
  [
    "vectors of nothing, as JSON writes numbers that are none",
    (_asked, _n, response) => answer(response, 200, { data: [{ index: 0, embedding: [1, null, null] }] }),
    /a vector has no numbers in it$/,
    1,
  ],
  [
    "vectors of another length",
    (_asked, _n, response) => answer(response, 200, { data: [{ index: 0, embedding: [1, 2] }] }),
    /it answered with 2 numbers per vector instead of 3$/,
    1,
  ],
  ["something else", (_asked, _n, response) => !!response.end("<html>"), /it answered with 0 vectors for 1 texts$/, 1],
];
for (const [name, misbehave, message, requests] of FAILURES) {
  test(`a sentence for ${name}`, async () => {
    const { settings } = await start(misbehave);
    const embedder = await openHttpEmbedder({ ...settings, dimensions: 3 });
    await assert.rejects(embedder.embed(["abc"]), (error: Error) => {
      assert.equal(error.name, "RemoteError");
      assert.match(error.message, message);
      assert.ok(!error.message.includes(KEY));
      return true;
    });
    assert.equal(server.asked.length, requests);
  });
}

test("texts longer than the model's window are cut until it takes them", async () => {
  const small: Misbehaviour = ({ body }, _n, response) =>
    body.input.some((text) => text.length > 1000) &&
    answer(response, 400, { error: { message: "This model's maximum context length is 512 tokens" } });
  const { settings } = await start((asked, n, response) => small(asked, n, response) || undefined);
  const embedder = await openHttpEmbedder({ ...settings, dimensions: 3 });
  const vectors = await embedder.embed(["a".repeat(3000), "b", "c".repeat(900)]);
  const lengths = vectors.map((vector) => (vector[0] ?? 0) / (vector[1] ?? 1));
  assert.deepEqual(
    lengths.map((value, at) => Math.round(value * (97 + at))),
    [750, 1, 750],
  );
});

test("an abort ends it", async () => {
  const stop = new AbortController();
  const { settings } = await start((_asked, _n, response) => {
    stop.abort();
    return answer(response, 503, "down");
  });
  const embedder = await openHttpEmbedder({ ...settings, dimensions: 3 });
  await assert.rejects(embedder.embed(["abc"], stop.signal), { name: "CancelledError" });
});

test("a store asks for its dimensions once, and its words answer while the service is down", async () => {
  let down = false;
  const { settings } = await start((_asked, _n, response) => (down ? answer(response, 401, "no") : undefined));
  const fixture = await embedFixture();
  try {
    const first = await fixture.open(createHttpModel(settings));
    await first.commit({ one: "The otter sleeps.", two: "Foxes run." });
    assert.deepEqual(
      server.asked.map(({ body }) => body.input),
      [["dimensions"], ["The otter sleeps.", "Foxes run."]],
    );
    const second = await fixture.open(createHttpModel(settings));
    await second.found("otter");
    assert.equal(server.asked.length, 3, "a store that has vectors knows their dimensions");
    down = true;
    assert.deepEqual(await second.found("otter"), ["one.md"]);
  } finally {
    await fixture.close();
  }
});
