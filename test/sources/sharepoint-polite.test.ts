// A tenant's budget and pauses are respected by every worker.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { openSharePointLibrary } from "../../src/sources/sharepoint/open-sharepoint-library.ts";
import { DOCS, paths, useSandbox } from "./sandbox-world.ts";
import { fetchText, listAll, sourceConfig } from "./scripted-tenant.ts";

describe("a tenant with a budget", () => {
  const world = useSandbox();

  it("is never asked during a pause, and gets everything in the end", async () => {
    for (let i = 0; i < 30; i += 1) world.add(`file-${i}.txt`);
    const { throttle } = world.sandbox.state;
    const connection = world.connect();
    const source = openSharePointLibrary(sourceConfig(world.sandbox.siteUrl), connection, { pageSize: 10 });
    throttle.set({ budget: 40, windowSeconds: 1, graceMs: 200 });
    const { sightings, completeness } = await listAll(source);
    assert.equal(completeness, "complete");
    const texts = await Promise.all(sightings.map((sighting) => fetchText(source, sighting)));
    assert.equal(texts.filter((text) => text.startsWith("text of")).length, 30);
    const report = throttle.report();
    assert.equal(report.duringPause, 0);
    assert.ok(report.refused <= 1, `refused ${report.refused} times: slowing down in time is the point`);
  });

  it("hears who is asking", async () => {
    const connection = world.connect({ company: "Contoso Ltd." });
    await listAll(openSharePointLibrary(sourceConfig(world.sandbox.siteUrl), connection));
    const agents = world.sandbox.state.log
      .entries()
      .flatMap(({ url, headers }) => (url.includes("_api") ? headers["user-agent"] : []));
    assert.ok(agents.length > 0 && agents.every((agent) => /^NONISV\|Contoso Ltd\.\|lockstep\/\d/.test(agent ?? "")));
  });

  it("is obeyed by every worker when it refuses", async () => {
    for (let i = 0; i < 8; i += 1) world.add(`file-${i}.txt`);
    const waits: string[] = [];
    const source = world.open({ waits });
    const { sightings } = await listAll(source);
    const asked = world.sandbox.state.log.entries().length;
    world.strike({ url: "GetFileById" }, { status: 429, headers: { "retry-after": "1" } });
    const texts = await Promise.all(sightings.map((sighting) => fetchText(source, sighting)));
    assert.equal(texts.filter((text) => text.startsWith("text of")).length, 8);
    assert.equal(waits.length, 1, "said once, not by every worker");
    assert.equal(world.sandbox.state.log.entries().length - asked, 9);
  });

  it("is left alone when it asks for more patience than there is", async () => {
    world.add("a.txt");
    const source = openSharePointLibrary(
      sourceConfig(world.sandbox.siteUrl),
      world.connect({ retry: { maxWaitMs: 60_000 } }),
    );
    world.strike({ url: "_api" }, { status: 503, headers: { "retry-after": "7200" } });
    await assert.rejects(listAll(source), /answered 503/);
    const asked = world.sandbox.state.log.entries().length;
    await assert.rejects(listAll(source), /accepts no requests for another 120 minutes/);
    assert.equal(world.sandbox.state.log.entries().length, asked);
  });
});

describe("a library beyond the list view threshold", () => {
  const world = useSandbox();

  function fill(count: number, threshold: number): void {
    for (let i = 0; i < count; i += 1) world.add(i % 2 ? `keep-${i}.txt` : `drop-${i}.txt`);
    world.sandbox.state.settings.listViewThreshold = threshold;
  }
  const filter = "startswith(FileLeafRef,'keep')";
  const kept = (count: number): string[] =>
    Array.from({ length: count }, (_, i) => `keep-${i}.txt`)
      .filter((_, i) => i % 2)
      .toSorted();

  it("is read in windows of ids, with the filter", async () => {
    fill(130, 60);
    const { sightings, completeness, unreadable } = await listAll(world.open({ filter, pageSize: 20 }));
    assert.deepEqual([completeness, unreadable], ["complete", []]);
    assert.deepEqual(paths(sightings), kept(130));
    const asked = world.sandbox.state.log.entries().filter(({ url }) => url.includes("/items"));
    assert.ok(
      asked.every(({ url }) => /orderby|startswith/.test(decodeURIComponent(url))),
      "the filter is never dropped",
    );
  });

  it("shows in windows what is added meanwhile, and counts each item once", async () => {
    fill(130, 60);
    const path = `${DOCS}/keep-late.txt`;
    world.strike({ url: "Id(%20| )gt", nth: 8 }, { run: [{ operation: "add", path, text: "late" }] });
    const { sightings, completeness } = await listAll(world.open({ filter, pageSize: 20 }));
    assert.equal(completeness, "complete");
    assert.deepEqual(paths(sightings), [...kept(130), "keep-late.txt"].toSorted());
  });

  it("unfiltered falls back too when the server says so", async () => {
    for (let i = 0; i < 5; i += 1) world.add(`file-${i}.txt`);
    const code = "-2147024860, Microsoft.SharePoint.SPQueryThrottledException";
    world.strike({ url: "skiptoken" }, { status: 500, body: JSON.stringify({ "odata.error": { code } }) });
    const { sightings, completeness } = await listAll(world.open({ pageSize: 2 }));
    assert.equal(completeness, "complete");
    assert.equal(sightings.length, 5);
  });

  it("fails with advice when no window is small enough", async () => {
    fill(130, 20);
    await assert.rejects(listAll(world.open({ filter })), /list view threshold.*indexed column/);
  });
});
