// A host that asks to wait or fails is left alone, and others are not.
import assert from "node:assert/strict";
import { after, describe, it } from "node:test";
import { createRobotsCache } from "../../src/sources/web/robots.ts";
import { createSender } from "../../src/sources/web/web-client.ts";
import { handClock, settle } from "../lib/hand-clock.ts";
import { asResponse, closeOpened, get, openClient, startSite } from "./web-client-world.ts";

after(closeOpened);

describe("a host that is not well", () => {
  const tired = (seconds: number) => (url: string | undefined) =>
    url?.startsWith("/tired") ? { "retry-after": String(seconds) } : undefined;
  const openTired = async (status: number, wish = tired(7200)) => {
    const clock = handClock();
    const site = await startSite(({ url }, response) => {
      const headers = wish(url);
      response.writeHead(headers ? status : 200, headers).end();
    });
    const client = openClient({ clock });
    const ask = async (path: string): Promise<string> => {
      const answer = await client.send(get(site.origin + path));
      if (answer.kind !== "unavailable") return answer.kind;
      return `${answer.status ?? "not asked"} for ${Math.round((answer.retryAfterMs ?? 0) / 60_000)} minutes`;
    };
    return { clock, site, client, ask };
  };

  it("one address that asks to wait is left alone for an hour at most, and its host is not", async () => {
    const { clock, site, client, ask } = await openTired(503);
    assert.deepEqual(await client.send(get(`${site.origin}/tired`)), {
      kind: "unavailable",
      status: 503,
      reason: `${new URL(site.origin).host}/tired answered 503 and asks to wait`,
      retryAfterMs: 3_600_000,
    });
    assert.deepEqual([await ask("/other"), await ask("/tired")], ["response", "not asked for 60 minutes"]);
    await clock.pass(30 * 60_000);
    assert.equal(await ask("/tired"), "not asked for 30 minutes");
    await clock.pass(30 * 60_000);
    assert.equal(await ask("/tired"), "503 for 60 minutes");
    assert.deepEqual(site.asked, ["/robots.txt", "/tired", "/other", "/tired"]);
  });

  it("three addresses within ten minutes speak for their host, once more for an hour at most", async () => {
    const { clock, ask } = await openTired(429);
    for (const path of ["/tired1", "/tired2"]) await ask(path);
    await clock.pass(11 * 60_000);
    await ask("/tired3");
    assert.equal(await ask("/other"), "response", "the first two were long ago");
    for (const path of ["/tired3", "/tired4"]) await ask(path);
    assert.equal(await ask("/other"), "response", "one address twice is one");
    assert.equal(await ask("/tired5"), "429 for 60 minutes");
    assert.equal(await ask("/other"), "not asked for 60 minutes");
    await clock.pass(60 * 60_000);
    assert.equal(await ask("/other"), "response");
  });

  it("a short wish is waited for", async () => {
    let isTired = true;
    const { clock, ask } = await openTired(503, (url) => (isTired ? tired(20)(url) : undefined));
    await ask("/tired");
    isTired = false;
    const again = ask("/tired");
    while ((await Promise.race([again, settle()])) === undefined) await clock.pass(1000);
    assert.equal(await again, "response");
    assert.ok(clock.nowMs() >= 20_000);
  });

  it("is asked again after a rest it did not measure", async () => {
    let isWell = false;
    const site = await startSite((_request, response) => response.writeHead(isWell ? 200 : 503).end());
    const client = openClient({ restMs: 1 });
    for (let i = 0; i < 4; i += 1) {
      const answer = await client.send(get(`${site.origin}/${i}`));
      assert.ok(answer.kind === "unavailable" && answer.status === 503 && answer.retryAfterMs === undefined);
    }
    isWell = true;
    asResponse(await client.send(get(`${site.origin}/well`)));
    assert.equal(site.asked.length, 6);
  });

  it("500, 502, 504, 408 and 425 are not now, and concern the page alone until they are five in a row", async () => {
    const site = await startSite(({ url }, response) => response.writeHead(Number(url?.slice(1))).end());
    const client = openClient({ restMs: 3_600_000 });
    const NOT_NOW = [500, 502, 504, 408];
    for (const status of [...NOT_NOW, 400, ...NOT_NOW, 404, ...NOT_NOW, 418, 401, 403, 410, 425, 999, 500, 502, 504]) {
      const answer = await client.send(get(`${site.origin}/${status}`));
      assert.equal(answer.kind === "refused" ? answer.reason : answer.status, status);
    }
    const asked = site.asked.length;
    const answer = await client.send(get(`${site.origin}/200`));
    assert.ok(answer.kind === "unavailable" && (answer.retryAfterMs ?? 0) > 200_000, answer.kind);
    assert.match(answer.reason, /answered 504; requests to it are paused$/);
    assert.equal(site.asked.length, asked);
  });

  it("is left alone when it stopped answering at all", async () => {
    let isDead = false;
    const site = await startSite((request, response) => (isDead ? request.socket.destroy() : response.end()));
    const client = openClient({ restMs: 3_600_000 });
    asResponse(await client.send(get(`${site.origin}/alive`)));
    isDead = true;
    for (let i = 0; i < 8; i += 1) {
      assert.equal((await client.send(get(`${site.origin}/${i}`))).kind, "unavailable");
    }
    const tries = site.asked.filter((path) => /\d$/.test(path));
    assert.equal(tries.length, 10, "five pages, each by a second connection as well");
  });
});

