// A document that moves from one source to another is found at every moment.
import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "node:test";
import { setImmediate as nextRound } from "node:timers/promises";
import type { JobId } from "../../src/contracts/ids.ts";
import type { JobContext } from "../../src/contracts/job.ts";
import { type CrawlResult, crawlRequest } from "../../src/engine/crawl-request.ts";
import { DOMAIN, World } from "./world.ts";

const QUESTION = "Which desk approves a hotel night?";
const TEXT = "Every hotel night above 140 euros needs approval by the zebra desk.";

let world: World;
beforeEach(async () => {
  world = await World.open({ source: { source_id: "old", sharepoint_url_part: "/Shared Documents/Old" } });
  const source = { source_id: "new", site_url: world.sandbox.siteUrl, filter: "" };
  const before = await world.app.domains.get(DOMAIN);
  const [first] = before.sources;
  assert.ok(first?.sourceType === "file_sources");
  const second = { ...first, sourceId: source.source_id as typeof first.sourceId, urlPart: "/Shared Documents/New" };
  await world.app.domains.update({ ...before, sources: [first, second] }, before);
  await world.change("add", { path: "Old/policy.txt", text: TEXT });
  await world.change("add", { path: "Old/stays.txt", text: "The okapi team answers questions about pay." });
  await world.change("add", { path: "New/first.txt", text: "The quagga rule was abolished in 2019." });
});
afterEach(() => world.close());

/** Crawls, while a reader asks the question again and again, and between any two of its steps. */
async function crawlAsking(mode: "full" | "incremental"): Promise<{ result: CrawlResult; found: number[] }> {
  const found: number[] = [];
  const ask = async (): Promise<void> => {
    found.push((await world.search(QUESTION)).filter(({ text }) => text.includes("zebra")).length);
  };
  const job: JobContext = {
    jobId: "jb_1" as JobId,
    dryRun: false,
    signal: new AbortController().signal,
    log: () => undefined,
    checkpoint: ask,
  };
  let isOver = false;
  const reader = (async () => {
    while (!isOver) {
      await ask();
      await nextRound();
    }
  })();
  const result = await world.app.crawl(crawlRequest(DOMAIN, { mode }), job).finally(() => {
    isOver = true;
  });
  await reader;
  await ask();
  return { result, found };
}

for (const mode of ["incremental", "full"] as const) {
  test(`a document that moves from one source to another is found at every moment of a ${mode} crawl`, async () => {
    await world.crawl();
    await world.change("move", { path: "Old/policy.txt", to: "New/policy.txt" });
    const { result, found } = await crawlAsking(mode);
    assert.deepEqual(result.problems, []);
    assert.ok(found.length > 4, `asked ${found.length} times`);
    assert.deepEqual(new Set(found), new Set([1]), "in every answer, and never twice");
    const [old] = result.sources;
    assert.equal(old?.embed.removed, 1);
    const after = await world.search(QUESTION);
    assert.deepEqual(
      after.filter(({ text }) => text.includes("zebra")).map(({ url }) => url),
      [`${world.sandbox.siteUrl}/Shared%20Documents/New/policy.txt`],
    );
    const again = await world.crawl();
    assert.deepEqual(
      again.result.sources.map(({ embed }) => [embed.added, embed.removed, embed.unchanged]),
      [
        [0, 0, 1],
        [0, 0, 2],
      ],
    );
  });
}

test("what is deleted in two sources leaves both in the same run", async () => {
  await world.crawl();
  await world.change("delete", { path: "Old/policy.txt" });
  await world.change("delete", { path: "New/first.txt" });
  const { result } = await world.crawl();
  assert.deepEqual(
    result.sources.map(({ embed }) => embed.removed),
    [1, 1],
  );
  assert.deepEqual(
    (await world.search("zebra desk quagga rule")).filter(({ text }) => /zebra|quagga/.test(text)),
    [],
  );
});
