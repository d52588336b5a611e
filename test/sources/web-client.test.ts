// One request gives one response, within limits, whatever the server does.
import assert from "node:assert/strict";
import { createServer as createSecureServer } from "node:https";
import { createServer, type Socket } from "node:net";
import { after, before, describe, it } from "node:test";
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync, zstdCompressSync } from "node:zlib";
import { BodyError, type WebClient } from "../../src/contracts/web.ts";
import { makeCertificate } from "../../src/sandbox/certificates.ts";
import { asResponse, closeOpened, forever, get, listenOn, openClient, startSite } from "./web-client-world.ts";

after(closeOpened);

const PAGE = Buffer.from(`<p>${"Grüße aus dem Netz. ".repeat(200)}</p>`);

describe("one request, one answer", () => {
  it("says who asks and what is known, and hands on what is answered", async () => {
    const heard: Record<string, unknown>[] = [];
    const site = await startSite(({ headers }, response) => {
      heard.push(headers);
      response.writeHead(200, {
        ETag: 'W/"\u00e4"',
        "X-Robots-Tag": ["noindex", "lockstep: nofollow"],
        Link: ["</a>; rel=next", '<https://example.com/b>; rel="canonical"'],
        "Set-Cookie": "session=secret",
        Location: Buffer.from("/größe").toString("latin1"),
      });
      response.end(PAGE);
    });
    const client = openClient();
    const first = asResponse(await client.send(get(`http://user:secret@127.0.0.1:${site.port}/a?b=1#c`)));
    assert.equal(first.status, 200);
    assert.deepEqual(Buffer.from(await first.body()), PAGE);
    assert.equal(first.headers.get("x-robots-tag"), "noindex, lockstep: nofollow");
    assert.equal(first.headers.get("link"), '</a>; rel=next, <https://example.com/b>; rel="canonical"');
    assert.equal(first.headers.get("location"), "/größe");
    assert.equal(first.headers.has("set-cookie"), false);
    assert.deepEqual(site.asked, ["/robots.txt", "/a?b=1"]);

    const etag = first.headers.get("etag") ?? "";
    const lastModified = "2026-11-16T08:00:00.000Z";
    asResponse(await client.send(get(`${site.origin}/a`, { etag, lastModified, accept: "text/markdown" })));
    const [unknown, known] = heard;
    assert.equal(unknown?.["user-agent"], "lockstep/0 (+https://example.com/bot)");
    assert.equal(unknown["accept-language"], "*");
    assert.equal(unknown["accept-encoding"], "gzip, br, zstd, deflate");
    assert.equal(unknown["authorization"], undefined);
    assert.equal(unknown["if-none-match"], undefined);
    assert.equal(known?.["if-none-match"], 'W/"\u00e4"');
    assert.equal(known["if-modified-since"], "Mon, 16 Nov 2026 08:00:00 GMT");
    assert.equal(known["accept"], "text/markdown");
  });

  it("redirects and 304 are answers; HEAD has no body, whatever length it tells", async () => {
    const site = await startSite(({ url, method }, response) => {
      if (url === "/moved") response.writeHead(301, { location: "/new" }).end("moved");
      else if (url === "/same") response.writeHead(304, { etag: '"1"' }).end();
      else response.writeHead(200, { "content-length": 5_000_000 }).end(method === "HEAD" ? undefined : "x");
    });
    const client = openClient();
    const moved = asResponse(await client.send(get(`${site.origin}/moved`)));
    assert.deepEqual([moved.status, moved.headers.get("location")], [301, "/new"]);
    await moved.cancel();
    const same = asResponse(await client.send(get(`${site.origin}/same`, { etag: '"1"' })));
    assert.deepEqual([same.status, (await same.body()).byteLength], [304, 0]);
    assert.equal((await client.send(get(`${site.origin}/same`))).kind, "unavailable", "nothing was known");
    const head = asResponse(await client.send(get(`${site.origin}/large`, { method: "HEAD" })));
    assert.equal(head.headers.get("content-length"), "5000000");
    assert.equal((await head.body()).byteLength, 0);
  });

  it("a place is free again however a body ends: read, cancelled, small or large, or given up", async () => {
    const site = await startSite(({ url }, response) => {
      if (url === "/large") response.end(Buffer.alloc(900_000));
      else if (url === "/silent") response.writeHead(200).flushHeaders();
      else response.end(PAGE);
    });
    const client = openClient({ requestsPerHost: 1 });
    for (const path of ["/small", "/large", "/small"]) {
      await asResponse(await client.send(get(`${site.origin}${path}`))).cancel();
    }
    const controller = new AbortController();
    const silent = asResponse(await client.send(get(`${site.origin}/silent`, { signal: controller.signal })));
    const body = silent.body();
    controller.abort();
    await assert.rejects(body, { name: "CancelledError" });
    const read = asResponse(await client.send(get(`${site.origin}/large`)));
    assert.equal((await read.body()).byteLength, 900_000);
    await assert.rejects(read.body(), /taken already/);
  });

  it("bodies wait for whoever asks for them late", async () => {
    const site = await startSite(({ url }, response) => response.end(Buffer.alloc(3_000_000, url)));
    const client = openClient();
    const paths = ["/a", "/b", "/c", "/d"];
    const responses = [];
    for (const path of paths) {
      responses.unshift(asResponse(await client.send(get(`${site.origin}${path}`, { maxBytes: 3_000_000 }))));
    }
    for (const response of responses) {
      assert.deepEqual(Buffer.from(await response.body()), Buffer.alloc(3_000_000, paths.pop()));
    }
  });

  it("can be called off before an answer begins", async () => {
    const controller = new AbortController();
    const site = await startSite(() => controller.abort());
    await assert.rejects(openClient().send(get(`${site.origin}/a`, { signal: controller.signal })), {
      name: "CancelledError",
    });
    await assert.rejects(openClient().send(get(`${site.origin}/a`, { signal: controller.signal })), {
      name: "CancelledError",
    });
  });

  it("connections are used again, and no more than allowed are open", async () => {
    const site = await startSite((_request, response) => response.end(PAGE));
    const client = openClient({ requestsPerHost: 3 });
    const asks = Array.from({ length: 60 }, async (_, i) => {
      const response = asResponse(await client.send(get(`${site.origin}/${i}`)));
      return response.body();
    });
    assert.ok((await Promise.all(asks)).every((body) => PAGE.equals(body)));
    assert.ok(site.connections() <= 3, `${site.connections()} connections`);
  });

  it("after closing nothing is asked", async () => {
    const site = await startSite((_request, response) => response.end());
    const client = openClient();
    asResponse(await client.send(get(`${site.origin}/a`)));
    await client.close();
    assert.equal((await client.send(get(`${site.origin}/b`))).kind, "unavailable");
    assert.ok(!site.asked.includes("/b"));
  });
});

