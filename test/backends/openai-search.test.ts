// Searches of a remote store are narrowed, paced and, where the service has no search, done by a model.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { createOpenAiBackend } from "../../src/backends/openai/openai-backend.ts";
import { BadInputError, RemoteError } from "../../src/contracts/errors.ts";
import type { SearchQuery, SearchScope } from "../../src/contracts/search-index.ts";
import { countRequests, DOMAIN, found, putAndCommit, SOURCE, useVectorStore } from "./openai-bench.ts";
import { errorBody } from "./openai-fault-proxy.ts";

const SEARCH = "POST /vector_stores/:store/search";

describe("a search narrowed down", () => {
  const at = useVectorStore();

  const names = async (scope: SearchScope, more: Partial<SearchQuery> = {}) =>
    (await at.index.search({ text: "Otters", limit: 10, scope, ...more })).map(({ name }) => name).toSorted();

  test("goes by the marks of our files", async () => {
    const [a, b] = [await at.makeFile("a", "Otters sleep."), await at.makeFile("b", "Otters wake.")];
    const text = { name: "b.txt", fileType: "txt" };
    const older = { ...b.label, ...text, modifiedAt: "2025-03-01T08:00:00.000000Z", attributes: { team: "x" } };
    await putAndCommit(at, a, { ...b, label: older });
    assert.deepEqual(await names({}), ["a.md", "b.txt"]);
    assert.deepEqual(await names({ domainId: "DEMO", sourceId: "library" }), ["a.md", "b.txt"]);
    assert.deepEqual(await names({ domainId: "OTHER" }), []);
    assert.deepEqual(await names({ sourceId: "other" }), []);
    assert.deepEqual(await names({ fileTypes: ["txt", "pdf"] }), ["b.txt"]);
    assert.deepEqual(await names({ modifiedFrom: "2026-01-15T10:00:00Z" }), ["a.md"]);
    assert.deepEqual(await names({ modifiedBefore: "2026-01-15T10:00:00Z" }), ["b.txt"]);
    assert.deepEqual(await names({ modifiedFrom: "2025-03-01T09:00:00+01:00", fileTypes: ["txt"] }), ["b.txt"]);
    const team = { type: "eq", key: "team", value: "x" } as const;
    assert.deepEqual(await names({ domainId: "DEMO" }, { filter: team }), ["b.txt"]);
    assert.deepEqual(await names({ fileTypes: ["md"] }, { filter: team }), []);
  });

  test("by what the service cannot tell is refused with a sentence", async () => {
    const cases: [Partial<SearchQuery>, RegExp][] = [
      [{ scope: { pathPrefix: "Policies/" } }, /cannot narrow a search to a path/],
      [{ scope: { languages: ["de"] } }, /cannot narrow a search to a language/],
      [{ generation: 3 }, /cannot search as of a generation/],
      [{ using: "vectors" }, /cannot search by words or by vectors alone/],
      [{ scope: { modifiedFrom: "yesterday" } }, /'yesterday' is not a time/],
    ];
    for (const [more, expected] of cases) {
      await assert.rejects(at.index.search({ text: "Otters", limit: 5, ...more }), (error: unknown) => {
        assert.ok(error instanceof BadInputError);
        assert.match(error.message, expected);
        return true;
      });
    }
  });

  test("a page that is no result page is not 'nothing found', and a store that is gone is said to be", async () => {
    at.proxy.inject({ on: SEARCH, times: 1, act: { kind: "answer", status: 200, body: {} } });
    await assert.rejects(at.index.search({ text: "x", limit: 5 }), /it is not search results/);
    await at.client.vectorStores.delete(at.storeId);
    await assert.rejects(at.index.search({ text: "x", limit: 5 }), /the store does not exist any more/);
  });

  test("where there is no search and no model, the setting that is missing is named", async () => {
    at.faults.play("search-404");
    for (let i = 0; i < 2; i++) {
      await assert.rejects(at.index.search({ text: "x", limit: 5 }), (error: unknown) => {
        assert.ok(error instanceof RemoteError);
        assert.match(error.message, /offers no search; set OPENAI_DEFAULT_MODEL_NAME to a model/);
        return true;
      });
    }
    assert.equal(countRequests(at, `POST /v1/vector_stores/${at.storeId}/search`), 1);
  });
});

