import assert from "node:assert/strict";
import { after, describe, it } from "node:test";
import { readRetryAfterMs } from "../../src/lib/retry-after.ts";
import { createHostGate, type GateOptions, type Place } from "../../src/sources/web/client/host-gate.ts";
import { createRobotsBook } from "../../src/sources/web/client/robots-book.ts";
import { createSender } from "../../src/sources/web/client/sender.ts";
import { asResponse, closeOpened, forever, get, openClient, startSite } from "./web-client-world.ts";

after(closeOpened);

/** Time passes when the test says so. */
function handClock() {
  let now = 0;
  const due = new Map<() => void, number>();
  return {
    nowMs: () => now,
    after(ms: number, run: () => void) {
      due.set(run, now + ms);
      return () => void due.delete(run);
    },
    async pass(ms: number) {
      now += ms;
      for (const [run, at] of due) {
        if (at > now) continue;
        due.delete(run);
        run();
      }
      await settle();
    },
  };
}

/** Lets everything that can go on go on. */
async function settle(): Promise<void> {
  for (let i = 0; i < 3; i += 1) await new Promise(setImmediate);
}

function openGate(options: Partial<GateOptions> = {}) {
  const clock = handClock();
  const waits: string[] = [];
  const tell = (line: string): unknown => waits.push(line);
  const gate = createHostGate({
    host: "a.example",
    requestsAtOnce: 2,
    intervalMs: 0,
    patienceMs: 30_000,
    clock,
    ...options,
  });
  const events: string[] = [];
  const places: Place[] = [];
  const enter = async (who: string): Promise<void> => {
    void gate.enter(forever, tell).then((place) => {
      if ("leave" in place) places.push(place);
      events.push("leave" in place ? who : `${who} turned away for ${place.waitMs}: ${place.reason}`);
    });
    await settle();
  };
  /** Who got in or was turned away since the last time it was asked. */
  const came = (): string[] => events.splice(0);
  return { clock, waits, gate, came, enter, leaveOne: () => places.shift()?.leave() };
}

describe("the gate of a host", () => {
  it("lets so many in at once, and the others in their order", async () => {
    const { enter, came, leaveOne } = openGate();
    for (const who of ["a", "b", "c", "d"]) await enter(who);
    assert.deepEqual(came(), ["a", "b"]);
    leaveOne();
    await settle();
    assert.deepEqual(came(), ["c"]);
    leaveOne();
    leaveOne();
    await settle();
    assert.deepEqual(came(), ["d"]);
  });

  it("keeps time between two starts, even if the first is over", async () => {
    const { enter, came, leaveOne, clock, gate, waits } = openGate({ intervalMs: 100 });
    for (const who of ["a", "b", "c"]) await enter(who);
    leaveOne();
    await clock.pass(99);
    assert.deepEqual(came(), ["a"]);
    await clock.pass(1);
    assert.deepEqual(came(), ["b"]);
    leaveOne();
    gate.slowDown(5000);
    await clock.pass(100);
    assert.deepEqual(came(), ["c"]);
    leaveOne();
    gate.slowDown(10);
    for (const who of ["d", "e"]) await enter(who);
    await clock.pass(4999);
    assert.deepEqual(came(), []);
    await clock.pass(1);
    await clock.pass(99);
    assert.deepEqual(came(), ["d"], "never faster than it was made for");
    await clock.pass(1);
    assert.deepEqual(came(), ["e"]);
    assert.equal(waits[0], "Waiting 5 s: a.example wants time between two requests");
  });

  it("rests, and opens slowly", async () => {
    const { enter, came, leaveOne, clock, gate, waits } = openGate({ requestsAtOnce: 4 });
    await enter("a");
    gate.rest(10_000, "tired");
    gate.rest(5_000, "a shorter rest changes nothing");
    leaveOne();
    for (const who of ["b", "c", "d", "e"]) await enter(who);
    assert.deepEqual(came(), ["a"]);
    assert.deepEqual(waits, ["Waiting 10 s: tired"], "who watches is told once");
    await clock.pass(10_000);
    assert.deepEqual(came(), ["b"]);
    gate.wentWell();
    leaveOne();
    leaveOne();
    await settle();
    assert.deepEqual(came(), ["c", "d"]);
  });

  it("turns everybody away at once when the rest is longer than anybody's patience", async () => {
    const { enter, came, clock, gate } = openGate({ requestsAtOnce: 1 });
    for (const who of ["a", "b"]) await enter(who);
    gate.rest(60_000, "very tired");
    await settle();
    await enter("c");
    assert.deepEqual(came(), ["a", "b turned away for 60000: very tired", "c turned away for 60000: very tired"]);
    await clock.pass(30_000);
    await enter("d");
    assert.deepEqual(came(), [], "half a minute is worth waiting for");
  });

  it("counts what goes wrong in a row, but not what was under way when the rest began", async () => {
    const { clock, gate } = openGate();
    const places: Place[] = [];
    for (let i = 0; i < 2; i += 1) {
      const place = await gate.enter(forever);
      if ("leave" in place) places.push(place);
    }
    const [first, second] = places;
    assert.ok(first && second);
    assert.equal(gate.wentWrong(first), 1);
    gate.rest(1000, "tired");
    assert.equal(gate.wentWrong(second), 0);
    for (const place of places) place.leave();
    await clock.pass(1000);
    const third = await gate.enter(forever);
    assert.ok("leave" in third);
    assert.equal(gate.wentWrong(third), 2);
    gate.wentWell();
    assert.equal(gate.wentWrong(third), 1);
  });

  it("forgets whoever gives up while waiting", async () => {
    const { enter, came, leaveOne, gate } = openGate({ requestsAtOnce: 1 });
    await enter("a");
    came();
    const controller = new AbortController();
    const waiting = gate.enter(controller.signal);
    await enter("c");
    controller.abort(new Error("gave up"));
    await assert.rejects(waiting, /gave up/);
    await assert.rejects(gate.enter(controller.signal), /gave up/);
    leaveOne();
    await settle();
    assert.deepEqual(came(), ["c"]);
    assert.equal(gate.isIdle(), false);
    leaveOne();
    assert.equal(gate.isIdle(), true);
  });
});