describe("a robots.txt is remembered", () => {
  const rows = [
    ["", 24 * 3600],
    ["max-age=7200", 7200],
    ["public, Max-Age = 7200", 7200],
    ["max-age=0, must-revalidate", 300],
    ["s-maxage=1", 24 * 3600],
    ["max-age=99999999", 24 * 3600],
  ] as const;
  for (const [cacheControl, seconds] of rows) {
    it(`${cacheControl || "without a word"}: ${seconds} seconds`, async () => {
      const site = await startSite(
        (_request, response) => response.end(),
        (_request, response) => response.writeHead(200, { "cache-control": cacheControl }).end(),
      );
      const pace = { requestsPerHost: 1, hostDelayMs: 0, timeoutMs: 60_000, patienceMs: 0, restMs: 0 };
      const sender = createSender({ userAgent: "x", allowPrivateNetworks: true, ...pace });
      let nowMs = 0;
      const book = createRobotsCache({
        token: "lockstep",
        send: (url, maxBytes) => sender.send(url, get(url.href, { maxBytes })),
        restMs: 0,
        nowMs: () => nowMs,
      });
      await book.of(site.origin);
      nowMs = seconds * 1000 - 1;
      await book.of(site.origin);
      assert.equal(site.asked.length, 1);
      nowMs += 1;
      await book.of(site.origin);
      assert.equal(site.asked.length, 2);
      await sender.close();
    });
  }

  it("a longer delay than ours is kept, up to a minute", async () => {
    const waits: string[] = [];
    const tell = (line: string): unknown => waits.push(line);
    const site = await startSite(
      (_request, response) => response.end(),
      (_request, response) => response.end("User-agent: *\nCrawl-delay: 86400"),
    );
    const client = openClient();
    asResponse(await client.send(get(`${site.origin}/a`)));
    const controller = new AbortController();
    const { signal } = controller;
    const others = ["/b", "/c"].map((path) => client.send(get(`${site.origin}${path}`, { signal, tell })));
    while (waits.length === 0) await new Promise(setImmediate);
    controller.abort();
    for (const other of others) await assert.rejects(other, { name: "CancelledError" });
    assert.equal(waits.length, 1);
    assert.match(waits[0] ?? "", /^Waiting (5\d|60) s: 127\.0\.0\.1:\d+ is requested at a minimum interval$/);
    assert.ok(!site.asked.includes("/b"));
  });
});
