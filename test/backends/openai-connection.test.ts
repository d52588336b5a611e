// Requests to OpenAI are retried as the service asks, and errors never show the key.
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import type { UploadRecords } from "../../src/backends/openai/connection.ts";
import { createOpenAiBackend } from "../../src/backends/openai/openai-backend.ts";
import { explain, RemoteError } from "../../src/contracts/errors.ts";
import { parseDomainId, parseSourceId, type VectorStoreId } from "../../src/contracts/ids.ts";
import { openUploadRecords } from "./openai-bench.ts";
import { errorBody, type FaultProxy, startFaultProxy } from "./openai-fault-proxy.ts";
import { createVirtualClock } from "./openai-virtual-clock.ts";

const API_KEY = "sk-secret-of-the-test";
const DOMAIN = parseDomainId("DEMO");
const STORE = "vs_1" as VectorStoreId;
const storeBody = { id: STORE, object: "vector_store", status: "completed", name: "demo" };
const rateLimited = errorBody("Slow down.", "rate_limit_exceeded", "requests");

describe("the way to OpenAI", () => {
  let server: FaultProxy;
  let notes: UploadRecords;
  before(async () => {
    // None of these tests uploads anything.
    notes = openUploadRecords(join(tmpdir(), "lockstep-no-uploads"));
    server = await startFaultProxy();
  });
  after(() => server.close());

  function openBackend() {
    const clock = createVirtualClock();
    const backend = createOpenAiBackend({ kind: "openai", apiKey: API_KEY, baseUrl: `${server.url}/v1`, clock }, notes);
    return { clock, backend };
  }

  function script(on: string, ...answers: { status: number; headers?: Record<string, string>; body: unknown }[]): void {
    server.inject(...answers.map((answer) => ({ on, times: 1, act: { kind: "answer" as const, ...answer } })));
  }

  const waits = [
    { title: "seconds beyond a minute", headers: { "retry-after": "120" }, expectedMs: 120_000 },
    { title: "milliseconds", headers: { "retry-after-ms": "1500", "retry-after": "9" }, expectedMs: 1500 },
    {
      title: "a date",
      headers: { "retry-after": "Thu, 15 Jan 2026 13:00:00 GMT", date: "Thu, 15 Jan 2026 12:00:00 GMT" },
      expectedMs: 3_600_000,
    },
  ];
  for (const { title, headers, expectedMs } of waits) {
    test(`Retry-After in ${title} is waited for in full`, async () => {
      const { clock, backend } = openBackend();
      script("POST /vector_stores", { status: 429, headers, body: rateLimited }, { status: 200, body: storeBody });
      assert.equal(await backend.createVectorStore("demo"), STORE);
      assert.deepEqual(clock.slept, [expectedMs]);
      await backend.close();
    });
  }

  test("server errors and broken connections are tried again with growing waits", async () => {
    const { clock, backend } = openBackend();
    script("POST /vector_stores", { status: 500, body: errorBody("Oops.") }, { status: 503, body: "<html>busy" });
    server.inject({ on: "POST /vector_stores", times: 1, act: { kind: "reset" } });
    script("POST /vector_stores", { status: 200, body: storeBody });
    assert.equal(await backend.createVectorStore("demo"), STORE);
    const [first = 0, second = 0, third = 0, ...more] = clock.slept;
    assert.ok(first >= 250 && first <= 500 && second > first && third > second, String(clock.slept));
    assert.deepEqual(more, []);
    await backend.close();
  });

  test("a used-up quota ends at once with a sentence", async () => {
    const { clock, backend } = openBackend();
    const body = errorBody("You exceeded your current quota.", "insufficient_quota", "insufficient_quota");
    script("POST /vector_stores", { status: 429, headers: { "retry-after": "1" }, body });
    await assert.rejects(backend.createVectorStore("demo"), (error: unknown) => {
      assert.ok(error instanceof RemoteError);
      assert.match(error.message, /^create vector store 'demo': the account's quota is used up; add credit/);
      return true;
    });
    assert.deepEqual(clock.slept, []);
    await backend.close();
  });

  test("a refused key is one sentence without the key in it", async () => {
    const { clock, backend } = openBackend();
    script("GET /vector_stores/vs_1", { status: 401, body: errorBody(`Incorrect API key provided: ${API_KEY}.`) });
    await assert.rejects(backend.openIndex(STORE, DOMAIN), (error: unknown) => {
      assert.ok(error instanceof RemoteError);
      assert.match(explain(error), /^open vector store vs_1: the key was refused \(401\)/);
      assert.ok(!explain(error).includes(API_KEY));
      return true;
    });
    assert.deepEqual(clock.slept, []);
    await backend.close();
  });

  test("an error that repeats the key loses it, causes included", async () => {
    const { backend } = openBackend();
    script("GET /vector_stores/vs_1", { status: 400, body: errorBody(`Bad header Bearer ${API_KEY}.`) });
    await assert.rejects(backend.openIndex(STORE, DOMAIN), (error: unknown) => {
      assert.match(explain(error), /Bad header Bearer \*\*\*\./);
      assert.ok(!explain(error).includes(API_KEY));
      return true;
    });
    await backend.close();
  });

  test("an unreachable service ends after several tries with a sentence", async () => {
    const closed = await startFaultProxy();
    await closed.close();
    const clock = createVirtualClock();
    const backend = createOpenAiBackend({ kind: "openai", apiKey: API_KEY, baseUrl: closed.url, clock }, notes);
    await assert.rejects(backend.openIndex(STORE, DOMAIN, new AbortController().signal), (error: unknown) => {
      assert.ok(error instanceof RemoteError);
      assert.match(error.message, /^open vector store vs_1: no answer from the service after 8 tries: .*ECONNREFUSED/);
      return true;
    });
    assert.equal(clock.slept.length, 7);
    await backend.close();
  });

  test("a store is missing on 404 and when expired, and on nothing else", async () => {
    const { backend } = openBackend();
    script("GET /vector_stores/vs_1", { status: 404, body: errorBody("No such store.") });
    assert.equal(await backend.openIndex(STORE, DOMAIN), undefined);
    script("GET /vector_stores/vs_1", { status: 200, body: { ...storeBody, status: "expired" } });
    assert.equal(await backend.openIndex(STORE, DOMAIN), undefined);
    script("GET /vector_stores/vs_1", { status: 403, body: errorBody("No right.") });
    await assert.rejects(backend.openIndex(STORE, DOMAIN), /the key lacks the right to do this/);
    script("GET /vector_stores/vs_1", { status: 200, body: "<html>Sign in to the network</html>" });
    await assert.rejects(backend.openIndex(STORE, DOMAIN), /it is not a vector store; is the address right/);
    script("GET /vector_stores/vs_1", { status: 302, headers: { location: "http://127.0.0.1:9/" }, body: {} });
    await assert.rejects(backend.openIndex(STORE, DOMAIN), /the service answered 302/);
    await backend.close();
  });

  test("a listing that cannot be trusted throws instead of ending early", async () => {
    const { backend } = openBackend();
    const attributes = { domain_id: "DEMO", source_id: "s", item_id: "a", content_hash: "h" };
    const file = { id: "file-1", status: "completed", created_at: 1, attributes, last_error: null };
    const source = parseSourceId("s");
    const untrusted = [
      { answers: ["<html>"], expected: /it is not a list of files/ },
      { answers: [{ object: "list" }], expected: /it is not a list of files/ },
      {
        answers: [
          { data: [file], has_more: true },
          { data: [file], has_more: true },
        ],
        expected: /repeats a page/,
      },
      {
        answers: [
          { data: [file], has_more: true },
          { data: [], has_more: true },
        ],
        expected: /repeats a page/,
      },
    ];
    for (const { answers, expected } of untrusted) {
      script("GET /vector_stores/vs_1", { status: 200, body: storeBody });
      const index = await backend.openIndex(STORE, DOMAIN);
      assert.ok(index);
      const pages = answers.map((body) => ({ status: 200, body }));
      script("GET /vector_stores/vs_1/files", ...pages);
      await assert.rejects(async () => {
        for await (const refs of index.holdings(source)) assert.fail(`yielded ${refs.length}`);
      }, expected);
      script("GET /vector_stores/vs_1/files", ...pages);
      await assert.rejects(index.draft(source), expected);
    }
    await backend.close();
  });

  test("Azure is called at its v1 address, or with the dated version when one is set", async () => {
    for (const apiVersion of ["", "2025-04-01-preview"]) {
      const backend = createOpenAiBackend(
        {
          kind: "azure_openai",
          apiKey: API_KEY,
          baseUrl: `${server.url}/`,
          apiVersion,
        },
        notes,
      );
      const path = apiVersion ? "/openai/vector_stores/vs_1" : "/openai/v1/vector_stores/vs_1";
      script(`GET ${path}`, { status: 200, body: storeBody });
      assert.ok(await backend.openIndex(STORE, DOMAIN));
      assert.equal(server.log.at(-1), `GET ${path}${apiVersion ? `?api-version=${apiVersion}` : ""}`);
      assert.equal(server.headers.at(-1)?.["api-key"], API_KEY);
      assert.equal(server.headers.at(-1)?.authorization, undefined);
      await backend.close();
    }
  });

  test("HTTP_PROXY is honoured", async () => {
    const tunnels: string[] = [];
    const proxy = createServer((incoming, outgoing) => {
      tunnels.push(incoming.url ?? "");
      outgoing.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(storeBody));
    }).on("connect", (incoming, socket) => {
      tunnels.push(incoming.url ?? "");
      const { hostname, port } = new URL(server.url);
      const onward = connect(Number(port), hostname, () => {
        socket.write("HTTP/1.1 200 OK\r\n\r\n");
        onward.pipe(socket).pipe(onward);
      });
    });
    await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
    const earlier = process.env["HTTP_PROXY"];
    process.env["HTTP_PROXY"] = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
    try {
      script("GET /vector_stores/vs_1", { status: 200, body: storeBody });
      const backend = createOpenAiBackend({ kind: "openai", apiKey: API_KEY, baseUrl: "http://api.invalid/v1" }, notes);
      assert.ok(await backend.openIndex(STORE, DOMAIN));
      await backend.close();
    } finally {
      if (earlier === undefined) delete process.env["HTTP_PROXY"];
      else process.env["HTTP_PROXY"] = earlier;
      proxy.closeAllConnections();
      await new Promise((resolve) => proxy.close(resolve));
    }
    assert.equal(tunnels.length, 1);
    assert.match(tunnels[0] ?? "", /api\.invalid/);
  });
});