it("Retry-After is read as seconds and as a date", () => {
  const now = new Date("2026-11-16T10:00:00Z");
  const rows = [
    ["120", 120_000],
    [" 0 ", 0],
    ["1.5", 1500],
    ["Mon, 16 Nov 2026 10:01:00 GMT", 60_000],
    ["Monday, 16-Nov-26 10:01:00 GMT", 60_000],
    ["Mon, 16 Nov 2026 09:00:00 GMT", 0],
    ["99999999999", 86_400_000],
    ["-5", undefined],
    ["soon", undefined],
    ["", undefined],
    [undefined, undefined],
  ] as const;
  for (const [text, ms] of rows) assert.equal(readRetryAfterMs(text, now), ms, text);
});

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
      const answer = await client.ask(get(site.origin + path));
      if (answer.kind !== "unavailable") return answer.kind;
      return `${answer.status ?? "not asked"} for ${Math.round((answer.retryAfterMs ?? 0) / 60_000)} minutes`;
    };
    return { clock, site, client, ask };
  };

  it("one address that asks to wait is left alone for an hour at most, and its host is not", async () => {
    const { clock, site, client, ask } = await openTired(503);
    assert.deepEqual(await client.ask(get(`${site.origin}/tired`)), {
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

  it("is slowed down by every 429, and recovers", async () => {
    const { enter, came, clock, gate, leaveOne } = openGate({ requestsAtOnce: 4, easedMs: 1000 });
    const pace = async (): Promise<number> => {
      await enter("x");
      const begun = clock.nowMs();
      while (came().length === 0) await clock.pass(50);
      leaveOne();
      return clock.nowMs() - begun;
    };
    assert.equal(await pace(), 0);
    gate.ease();
    assert.deepEqual([await pace(), await pace()], [1000, 1000]);
    gate.ease();
    assert.ok((await pace()) > 1000);
    for (let i = 0; i < 60; i += 1) gate.wentWell();
    await pace();
    assert.equal(await pace(), 0);
  });

  it("is asked again after a rest it did not measure", async () => {
    let isWell = false;
    const site = await startSite((_request, response) => response.writeHead(isWell ? 200 : 503).end());
    const client = openClient({ restMs: 1 });
    for (let i = 0; i < 4; i += 1) {
      const answer = await client.ask(get(`${site.origin}/${i}`));
      assert.ok(answer.kind === "unavailable" && answer.status === 503 && answer.retryAfterMs === undefined);
    }
    isWell = true;
    asResponse(await client.ask(get(`${site.origin}/well`)));
    assert.equal(site.asked.length, 6);
  });

  it("500, 502, 504, 408 and 425 are not now, and concern the page alone until they are five in a row", async () => {
    const site = await startSite(({ url }, response) => response.writeHead(Number(url?.slice(1))).end());
    const client = openClient({ restMs: 3_600_000 });
    const NOT_NOW = [500, 502, 504, 408];
    for (const status of [...NOT_NOW, 400, ...NOT_NOW, 404, ...NOT_NOW, 418, 401, 403, 410, 425, 999, 500, 502, 504]) {
      const answer = await client.ask(get(`${site.origin}/${status}`));
      assert.equal(answer.kind === "refused" ? answer.reason : answer.status, status);
    }
    const asked = site.asked.length;
    const answer = await client.ask(get(`${site.origin}/200`));
    assert.ok(answer.kind === "unavailable" && (answer.retryAfterMs ?? 0) > 200_000, answer.kind);
    assert.match(answer.reason, /answered 504, so it is left alone for now$/);
    assert.equal(site.asked.length, asked);
  });

  it("is left alone when it stopped answering at all", async () => {
    let isDead = false;
    const site = await startSite((request, response) => (isDead ? request.socket.destroy() : response.end()));
    const client = openClient({ restMs: 3_600_000 });
    asResponse(await client.ask(get(`${site.origin}/alive`)));
    isDead = true;
    for (let i = 0; i < 8; i += 1) {
      assert.equal((await client.ask(get(`${site.origin}/${i}`))).kind, "unavailable");
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
      const pace = { requestsPerHost: 1, hostDelayMs: 0, timeoutMs: 2000, patienceMs: 0, restMs: 0 };
      const sender = createSender({ userAgent: "x", allowPrivateNetworks: true, ...pace });
      let nowMs = 0;
      const book = createRobotsBook({
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
    asResponse(await client.ask(get(`${site.origin}/a`)));
    const controller = new AbortController();
    const { signal } = controller;
    const others = ["/b", "/c"].map((path) => client.ask(get(`${site.origin}${path}`, { signal, tell })));
    while (waits.length === 0) await new Promise(setImmediate);
    controller.abort();
    for (const other of others) await assert.rejects(other, { name: "CancelledError" });
    assert.equal(waits.length, 1);
    assert.match(waits[0] ?? "", /^Waiting (5\d|60) s: 127\.0\.0\.1:\d+ wants time between two requests$/);
    assert.ok(!site.asked.includes("/b"));
  });
});