describe("packed bodies", () => {
  const twice = gzipSync(brotliCompressSync(PAGE));
  const rows: readonly (readonly [coding: string, packed: Uint8Array])[] = [
    ["gzip", gzipSync(PAGE)],
    ["GZip", gzipSync(PAGE)],
    ["x-gzip", Buffer.concat([gzipSync(PAGE.subarray(0, 99)), gzipSync(PAGE.subarray(99))])],
    ["deflate", deflateSync(PAGE)],
    ["deflate", deflateRawSync(PAGE)],
    ["br", brotliCompressSync(PAGE)],
    ["zstd", zstdCompressSync(PAGE)],
    ["br, gzip", twice],
    ["identity", PAGE],
    ["", PAGE],
  ];
  for (const [coding, packed] of rows) {
    it(coding || "not packed", async () => {
      const site = await startSite((_request, response) =>
        response.writeHead(200, { "content-encoding": coding }).end(packed),
      );
      const response = asResponse(await openClient().send(get(`${site.origin}/a`, { maxBytes: PAGE.byteLength })));
      assert.deepEqual(Buffer.from(await response.body()), PAGE);
    });
  }

  it("several header fields are one list, and an empty body is not unpacked", async () => {
    const site = await startSite(({ url }, response) =>
      response.setHeader("content-encoding", ["br", "gzip"]).end(url === "/empty" ? "" : twice),
    );
    const client = openClient();
    assert.deepEqual(Buffer.from(await asResponse(await client.send(get(`${site.origin}/a`))).body()), PAGE);
    assert.equal((await asResponse(await client.send(get(`${site.origin}/empty`))).body()).byteLength, 0);
  });
});

const bomb = (pack: (bytes: Uint8Array) => Uint8Array): Uint8Array => pack(Buffer.alloc(2_000_000));
const chunked = (body: string): string => `${body.length.toString(16)}\r\n${body}\r\n`;
const answer = (headers: string, body: string | Uint8Array = "") =>
  Buffer.concat([Buffer.from(`HTTP/1.1 200 OK\r\n${headers}\r\n\r\n`), Buffer.from(body)]);
