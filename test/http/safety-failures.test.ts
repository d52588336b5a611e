// An address may be wrong only so often, by every way in.
import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, it } from "node:test";
import { ask, type Reply } from "./ask.ts";
import { type Served, serveScripted } from "./scripted-app.ts";

const KEY = "5d0f3a9c1be84772a6f1c0d98e3b7a42";
const LIST = "GET /v2/domains?format=json";

describe("how often an address may be wrong", () => {
  let served: Served;
  beforeEach(async () => {
    served = await serveScripted({ settings: { ADMIN_API_KEY: KEY, BEHIND_PROXY: "true" } });
  });
  afterEach(() => served.close());

  const bring = (secret: string, from: string, what = LIST): Promise<Reply> =>
    ask(served.url, what, { headers: { authorization: `Bearer ${secret}`, "x-forwarded-for": from } });
  const signIn = (key: string): Promise<Reply> =>
    ask(served.url, "POST /sign-in", { form: { key }, headers: { origin: served.url } });
  /** How many of each status, as many at once as possible. */
  async function flood(send: (i: number) => Promise<Reply>, times: number): Promise<Map<number, number>> {
    const replies = await Promise.all(Array.from({ length: times }, (_, i) => send(i)));
    const counts = new Map<number, number>();
    for (const { status } of replies) counts.set(status, (counts.get(status) ?? 0) + 1);
    return counts;
  }

  it("holds for attempts at the same time as for one after the other", async () => {
    const counts = await flood((i) => bring(`wrong ${i}`, "203.0.113.9"), 120);
    // What flows back meanwhile depends on the machine.
    assert.ok((counts.get(401) ?? 0) >= 20 && (counts.get(429) ?? 0) >= 60, JSON.stringify([...counts]));
    assert.equal((await bring(KEY, "203.0.113.9")).status, 200);
  });

  it("holds for the sign-in page, too", async () => {
    const counts = await flood((i) => signIn(`wrong ${i}`), 60);
    assert.ok((counts.get(401) ?? 0) >= 10 && (counts.get(429) ?? 0) >= 30, JSON.stringify([...counts]));
    assert.equal((await signIn(KEY)).status, 303);
  });

  for (const open of ["GET /health", "GET /sign-in"]) {
    it(`counts what is brought to ${open}`, async () => {
      const counts = await flood((i) => bring(`wrong ${i}`, "203.0.113.9", open), 120);
      assert.ok((counts.get(429) ?? 0) >= 60, JSON.stringify([...counts]));
      const more = await flood((i) => bring(`wrong ${i}`, "203.0.113.9"), 20);
      assert.ok((more.get(429) ?? 0) > 0, "one count for all addresses");
      const stranger = await ask(served.url, open, { headers: { "x-forwarded-for": "203.0.113.9" } });
      assert.equal(stranger.status, 200, "who brings nothing cannot be wrong");
      assert.ok([200, 303].includes((await bring(KEY, "203.0.113.9", open)).status));
    });
  }

  it("right ones cost nothing, however many", async () => {
    const { key } = await served.app.access.keys.create({ name: "a", role: "read", expiresAt: "" });
    await flood(() => bring(key, "203.0.113.9"), 60);
    assert.equal((await bring("wrong", "203.0.113.9")).status, 401);
  });

  const SAME: readonly [form: string, wrong: (i: number) => string, other: string][] = [
    ["with ports", (i) => `203.0.113.9:${50_000 + i}`, "198.51.100.7:4711"],
    ["of version 6, with ports", (i) => `[2001:db8::9]:${50_000 + i}`, "[2001:db8:0:1::9]:4711"],
    ["of version 6, in one network", (i) => `2001:db8::${i + 1}`, "2001:db8:0:1::1"],
    ["of version 4 as version 6 writes them", () => "::ffff:203.0.113.9", "::ffff:198.51.100.7"],
  ];
  for (const [form, wrong, other] of SAME) {
    it(`knows addresses apart: ${form}`, async () => {
      const counts = await flood((i) => bring(`wrong ${i}`, wrong(i)), 60);
      assert.ok((counts.get(429) ?? 0) >= 20, JSON.stringify([...counts]));
      assert.equal((await bring("wrong", other)).status, 401);
    });
  }

  it("writes down the address without its port", async () => {
    await served.app.access.keys.create({ name: "a", role: "read", expiresAt: "" });
    await ask(served.url, "POST /sign-in", {
      form: { key: KEY },
      headers: { origin: served.url, "x-forwarded-for": "[2001:db8::9]:443" },
    });
    const { entries } = await served.app.audit.list({ limit: 1, offset: 0, filter: "" });
    assert.equal(entries[0]?.from, "2001:db8::9");
  });
});
