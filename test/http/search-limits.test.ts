// Searches are limited by number and by key, and the rest is told to wait.
import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { json } from "node:stream/consumers";
import { after, afterEach, before, describe, it } from "node:test";
import OpenAI, { toFile } from "openai";
import { compose } from "../../src/app/compose.ts";
import { readConfig } from "../../src/app/config.ts";
import { serveHttp } from "../../src/http/serve-http.ts";
import { type AskInit, ask, type Reply } from "./ask.ts";

/** An address that embeds: questions with the word "held" wait until they are let go. */
interface Embeddings {
  readonly url: string;
  /** Questions it was asked, in the order they came. */
  readonly asked: string[];
  /** Resolves when the text was asked. */
  arrived(text: string): Promise<void>;
  /** Resolves when so many questions were asked. */
  count(questions: number): Promise<void>;
  /** Resolves when whoever asked the text hung up before it was answered. */
  left(text: string): Promise<void>;
  release(): void;
  close(): Promise<void>;
}

async function startEmbeddings(): Promise<Embeddings> {
  const asked: string[] = [];
  const gone = new Set<string>();
  const held: ServerResponse[] = [];
  let changed = Promise.withResolvers<void>();
  const tell = (): void => {
    changed.resolve();
    changed = Promise.withResolvers<void>();
  };
  const until = async (holds: () => boolean): Promise<void> => {
    while (!holds()) await changed.promise;
  };
  const answer = async (incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> => {
    const { input } = (await json(incoming)) as { input: string[] };
    const [first = ""] = input;
    const data = input.map((_, index) => ({ index, embedding: [1, 0, 0, 0] }));
    const reply = (): unknown =>
      outgoing.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify({ data }));
    if (input.length > 1 || !/^(held|free)/.test(first)) return void reply();
    asked.push(first);
    outgoing.once("close", () => {
      if (!outgoing.writableFinished) gone.add(first);
      tell();
    });
    if (first.startsWith("held")) held.push(outgoing);
    else reply();
    tell();
  };
  const server = createServer((incoming, outgoing) => void answer(incoming, outgoing));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    asked,
    arrived: (text) => until(() => asked.includes(text)),
    count: (questions) => until(() => asked.length >= questions),
    left: (text) => until(() => gone.has(text)),
    release() {
      const body = JSON.stringify({ data: [{ index: 0, embedding: [1, 0, 0, 0] }] });
      for (const one of held.splice(0)) one.writeHead(200, { "content-type": "application/json" }).end(body);
    },
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

for (const searchesHere of [true, false]) {
  describe(`what one reader may have searched, ${searchesHere ? "on the thread that asks" : "in threads"}`, () => {
    let embeddings: Embeddings;
    let url = "";
    let store = "";
    const keys: Record<"ann" | "bob", string> = { ann: "", bob: "" };
    let close = async (): Promise<void> => undefined;
    before(async () => {
      embeddings = await startEmbeddings();
      const folder = await mkdtemp(join(tmpdir(), "lockstep-limits-"));
      const settings = {
        PERSISTENT_STORAGE_PATH: folder,
        RATE_LIMIT_PER_SECOND: "0",
        EMBEDDINGS_BASE_URL: embeddings.url,
        EMBEDDINGS_MODEL: "stub",
        EMBEDDINGS_DIMENSIONS: "4",
      };
      const app = await compose(readConfig(settings), { searchesHere });
      const server = await serveHttp(app, { host: "127.0.0.1", port: 0, log: () => undefined });
      url = server.url;
      const key = async (name: string, role: "admin" | "read"): Promise<string> =>
        (await app.access.keys.create({ name, role, expiresAt: "" })).key;
      const client = new OpenAI({ baseURL: `${url}/openai/v1`, apiKey: await key("ada", "admin"), maxRetries: 0 });
      for (const name of ["ann", "bob"] as const) keys[name] = await key(name, "read");
      store = (await client.vectorStores.create({ name: "store" })).id;
      for (const text of ["A heron eats fish.", "A hotel night costs 145 euros.", "Trains are preferred."]) {
        const file = await toFile(Buffer.from(text), `${text.split(" ")[1]}.txt`);
        const { id } = await client.files.create({ file, purpose: "assistants" });
        await client.vectorStores.files.createAndPoll(store, { file_id: id });
      }
      close = async () => {
        await server.close();
        await app.close();
        await rm(folder, { recursive: true, force: true });
      };
    });
    after(async () => {
      embeddings?.release();
      await close();
      await embeddings?.close();
    });
    afterEach(() => {
      embeddings.release();
      embeddings.asked.length = 0;
    });

    const init = (who: keyof typeof keys, body?: object): AskInit => ({
      headers: { authorization: `Bearer ${keys[who]}` },
      ...(body && { json: body }),
    });
    const search = (query: unknown, more: object = {}) =>
      ask(url, `POST /openai/v1/vector_stores/${store}/search`, init("ann", { query, ...more }));
    const tool = (count = 1): object => ({ type: "file_search", vector_store_ids: Array<string>(count).fill(store) });
    const times = <T>(count: number, make: (at: number) => T): T[] =>
      Array.from({ length: count }, (_, at) => make(at));

    it("at most ten queries, tools and stores a request, said in OpenAI's form", async () => {
      assert.equal((await search(times(10, (at) => `free ${at}`))).status, 200);
      const respond = (tools: object[]) => ask(url, "POST /openai/v1/responses", init("ann", { input: "free", tools }));
      assert.equal((await respond(times(10, () => tool()))).status, 200);
      assert.equal((await respond([tool(10)])).status, 200);
      embeddings.asked.length = 0;
      const refused = [
        [await search(times(11, (at) => `free ${at}`)), "query", /11 queries; at most 10/],
        [await search(times(50_000, () => "free")), "query", /50000 queries; at most 10/],
        [await respond(times(11, () => tool())), "tools", /11 tools; .*at most 10/],
        [await respond([tool(11)]), "tools", /11 vector stores; .*at most 10/],
        [await respond([tool(6), tool(6)]), "tools", /12 vector stores; .*at most 10/],
      ] as const;
      for (const [{ status, json: body }, param, says] of refused) {
        assert.equal(status, 400);
        assert.deepEqual([body["error"]?.["type"], body["error"]?.["param"]], ["invalid_request_error", param]);
        assert.match(String(body["error"]?.["message"]), says);
      }
      const inventory = { input: "free", vector_store_ids: times(11, () => store) };
      const asked = await ask(url, "POST /v2/inventory/responses/create", init("ann", inventory));
      assert.equal(asked.status, 400, asked.text);
      assert.deepEqual(embeddings.asked, [], "nothing was searched for");
    });

    it("of several questions the best of all are told, and no more", async () => {
      const { json: body } = await search(["free trains", "free hotel euros", "free heron fish"], {
        max_num_results: 2,
      });
      const scores = (body["data"] as unknown as { score: number }[]).map(({ score }) => score);
      assert.equal(scores.length, 2);
      assert.deepEqual(
        scores,
        scores.toSorted((a, b) => b - a),
      );
    });

    const asks = (text: string): readonly (readonly [title: string, what: string, body?: object])[] => [
      [
        "search",
        `POST /openai/v1/vector_stores/${store}/search`,
        { query: times(10, (at) => (at === 0 ? text : `free ${at}`)) },
      ],
      ["responses", "POST /openai/v1/responses", { input: text, tools: times(10, () => tool()) }],
      ["chat", "POST /openai/v1/chat/completions", { messages: [{ role: "user", content: text }] }],
      ["/query", "POST /query", { data: { query: text, vsid: store } }],
      ["/v2/search", `GET /v2/search?query=${encodeURIComponent(text)}&vector_store_id=${store}`],
    ];
    for (const [at, title] of ["search", "responses", "chat", "/query", "/v2/search"].entries()) {
      it(`the work ends when the client leaves: ${title}`, async () => {
        const text = `held ${title}`;
        const [, what = "", body] = asks(text)[at] ?? assert.fail();
        const [method = "", path = ""] = what.split(" ");
        const leaving = new AbortController();
        const headers = { authorization: `Bearer ${keys.ann}`, "content-type": "application/json" };
        const asked = fetch(url + path, {
          method,
          headers,
          signal: leaving.signal,
          ...(body && { body: JSON.stringify(body) }),
        });
        await embeddings.arrived(text);
        leaving.abort();
        await assert.rejects(asked);
        await embeddings.left(text);
        // The next one finds the words' and vectors' way as it was: somebody else's leaving is no failure of the service.
        const marker = `free after ${title}`;
        const next = await search(marker);
        assert.equal(next.status, 200);
        assert.deepEqual(embeddings.asked, [text, marker]);
      });
    }

    it("four at once for each key, and the others wait", async () => {
      const first = times(6, (at) => search(`held ${at}`));
      await embeddings.count(4);
      // Whoever has another key does not wait for them, and by then a fifth would have come.
      const path = `POST /openai/v1/vector_stores/${store}/search`;
      const other = await ask(url, path, init("bob", { query: "free as bob" }));
      assert.equal(other.status, 200);
      assert.deepEqual([embeddings.asked.length, embeddings.asked.at(-1)], [5, "free as bob"]);
      embeddings.release();
      await embeddings.count(7);
      embeddings.release();
      for (const reply of await Promise.all(first)) assert.equal(reply.status, 200);
    });

    it("and of too many the next is told to come back", async () => {
      const refused: Reply[] = [];
      const full = Promise.withResolvers<void>();
      const all = times(110, async (at) => {
        const reply = await search(`held ${at}`);
        if (reply.status === 429 && refused.push(reply) === 6) full.resolve();
        return reply;
      });
      await full.promise;
      const others = [
        await ask(url, "POST /query", init("ann", { data: { query: "free", vsid: store } })),
        await ask(url, `GET /v2/search?query=free&vector_store_id=${store}`, init("ann")),
        await ask(url, "POST /openai/v1/responses", init("ann", { input: "free", tools: [tool()] })),
      ];
      for (const reply of [...refused, ...others]) {
        assert.equal(reply.status, 429, reply.text);
        assert.match(reply.text, /Too many searches at once/);
        assert.ok(Number(reply.headers.get("retry-after")) > 0);
      }
      let over = false;
      const done = Promise.all(all).finally(() => {
        over = true;
      });
      while (!over) {
        embeddings.release();
        await new Promise((resolve) => setImmediate(resolve));
      }
      assert.equal((await done).filter(({ status }) => status === 200).length, 104);
    });
  });
}