describe("a service that asks to wait for an hour", () => {
  const at = useVectorStore();
  const act = {
    kind: "answer",
    status: 429,
    headers: { "retry-after": "3600" },
    body: errorBody("Slow down."),
  } as const;

  test("asks the uploads only: searches are answered meanwhile, and stores opened", { timeout: 60_000 }, async () => {
    await putAndCommit(at, await at.makeFile("a", "Otters sleep."));
    const waits = Promise.withResolvers<void>();
    const job = new AbortController();
    const clock = {
      now: () => 0,
      sleep: (_ms: number, signal?: AbortSignal) => {
        waits.resolve();
        return new Promise<void>((resolve) => signal?.addEventListener("abort", () => resolve()));
      },
    };
    const backend = createOpenAiBackend(
      { kind: "openai", apiKey: "test", baseUrl: `${at.proxy.url}/v1`, clock },
      at.notes,
    );
    const index = await backend.openIndex(at.storeId, DOMAIN);
    assert.ok(index);
    const draft = await index.draft(SOURCE);
    at.proxy.inject({ on: "POST /files", times: 1, act });
    const upload = assert.rejects(draft.put(await at.makeFile("b", "Beavers build."), job.signal), /cancelled/);
    await waits.promise;
    assert.deepEqual(await found({ index }, "Otters"), ["Otters sleep."]);
    assert.ok(await backend.openIndex(at.storeId, DOMAIN));
    job.abort();
    await upload;
    await backend.close();
  });

  test("is not waited for by a search: it ends with what the service said", async () => {
    at.proxy.inject({ on: SEARCH, times: 1, act });
    const slept = at.clock.slept.length;
    await assert.rejects(at.index.search({ text: "Otters", limit: 5 }), (error: unknown) => {
      assert.ok(error instanceof RemoteError);
      assert.match(
        error.message,
        /^search vector store \S+: too many requests \(429 Slow down\.\); it asks to come back/,
      );
      return true;
    });
    assert.equal(at.clock.slept.length, slept);
  });
});

describe("a service without search", () => {
  const at = useVectorStore({ model: "lockstep-extractive" });

  test("is asked once, and then a model searches: the same texts, filters, limits and thresholds", async () => {
    const files = [await at.makeFile("a", "Otters sleep holding hands."), await at.makeFile("b", "Otters wake early.")];
    await putAndCommit(at, ...files);
    const direct = await at.index.search({ text: "Otters", limit: 10 });
    assert.equal(countRequests(at, "POST /v1/responses"), 0);
    at.faults.play("search-404");
    const hits = await at.index.search({ text: "Otters", limit: 10 });
    const told = (list: typeof hits) => list.map(({ fileId, name, text }) => [fileId, name, text]).toSorted();
    assert.deepEqual(told(hits), told(direct));
    assert.equal(hits[0]?.attributes["domain_id"], "DEMO");
    assert.equal((await at.index.search({ text: "Otters", limit: 1 })).length, 1);
    assert.deepEqual(await at.index.search({ text: "Otters", limit: 5, scope: { domainId: "OTHER" } }), []);
    const high = await at.index.search({ text: "Otters", limit: 5, scoreThreshold: 0.99 });
    assert.deepEqual(high.length, hits.filter(({ score }) => score >= 0.99).length);
    assert.equal((await found(at, "Otters")).length, 2);
    assert.equal(countRequests(at, `POST /v1/vector_stores/${at.storeId}/search`), 2);
  });

  test("a model that does not search is an error, not an empty answer", async () => {
    at.faults.play("search-404");
    const body = { id: "resp_1", object: "response", status: "completed", output: [{ type: "message", content: [] }] };
    at.proxy.inject({ on: "POST /responses", times: 1, act: { kind: "answer", status: 200, body } });
    await assert.rejects(at.index.search({ text: "x", limit: 5 }), /it did not search the files/);
  });
});
