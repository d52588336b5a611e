// The server's key never comes back to a client in any response.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { after, afterEach, before, describe, test } from "node:test";
import { brotliCompressSync, gzipSync } from "node:zlib";
import { READABLE } from "../../src/http/endpoints/wire-endpoints.ts";
import { ask } from "./ask.ts";
import { type ProxiedServer, SERVICE_KEY, serveProxied } from "./scripted-service.ts";

/** Sends the pieces one by one, each when the one before has left. */
const inPieces =
  (
    status: number,
    headers: Record<string, string>,
    pieces: readonly (string | Buffer)[],
  ): ProxiedServer["service"]["answer"] =>
  async (_, outgoing) => {
    outgoing.writeHead(status, headers);
    for (const piece of pieces) await new Promise((resolve) => outgoing.write(piece, resolve));
    outgoing.end();
  };

const JSON_TYPE = { "content-type": "application/json" };
const BODY = JSON.stringify({
  error: { message: `Bad header: Bearer ${SERVICE_KEY}; again ${SERVICE_KEY}${SERVICE_KEY}.` },
});

describe("the server's key does not come back", () => {
  let at: ProxiedServer;
  before(async () => {
    at = await serveProxied();
  });
  after(() => at.close());
  afterEach(() => {
    at.service.answer = undefined;
    at.point({});
  });

  test("wherever the answer is cut", async () => {
    const hidden = BODY.replaceAll(SERVICE_KEY, "*".repeat(SERVICE_KEY.length));
    const first = BODY.indexOf(SERVICE_KEY);
    for (let cut = first - 1; cut <= first + SERVICE_KEY.length + 1; cut++) {
      at.service.answer = inPieces(400, JSON_TYPE, [BODY.slice(0, cut), BODY.slice(cut)]);
      assert.equal((await ask(at.url, "GET /openai/v1/files")).text, hidden, `cut at ${cut}`);
    }
    at.service.answer = inPieces(200, JSON_TYPE, [...BODY]);
    assert.equal((await ask(at.url, "GET /openai/v1/files")).text, hidden, "byte by byte");
  });

  test("in answers, errors, streams, pages and headers; lengths stay true", async () => {
    const cases: readonly [status: number, type: string, body: string][] = [
      [200, "application/json", BODY],
      [401, "application/json", BODY],
      [500, "text/html", `<pre>authorization: Bearer ${SERVICE_KEY}</pre>`],
      [404, "text/plain", SERVICE_KEY],
      [200, "text/event-stream", `event: error\ndata: {"message":"${SERVICE_KEY}"}\n\n`],
      [400, "application/problem+json", BODY],
    ];
    for (const [status, type, body] of cases) {
      const headers = { "content-type": type, "content-length": String(body.length), "x-debug": `key ${SERVICE_KEY}` };
      at.service.answer = inPieces(status, headers, [body]);
      const reply = await ask(at.url, "GET /openai/v1/responses/resp_1");
      assert.equal(reply.status, status);
      assert.equal(reply.text.length, body.length);
      assert.doesNotMatch(reply.text + JSON.stringify([...reply.headers]), new RegExp(SERVICE_KEY), type);
    }
  });

  test("also of a service that packs what it was asked not to", async () => {
    for (const [encoding, packed] of [
      ["gzip", gzipSync(BODY)],
      ["br", brotliCompressSync(BODY)],
    ] as const) {
      at.service.answer = inPieces(400, { ...JSON_TYPE, "content-encoding": encoding }, [packed]);
      const { text, status } = await ask(at.url, "GET /openai/v1/files");
      assert.equal(status, 400);
      assert.match(text, /Bad header: Bearer \*+;/);
      assert.doesNotMatch(text, new RegExp(SERVICE_KEY));
    }
    at.service.answer = inPieces(400, { ...JSON_TYPE, "content-encoding": "unheard-of" }, [BODY]);
    assert.equal((await ask(at.url, "GET /openai/v1/files")).status, 502);
  });

  test("nor one with slashes, however JSON spells them", async () => {
    const key = "abc/def+0123456789/XYZ==";
    at.point({ apiKey: key });
    at.service.answer = inPieces(400, JSON_TYPE, [`{"a":"${key}","b":"${key.replaceAll("/", "\\/")}"}`]);
    const { text } = await ask(at.url, "GET /openai/v1/files");
    assert.doesNotMatch(text, /def/);
    assert.ok(JSON.parse(text));
  });

  test("contents of files are what they are", async () => {
    at.service.answer = inPieces(200, JSON_TYPE, [BODY.slice(0, 40), BODY.slice(40)]);
    for (const path of ["/files/file-1/content", "/vector_stores/vs_1/files/file-1/content"]) {
      assert.equal((await ask(at.url, `GET /openai/v1${path}`)).text, BODY, path);
    }
    at.service.answer = inPieces(404, JSON_TYPE, [BODY]);
    const { text } = await ask(at.url, "GET /openai/v1/files/file-1/content");
    assert.doesNotMatch(text, new RegExp(SERVICE_KEY), "an error is no content");
  });

  test("a word that is no secret stays a word", async () => {
    at.point({ apiKey: "lm-studio" });
    at.service.answer = inPieces(200, JSON_TYPE, ['{"owned_by":"lm-studio"}']);
    assert.equal((await ask(at.url, "GET /openai/v1/models")).text, '{"owned_by":"lm-studio"}');
  });
});

test("the guide has every path that readers may get", async () => {
  const guide = await readFile(new URL("../../docs/guides/openai-protocol.md", import.meta.url), "utf8");
  const missing = READABLE.filter((path) => !guide.includes(`\`${path.replaceAll("*", "{id}")}\``));
  assert.deepEqual(missing, []);
});