const packedAs = (coding: string, body: Uint8Array) =>
  answer(`Content-Encoding: ${coding}\r\nContent-Length: ${body.byteLength}`, body);
const cut = (bytes: Uint8Array): Uint8Array => bytes.subarray(0, bytes.byteLength - 9);

interface Fault {
  /** What the server does instead of answering well. */
  readonly play: Uint8Array | string | ((socket: Socket) => void);
  /** Of the answer, or of the error that its body throws. */
  readonly outcome: "unavailable" | "too large" | "broken";
  readonly reason: RegExp;
}

const FAULTS: Readonly<Record<string, Fault>> = {
  reset: { play: (socket) => socket.resetAndDestroy(), outcome: "unavailable", reason: /reset|closed/ },
  closed: {
    play: (socket) => socket.destroy(),
    outcome: "unavailable",
    reason: /closed before the answer was complete/,
  },
  "closed within the headers": {
    play: (socket) => socket.end("HTTP/1.1 200 OK\r\nContent-"),
    outcome: "unavailable",
    reason: /closed before the answer was complete/,
  },
  silent: { play: () => undefined, outcome: "unavailable", reason: /no answer within the time limit/ },
  "headers drop by drop": {
    play: (socket) => drip(socket, "HTTP/1.1 200 OK\r\n", "X-A: b\r\n"),
    outcome: "unavailable",
    reason: /no answer within the time limit/,
  },
  "headers without end": {
    play: (socket) => flood(socket, "HTTP/1.1 200 OK\r\n", `X-A: ${"b".repeat(1000)}\r\n`),
    outcome: "unavailable",
    reason: /does not speak HTTP/,
  },
  "not HTTP": {
    play: "220 mail.example ESMTP ready\r\n",
    outcome: "unavailable",
    reason: /does not speak HTTP/,
  },
  "two lengths": {
    play: answer("Content-Length: 1\r\nContent-Length: 2", "ab"),
    outcome: "unavailable",
    reason: /does not speak HTTP/,
  },
  "stops in the middle": {
    play: answer("Content-Length: 100", "half"),
    outcome: "unavailable",
    reason: /was not received completely: it took too long/,
  },
  "body drop by drop": {
    play: (socket) => drip(socket, "HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n", "x"),
    outcome: "unavailable",
    reason: /was not received completely: it took too long/,
  },
  "shorter than it says": {
    play: (socket) => socket.end(answer("Content-Length: 100", "half")),
    outcome: "unavailable",
    reason: /was not received completely/,
  },
  "chunks break off": {
    play: (socket) => socket.end(answer("Transfer-Encoding: chunked", chunked("half"))),
    outcome: "unavailable",
    reason: /was not received completely/,
  },
  "chunks are nonsense": {
    play: answer("Transfer-Encoding: chunked", `${chunked("half")}zz\r\n`),
    outcome: "unavailable",
    reason: /was not received completely/,
  },
  "says it is too large": {
    play: answer("Content-Length: 5000000"),
    outcome: "too large",
    reason: /5000000 bytes; the limit is 1000000/,
  },
  "endless chunks": {
    play: (socket) => flood(socket, answer("Transfer-Encoding: chunked"), chunked("x".repeat(10_000))),
    outcome: "too large",
    reason: /larger than the limit of 1000000 bytes/,
  },
  "endless until closed": {
    play: (socket) => flood(socket, answer("Content-Type: text/html"), "x".repeat(10_000)),
    outcome: "too large",
    reason: /larger than the limit of 1000000 bytes/,
  },
  "gzip bomb": {
    play: packedAs("gzip", bomb(gzipSync)),
    outcome: "too large",
    reason: /larger than the limit of 1000000/,
  },
  "deflate bomb": { play: packedAs("deflate", bomb(deflateSync)), outcome: "too large", reason: /larger than/ },
  "br bomb": { play: packedAs("br", bomb(brotliCompressSync)), outcome: "too large", reason: /larger than/ },
  "zstd bomb": { play: packedAs("zstd", bomb(zstdCompressSync)), outcome: "too large", reason: /larger than/ },
  "bomb in a bomb": {
    play: packedAs("gzip, gzip", gzipSync(bomb(gzipSync))),
    outcome: "too large",
    reason: /larger than/,
  },
  "gzip cut": {
    play: packedAs("gzip", cut(gzipSync(PAGE))),
    outcome: "unavailable",
    reason: /was not received completely/,
  },
  "br cut": {
    play: packedAs("br", cut(brotliCompressSync(PAGE))),
    outcome: "unavailable",
    reason: /not received completely/,
  },
  "zstd cut": {
    play: packedAs("zstd", cut(zstdCompressSync(PAGE))),
    outcome: "unavailable",
    reason: /not received completely/,
  },
  "packed otherwise": { play: packedAs("gzip", PAGE), outcome: "broken", reason: /cannot be decompressed \(gzip\)/ },
  "unknown coding": {
    play: packedAs("sdch", PAGE),
    outcome: "broken",
    reason: /Content-Encoding is not supported: sdch/,
  },
  "too many codings": {
    play: packedAs("gzip, gzip, gzip, gzip", PAGE),
    outcome: "broken",
    reason: /Content-Encoding is not supported/,
  },
};

