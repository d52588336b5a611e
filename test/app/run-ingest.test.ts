// Registered addresses are fetched and indexed in few crawls; what cannot be indexed is retried ever more rarely.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { setTimeout } from "node:timers/promises";
import { compose } from "../../src/app/compose.ts";
import { readConfig } from "../../src/app/config.ts";
import { createIndexing, runIngest } from "../../src/app/run-ingest.ts";
import { type Behind, REGISTERED_SOURCE } from "../../src/engine/ingest/ingest.ts";
import { INGEST, IngestStage } from "../engine/ingest-stage.ts";

const BRISK = { pollMs: { busy: 10, idle: 50 }, gatherMs: { least: 600, most: 60_000 } };

describe("registered addresses are looked after", () => {
  let stage: IngestStage;
  before(async () => {
    stage = await IngestStage.open();
    await stage.app.close();
    // With the clock of the real world.
    stage.app = await compose(readConfig(stage.settings), { web: { restMs: 1 } });
  });
  after(() => stage.close());

  test("a burst is fetched and indexed in one or two crawls; errors are said once and end nothing", async () => {
    const lines: string[] = [];
    const stop = new AbortController();
    // The first one makes the domain, which is what starts the work.
    stage.pages.answers.set("/burst0", { text: "Number zero of the burst." });
    await stage.add("/burst0");
    const { ingest } = stage.app;
    let failures = 0;
    const troubled = {
      ...stage.app,
      get ingest() {
        return {
          ...ingest,
          async sweep(signal: AbortSignal) {
            failures += 1;
            if (failures === 1) throw new Error("the registry is out of reach");
            return ingest.sweep(signal);
          },
        };
      },
    };
    const running = runIngest(troubled, { name: "test", log: (line) => lines.push(line), ...BRISK }, stop.signal);
    const ids = await Promise.all(
      Array.from({ length: 40 }, (_, at) => {
        stage.pages.answers.set(`/burst${at + 1}`, { text: `Page ${at + 1} of the burst.` });
        return stage.add(`/burst${at + 1}`);
      }),
    );
    await until(async () => (await ingest.summary(INGEST)).byStatus.Indexed === ids.length + 1);
    const crawls = (await stage.app.jobs.list({ router: "crawler" })).filter(({ action }) => action === "crawl");
    assert.ok(crawls.length <= 2, `${crawls.length} crawls`);
    assert.ok((await stage.found("burst")).length > 0);
    assert.deepEqual(
      lines.filter((line) => line.startsWith("ERROR")),
      ["ERROR: queue the addresses that are due: the registry is out of reach"],
    );
    stop.abort();
    await running;
    const { entries } = await stage.app.audit.list({ limit: 10, offset: 0, filter: "index registered" });
    assert.equal(entries.length, crawls.length);
  });
});

test("what is held for a person to confirm is not tried again and again", async () => {
  const stage = await IngestStage.open();
  try {
    for (const path of ["/a", "/b", "/c"]) {
      stage.pages.answers.set(path, { text: `A vanishing viper ${path}.` });
      await stage.add(path);
    }
    await stage.round();
    stage.pages.answers.clear();
    for (let check = 0; check < 3; check++) {
      stage.later(2);
      await stage.sweep();
      await stage.work();
    }
    const indexing = createIndexing(stage.app, () => undefined);
    await indexing.startWhatIsBehind();
    await until(async () => indexing.isOwed());
    const [held] = await stage.app.jobs.list({ router: "crawler", limit: 1 });
    assert.match(held?.result?.error ?? "", /3 removals are held/);
    await indexing.startWhatIsBehind();
    assert.deepEqual(
      (await stage.app.jobs.list({ router: "crawler" })).map(({ jobId }) => jobId),
      ["jb_2", "jb_1"],
    );
    assert.equal((await stage.found("viper")).length, 3);
    await stage.crawl({ confirmDeletes: true });
    assert.deepEqual([await stage.found("viper"), await stage.app.ingest.behind()], [[], []]);
  } finally {
    await stage.close();
  }
});

test("what a crawl leaves behind, time after time, is left alone for longer and longer; others are not", async () => {
  const stage = await IngestStage.open();
  try {
    stage.pages.answers.set("/stuck", { text: "A stuck stork." });
    await stage.add("/stuck");
    await stage.round();
    let nowMs = 0;
    let which = "stuck";
    const behind = async (): Promise<Behind[]> => [{ domainId: INGEST, sourceId: REGISTERED_SOURCE, items: 1, which }];
    const app = { ...stage.app, ingest: { ...stage.app.ingest, behind } };
    const indexing = createIndexing(
      app,
      () => undefined,
      () => nowMs,
    );
    const jobsAfter = async (seconds: number): Promise<number> => {
      nowMs += seconds * 1000;
      if ((await indexing.startWhatIsBehind()) > 0) await until(async () => indexing.isOwed());
      return (await stage.app.jobs.list({ router: "crawler" })).length - 1;
    };
    const counts: number[] = [];
    for (const seconds of [0, 0, 5, 5, 5]) counts.push(await jobsAfter(seconds));
    assert.deepEqual(counts, [1, 1, 2, 2, 3]);
    which = "stuck, and another one";
    assert.equal(await jobsAfter(0), 4);
  } finally {
    await stage.close();
  }
});

async function until(isSo: () => Promise<boolean>): Promise<void> {
  while (!(await isSo())) await setTimeout(50);
}
