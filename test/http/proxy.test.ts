// The proxy passes requests and responses on, except what concerns only one side.
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { after, afterEach, before, describe, test } from "node:test";
import { ask } from "./ask.ts";
import { type ProxiedServer, SERVICE_KEY, sendRaw, serveProxied } from "./scripted-service.ts";

describe("the proxy, as the service sees it", () => {
  let at: ProxiedServer;
  before(async () => {
    at = await serveProxied();
  });
  after(() => at.close());
  afterEach(() => {
    at.point({});
    at.service.answer = undefined;
    at.service.seen.length = 0;
  });

  test("every route, below /openai and /openai/v1, whatever it is called", async () => {
    const routes = [
      "POST /chat/completions",
      "POST /responses",
      "GET /responses",
      "GET /responses/resp_1?include%5B%5D=file_search_call.results&stream=true",
      "DELETE /responses/resp_1",
      "GET /files?limit=2&after=file-1",
      "GET /files/file-1/content",
      "POST /vector_stores/vs_1/search",
      "POST /vector_stores/vs_1/files/file-1",
      "DELETE /assistants/asst_1",
      "POST /threads/t_1/messages/m_1",
      "POST /threads/t_1/runs/r_1/submit_tool_outputs",
      "GET /threads/t_1/runs/r_1/steps/s_1",
      "GET /models/ft%3Agpt%2Fmine",
      "POST /uploads/upload_1/cancel",
      "PATCH /something/new?x=1&x=2&empty=",
    ];
    for (const prefix of ["/openai", "/openai/v1"]) {
      for (const route of routes) {
        const [method = "", path = ""] = route.split(" ");
        const bare = method === "GET" || method === "DELETE" || path.endsWith("/cancel");
        const body = bare ? {} : { body: '{"a":1.0}' };
        const { status } = await ask(at.url, `${method} ${prefix}${path}`, { ...body, headers: { "x-mark": route } });
        assert.equal(status, 200, route);
        const seen = at.service.seen.pop();
        assert.equal(`${seen?.method} ${seen?.url}`, `${method} /v1${path}`);
        assert.equal(seen?.headers["x-mark"], route);
        assert.equal(seen?.body, "body" in body ? body.body : "");
      }
    }
  });

  test("the server's key takes the place of the client's, and what concerns only the two of us stays here", async () => {
    at.point({ organization: "org-ours" });
    await sendRaw(at.url, "/openai/v1/models", {
      headers: {
        authorization: "Bearer sk-of-the-client",
        "api-key": "client",
        "x-api-key": "client",
        cookie: "lockstep_session=secret",
        "openai-organization": "org-theirs",
        "openai-project": "proj-theirs",
        "accept-encoding": "gzip, br",
        connection: "close, x-private",
        "x-private": "for this hop",
        "proxy-authorization": "Basic x",
        te: "trailers",
        "x-forwarded-for": "10.1.2.3",
        "x-http-method-override": "DELETE",
        "x-stainless-lang": "js",
        "x-client-request-id": "abc",
        "user-agent": "OpenAI/JS",
      },
    });
    const { host, connection, ...headers } = at.service.seen[0]?.headers ?? {};
    assert.equal(`http://${host}`, at.service.url);
    assert.notEqual(connection, "close, x-private");
    assert.deepEqual(headers, {
      "accept-encoding": "identity",
      authorization: `Bearer ${SERVICE_KEY}`,
      "openai-organization": "org-ours",
      "user-agent": "OpenAI/JS",
      "x-client-request-id": "abc",
      "x-stainless-lang": "js",
    });
  });

  test("OpenAI-Beta is added where it is wanted and left as it is where it came", async () => {
    const beta = async (path: string, headers: Record<string, string> = {}): Promise<unknown> => {
      await ask(at.url, `GET /openai${path}`, { headers });
      return at.service.seen.pop()?.headers["openai-beta"];
    };
    for (const path of ["/assistants", "/threads/t_1", "/threads/t_1/runs/r_1", "/vector_stores/vs_1/files"]) {
      assert.equal(await beta(path), "assistants=v2", path);
    }
    assert.equal(await beta("/vector_stores", { "openai-beta": "assistants=v3" }), "assistants=v3");
    assert.equal(await beta("/files"), undefined);
  });

  test("answers come back as they are, errors too, but for what would be taken for our own word", async () => {
    const body = '{"error": {"message": "slow down",\n "type":"requests","param":null,"code":"rate_limit_exceeded"}}';
    at.service.answer = (_, outgoing) => {
      outgoing.writeHead(429, {
        "content-type": "application/json",
        "x-request-id": "req_1",
        "retry-after": "7",
        "x-ratelimit-remaining-requests": "0",
        "openai-processing-ms": "12",
        "set-cookie": ["a=1", "b=2"],
        "access-control-allow-origin": "*",
        "alt-svc": 'h3=":443"',
        connection: "x-hop",
        "x-hop": "1",
      });
      outgoing.end(body);
    };
    const reply = await ask(at.url, "GET /openai/v1/files");
    assert.equal(reply.status, 429);
    assert.equal(reply.text, body);
    const told = (name: string): string | null => reply.headers.get(name);
    assert.deepEqual(
      ["x-request-id", "retry-after", "x-ratelimit-remaining-requests", "openai-processing-ms"].map(told),
      ["req_1", "7", "0", "12"],
    );
    for (const name of ["set-cookie", "access-control-allow-origin", "alt-svc", "x-hop"]) {
      assert.equal(told(name), null, name);
    }
  });

  test("content-length and content-encoding tell the truth, with HEAD and without a body, too", async () => {
    const packed = Buffer.from("H4sIAAAAAAAAA8tIzcnJBwCGphA2BQAAAA==", "base64");
    at.service.answer = (_, outgoing) => {
      outgoing.writeHead(200, { "content-encoding": "gzip", "content-length": packed.length }).end(packed);
    };
    const raw = await sendRaw(at.url, "/openai/files/f/content");
    assert.deepEqual([raw.headers["content-length"], raw.headers["content-encoding"]], [`${packed.length}`, "gzip"]);
    const head = await sendRaw(at.url, "/openai/files/f/content", { method: "HEAD" });
    assert.deepEqual([head.status, head.headers["content-length"], head.text], [200, `${packed.length}`, ""]);
    at.service.answer = (_, outgoing) => void outgoing.writeHead(204).end();
    assert.deepEqual((await sendRaw(at.url, "/openai/x", { method: "DELETE" })).status, 204);
  });

  test("a redirect is neither followed nor handed on", async () => {
    at.service.answer = (incoming, outgoing) => {
      at.service.seen.push({ method: "", url: incoming.url ?? "", headers: incoming.headers, body: "" });
      outgoing.writeHead(307, { location: `${at.service.url}/elsewhere` }).end("moved");
    };
    const reply = await ask(at.url, "GET /openai/files");
    assert.equal(reply.status, 502);
    assert.equal(reply.headers.get("location"), null);
    assert.match(String(reply.json["error"]?.["message"]), /redirect/);
    assert.equal(at.service.seen.length, 1);
  });

  test("no spelling of a path leads out of the service's own", async () => {
    const paths = [
      "/openai/../admin",
      "/openai/%2e%2e/admin",
      "/openai/v1/../../admin",
      "/openai/files/..%2f..%2fadmin",
      "/openai/files/..%5c..%5cadmin",
      "/openai/%252e%252e/admin",
      "/openai/%252e%252e%252fadmin",
      "/openai/files/%2e%2e%2f%2e%2e/admin",
      "/openai/..;/admin/%2e%2e",
      "/openai/%E0%A4%A/files",
      "/openai/files%00/x",
      "/openai/files%0d%0ahost:evil/x",
      "/openai\\..\\admin",
      "/openai//../../admin",
    ];
    for (const path of paths) {
      const { status } = await sendRaw(at.url, path, { headers: { "content-type": "application/json" } });
      assert.ok(status === 400 || status === 404 || status === 200, `${path}: ${status}`);
    }
    for (const { url } of at.service.seen) assert.match(decodeURIComponent(url), /^\/v1\/(?!.*\.\.(\/|$))/);
    await sendRaw(at.url, "/openai//other.example/files");
    assert.equal(at.service.seen.at(-1)?.url, "/v1//other.example/files");
  });

  test("HTTP_PROXY is honoured on the way to the service", async () => {
    const through: string[] = [];
    const between = createServer((incoming, outgoing) => {
      through.push(incoming.url ?? "");
      outgoing.end("{}");
    }).on("connect", (incoming, socket) => {
      through.push(incoming.url ?? "");
      const { hostname, port } = new URL(at.service.url);
      const onward = connect(Number(port), hostname, () => {
        socket.write("HTTP/1.1 200 OK\r\n\r\n");
        onward.pipe(socket).pipe(onward);
      });
    });
    await new Promise<void>((resolve) => between.listen(0, "127.0.0.1", resolve));
    const earlier = process.env["HTTP_PROXY"];
    process.env["HTTP_PROXY"] = `http://127.0.0.1:${(between.address() as AddressInfo).port}`;
    try {
      at.point({ baseUrl: "http://api.invalid/v1" });
      assert.equal((await sendRaw(at.url, "/openai/models")).status, 200);
    } finally {
      if (earlier === undefined) delete process.env["HTTP_PROXY"];
      else process.env["HTTP_PROXY"] = earlier;
      between.closeAllConnections();
      await new Promise((resolve) => between.close(resolve));
    }
    assert.equal(through.length, 1);
    assert.match(through[0] ?? "", /api\.invalid/);
  });

  test("a service that is not there is 502, one that is silent 504, in the protocol's shape and without its address", async () => {
    at.point({ baseUrl: "http://127.0.0.1:9/v1" });
    const gone = await ask(at.url, "POST /openai/v1/responses", { json: { model: "m" } });
    assert.equal(gone.status, 502);
    const { error } = gone.json as unknown as { error: Record<string, unknown> };
    assert.deepEqual(Object.keys(error), ["message", "type", "param", "code"]);
    assert.match(String(error["message"]), /could not be reached \(ECONNREFUSED\)/);
    assert.doesNotMatch(gone.text, /127\.0\.0\.1/);
    at.point({}, { idleTimeoutMs: 50 });
    at.service.answer = () => undefined;
    const silent = await ask(at.url, "GET /openai/v1/models");
    assert.equal(silent.status, 504);
    assert.equal(silent.json["error"]?.["type"], "server_error");
    for (const text of [gone.text, silent.text]) assert.doesNotMatch(text, new RegExp(SERVICE_KEY));
  });
});
