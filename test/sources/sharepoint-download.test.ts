// Files are downloaded whole or not at all, resumed and paused as SharePoint asks.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Sighting } from "../../src/contracts/source.ts";
import { openSharePointLibrary } from "../../src/sources/sharepoint/open-sharepoint-library.ts";
import { DOCS, useSandbox } from "./sandbox-world.ts";
import { fetchText, listAll, sourceConfig } from "./scripted-tenant.ts";

const SIGNAL = new AbortController().signal;

describe("a file of SharePoint is fetched", () => {
  const world = useSandbox();

  it("pauses everybody when one is told to slow down", async () => {
    for (let i = 0; i < 4; i += 1) world.add(`file-${i}.txt`);
    const connection = world.connect();
    const waits: string[] = [];
    const held = Promise.withResolvers<void>();
    const first = openSharePointLibrary(sourceConfig(world.sandbox.siteUrl), connection, {
      onWait: (reason) => {
        waits.push(reason);
        held.resolve();
      },
    });
    const second = openSharePointLibrary(sourceConfig(world.sandbox.siteUrl), connection);
    const { sightings } = await listAll(first);
    const [one, ...others] = sightings as [Sighting, ...Sighting[]];
    world.strike({ url: "value" }, { status: 429, headers: { "Retry-After": "1" } });
    const throttled = fetchText(first, one);
    await held.promise;
    const texts = await Promise.all([throttled, ...others.map((each) => fetchText(second, each)), listAll(second)]);
    assert.deepEqual(
      texts.slice(0, 4),
      sightings.map((each) => `text of ${each.path}`),
    );
    const log = world.sandbox.state.log.entries();
    const at = log.findIndex((entry) => entry.status === 429);
    const refusedAtMs = Date.parse(log[at]?.at ?? "");
    const later = log.slice(at + 1);
    assert.ok(later.length >= 6);
    // The clock of the log and ours are read apart, hence the few milliseconds of grace.
    assert.ok(later.every((entry) => Date.parse(entry.at) - refusedAtMs >= 990));
    assert.equal(waits.length, 1);
    assert.match(waits[0] ?? "", /answered 429/);
  });

  it("says that a file is gone, and throws when the reason may be another", async () => {
    world.add("a.txt");
    const source = world.open();
    const sighting = await world.theItem(source);
    world.act("delete", { path: `${DOCS}/a.txt` });
    assert.deepEqual(await source.fetch(sighting, SIGNAL), { status: "gone" });
    world.strike({ url: "value", times: "always" }, { status: 500 });
    await assert.rejects(source.fetch(sighting, SIGNAL), /download 'a.txt': SharePoint answered 500/);
  });

  it("never takes a short body for a short file", async () => {
    const text = "0123456789".repeat(50_000);
    world.add("big.txt", text);
    const source = world.open();
    const sighting = await world.theItem(source);
    for (const ending of ["close", "reset"] as const) {
      world.strike({ url: "value", times: "always" }, { truncateAfterBytes: 1000, ending });
      await assert.rejects(fetchText(source, sighting), /download 'big.txt': broke off after \d+ bytes/);
      world.sandbox.state.faults.clear();
      assert.equal(await fetchText(source, sighting), text);
    }
  });

  /** What was asked about the bytes, with the bytes that were sent. */
  const transfers = (): { range: unknown; ifRange: unknown; status: number; bytes: number }[] =>
    world.sandbox.state.log
      .entries()
      .filter(({ url }) => url.includes("value"))
      .map(({ headers, status, bytes }) => ({ range: headers["range"], ifRange: headers["if-range"], status, bytes }));

  it("a body that breaks off goes on where it stopped, as long as it is the same version", async () => {
    const text = "0123456789".repeat(50_000);
    world.add("big.txt", text);
    const source = world.open();
    const sighting = await world.theItem(source);
    for (const times of [1, 2]) world.strike({ url: "value", nth: times }, { truncateAfterBytes: 100_000 });
    assert.equal(await fetchText(source, sighting), text);
    const [whole, ...rest] = transfers();
    assert.deepEqual([whole?.status, whole?.range], [200, undefined]);
    assert.ok(rest.length > 0 && rest.every(({ status, ifRange }) => status === 206 && /^"\{/.test(String(ifRange))));
    const sent = transfers().reduce((sum, { bytes }) => sum + bytes, 0);
    assert.ok(sent < 1.5 * text.length, `${sent} bytes travelled`);
  });

  it("a server that ignores ranges sends it again from the beginning", async () => {
    const text = "0123456789".repeat(50_000);
    world.add("big.txt", text);
    world.sandbox.state.settings.rangeRequests = "ignored";
    const source = world.open();
    const sighting = await world.theItem(source);
    world.strike({ url: "value" }, { truncateAfterBytes: 100_000 });
    assert.equal(await fetchText(source, sighting), text);
    assert.deepEqual(
      transfers().map(({ status }) => status),
      [200, 200],
    );
  });

  it("what was changed meanwhile is never sewn together, and comes whole when asked for again", async () => {
    const [before, now] = ["a".repeat(300_000), "b".repeat(300_000)];
    for (const rangeRequests of ["honoured", "ignored"] as const) {
      world.sandbox.state.reset();
      world.sandbox.state.settings.rangeRequests = rangeRequests;
      world.add("big.txt", before);
      const source = world.open();
      const sighting = await world.theItem(source);
      world.strike({ url: "value" }, { truncateAfterBytes: 100_000 });
      const run = [{ operation: "update", path: `${DOCS}/big.txt`, text: now }];
      world.strike({ url: "value", nth: 2 }, { run });
      await assert.rejects(fetchText(source, sighting), /download 'big.txt': .*changed/);
      assert.equal(await fetchText(source, sighting), now);
    }
  });

  it("does not mind a listed size that differs from the bytes", async () => {
    world.add("office.docx", "hello", { listedSize: 4711 });
    const source = world.open();
    const sighting = await world.theItem(source);
    assert.equal(sighting.fingerprint.size, 4711);
    assert.equal(await fetchText(source, sighting), "hello");
  });

  it("does not wait for ever for a body or an answer that stalls", async () => {
    world.add("a.txt", "0123456789");
    const quick = world.connect({ timeouts: { connectMs: 5_000, headersMs: 600, idleMs: 600 } });
    const source = openSharePointLibrary(sourceConfig(world.sandbox.siteUrl), quick);
    const sighting = await world.theItem(source);
    world.strike({ url: "value", times: "always" }, { stallAfterBytes: 0 });
    await assert.rejects(fetchText(source, sighting), /broke off after 0 bytes: .*stopped coming/);
    world.sandbox.state.faults.clear();
    world.strike({ url: "value" }, { stallAfterBytes: 4 });
    assert.equal(await fetchText(source, sighting), "0123456789");
    world.strike({ url: "value" }, { delayMs: 60_000 });
    assert.equal(await fetchText(source, sighting), "0123456789");
  });
});