/** One drop each 20 ms, for as long as anybody listens. */
function drip(socket: Socket, start: string, drop: string): void {
  socket.write(start);
  const timer = setInterval(() => socket.write(drop), 20);
  socket.on("close", () => clearInterval(timer));
}

function flood(socket: Socket, start: string | Uint8Array, piece: string): void {
  socket.write(start);
  const pour = (): void => {
    while (!socket.destroyed && socket.write(piece));
  };
  socket.on("drain", pour);
  pour();
}

describe("servers that do not do as they should", { concurrency: true }, () => {
  let origin = "";
  let client: WebClient;
  /** For those that only end because time is up. */
  let impatient: WebClient;
  before(async () => {
    const server = createServer((socket) => {
      socket.on("error", () => undefined);
      socket.on("data", (request) => {
        const name = decodeURIComponent(/^GET \/([^\s?]*)/.exec(request.toString())?.[1] ?? "");
        const { play } = FAULTS[name] ?? { play: "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n" };
        if (typeof play === "function") play(socket);
        else socket.write(play);
      });
    });
    ({ origin } = await listenOn(server));
    client = openClient({ requestsPerHost: 64 });
    impatient = openClient({ requestsPerHost: 64, timeoutMs: 4000 });
  });

  for (const [name, { outcome, reason }] of Object.entries(FAULTS)) {
    it(name, async () => {
      const asking = /time limit|too long/.test(reason.source) ? impatient : client;
      const got = await asking.send(get(`${origin}/${encodeURIComponent(name)}?token=secret`));
      if (got.kind !== "response") {
        assert.equal(got.kind === "refused" ? got.why : got.kind, outcome, got.reason);
        assert.match(got.reason, reason);
        assert.doesNotMatch(got.reason, /secret/);
        return;
      }
      const error: unknown = await got.body().then(
        () => assert.fail("the body came"),
        (failure: unknown) => failure,
      );
      assert.ok(error instanceof BodyError, String(error));
      assert.equal(error.why, outcome, error.message);
      assert.match(error.message, reason);
      assert.doesNotMatch(error.message, /secret/);
    });
  }

  it("nobody there", async () => {
    const gone = createServer();
    const { origin: nobody } = await listenOn(gone);
    gone.close();
    const got = await client.send(get(`${nobody}/`));
    assert.match(got.kind === "unavailable" ? got.reason : "", /connection refused/);
  });

  it("a certificate that nobody can trust", async () => {
    const { pem } = await makeCertificate("127.0.0.1");
    const { port } = await listenOn(createSecureServer({ key: pem, cert: pem }));
    const got = await client.send(get(`https://127.0.0.1:${port}/`));
    assert.match(got.kind === "unavailable" ? got.reason : "", /signed by itself; NODE_EXTRA_CA_CERTS names/);
  });

  it("an idle connection that closes just when it is used again is no trouble", async () => {
    const server = createServer((socket) => {
      let answered = 0;
      socket.on("error", () => undefined);
      socket.on("data", () => {
        answered += 1;
        // Says nothing of it, and closes with the second request on the line.
        if (answered > 1) socket.destroy();
        else socket.write("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n");
      });
    });
    const site = await listenOn(server);
    const one = openClient({ requestsPerHost: 1 });
    for (const path of ["/a", "/b", "/c"]) {
      assert.equal(asResponse(await one.send(get(`${site.origin}${path}`, { signal: forever }))).status, 404);
    }
  });
});
