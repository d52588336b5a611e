// Failures are logged once, with a stack where they are unexpected, and answered in a sentence.
import assert from "node:assert/strict";
import { after, before, beforeEach, describe, it } from "node:test";
import { BadInputError, RemoteError } from "../../src/contracts/errors.ts";
import { serveHttp } from "../../src/http/serve-http.ts";
import { ask } from "./ask.ts";
import { sendRaw } from "./raw-request.ts";
import { type Served, serveScripted } from "./scripted-app.ts";

const QUERY = "GET /query2?query=x&format=json";

describe("what went wrong", () => {
  let served: Served;
  before(async () => {
    served = await serveScripted();
  });
  beforeEach(() => {
    served.logged.length = 0;
  });
  after(() => served.close());

  it("with others is one line in the log", async () => {
    served.script.query = async () => {
      throw new RemoteError("The backend cannot be reached", { cause: new Error("connect ECONNREFUSED") });
    };
    const { status } = await ask(served.url, QUERY);
    assert.equal(status, 502);
    assert.deepEqual(served.logged, ["GET /query2: The backend cannot be reached: connect ECONNREFUSED"]);
  });

  it("with the same words again and again is one line, and the number of times", async () => {
    const own = await serveScripted();
    own.script.query = async () => {
      throw new RemoteError("The backend sleeps");
    };
    for (let i = 0; i < 5; i++) assert.equal((await ask(own.url, QUERY)).status, 502);
    assert.deepEqual(own.logged, ["GET /query2: The backend sleeps"]);
    await own.close();
    assert.deepEqual(own.logged, ["GET /query2: The backend sleeps", "GET /query2: The backend sleeps (4 more times)"]);
  });

  it("unexpectedly is in the log with its stack", async () => {
    served.script.query = async () => {
      throw new TypeError("x is not a function");
    };
    const { status } = await ask(served.url, QUERY);
    assert.equal(status, 500);
    assert.match(served.logged.join("\n"), /^GET \/query2: x is not a function\n +at /);
  });

  it("with the method is told in JSON, also where people are shown a page unasked", async () => {
    for (const path of ["/v2/crawler", "/v2/crawler?domain_id=D", "/v2/domains", "/v2/jobs/get"]) {
      const { status, json } = await ask(served.url, `PATCH ${path}`);
      assert.deepEqual(
        [status, json],
        [400, { ok: false, error: "HTTP method 'PATCH' not supported.", data: {} }],
        path,
      );
    }
    const page = await ask(served.url, "PATCH /v2/crawler?format=ui");
    assert.deepEqual([page.status, page.type], [400, "text/html"]);
  });

  it("with a request that names no host is told in a sentence", async () => {
    for (const version of ["1.1", "1.0"]) {
      const { status, text } = await sendRaw(
        served.url,
        `GET /v2/domains HTTP/${version}\r\nconnection: close\r\n\r\n`,
      );
      assert.equal(status, 400);
      assert.match(text, /"ok":false,"error":"The address or the Host header is not valid\."/);
    }
  });

  it("with a port that is in use is told with the way out", async () => {
    const port = Number(new URL(served.url).port);
    await assert.rejects(serveHttp(served.app, { host: "127.0.0.1", port }), (error: unknown) => {
      assert.ok(error instanceof BadInputError);
      assert.match(
        error.message,
        new RegExp(`^Listen on 127\\.0\\.0\\.1:${port}: it is in use by another process\\. `),
      );
      return true;
    });
  });
});
