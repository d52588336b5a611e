// A rename that cannot move the mirror is completed later and blocks nobody else.
import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import { mkdir, readdir, rename as renameFolder, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, test } from "node:test";
import { crawlJob, renameJob } from "../../src/app/jobs.ts";
import { type DomainId, type JobId, parseDomainId } from "../../src/contracts/ids.ts";
import type { JobContext, JobRecord } from "../../src/contracts/job.ts";
import { type CrawlResult, crawlRequest } from "../../src/engine/crawl-request.ts";
import { openStage, type Stage } from "../stories/stage.ts";
import { DOMAIN, type World } from "./world.ts";

const NEW = parseDomainId("RENAMED");

describe("a rename that cannot move the mirror", () => {
  let stage: Stage;
  let world: World;
  beforeEach(async () => {
    stage = await openStage({});
    world = stage.world;
    await stage.plant();
  });
  afterEach(() => stage.close());

  const notes = (): Promise<string[]> => readdir(join(world.storage, "domains", ".lockstep", "renames"));
  const crawler = (...path: string[]): string => join(world.storage, "crawler", ...path);

  /** Something appears where the mirror is to go, after everything was checked. */
  async function renameInTheWay(): Promise<void> {
    const job = jobThat((line) => {
      if (line.startsWith("Renaming domain")) mkdirSync(crawler(NEW, "x"), { recursive: true });
    });
    const refused = world.app.renameDomain({ from: DOMAIN, to: NEW }, job);
    await assert.rejects(refused, /crawler\/STORY.*crawler\/RENAMED.*(crawl|restart)/);
  }

  test("keeps its note: the next crawl that can completes it, and downloads nothing again", async () => {
    await renameInTheWay();
    assert.equal((await world.app.domains.get(NEW)).domainId, NEW);
    assert.deepEqual(await notes(), [`${DOMAIN}~${NEW}`]);
    const stuck = await crawlOf(world, NEW);
    assert.equal(stuck.result?.ok, false, "a crawl without the mirror would begin anew");
    assert.match(stuck.result?.error ?? "", /crawler\/RENAMED/);
    await rm(crawler(NEW), { recursive: true });
    await assertInStep(stage, NEW);
    assert.deepEqual(await notes(), []);
    assert.deepEqual(await readdir(crawler()), [NEW]);
  });

  test("does not block the renames of other domains, nor their crawls", async () => {
    const domain = await world.app.domains.get(DOMAIN);
    await renameInTheWay();
    const [other, renamed] = [parseDomainId("OTHER"), parseDomainId("ELSE")];
    await world.app.domains.create({ ...domain, domainId: other, vectorStoreId: "" });
    const lines: string[] = [];
    await world.app.renameDomain(
      { from: other, to: renamed },
      jobThat((line) => lines.push(line)),
    );
    assert.match(lines.join("\n"), /WARNING: .*'STORY' to 'RENAMED'/);
    assert.equal((await crawlOf(world, renamed)).result?.error, "");
    assert.deepEqual(await notes(), [`${DOMAIN}~${NEW}`]);
    const started = world.app.finishRenames(() => undefined, new AbortController().signal);
    await assert.rejects(started, /crawler\/RENAMED/, "whoever asked for all of them hears of it");
  });

  test("an old folder that comes back after the mirror has moved does not hold it up", async () => {
    const signal = AbortSignal.timeout(600_000);
    const job = jobThat((line) => {
      if (!line.includes("[ 1 /")) return;
      mkdirSync(crawler(DOMAIN, "01_files", "late"), { recursive: true });
      mkdirSync(join(world.storage, "domains", DOMAIN, "late"), { recursive: true });
      throw new Error("stopped here");
    });
    await assert.rejects(world.app.renameDomain({ from: DOMAIN, to: NEW }, job), /stopped here/);
    await world.app.finishRenames(() => undefined, signal);
    assert.deepEqual(await notes(), []);
    await assertInStep(stage, NEW);
  });

  test("one that was killed before it could write down that the mirror has moved is completed, too", async () => {
    const domains = join(world.storage, "domains");
    await mkdir(join(domains, ".lockstep", "renames"), { recursive: true });
    await writeFile(join(domains, ".lockstep", "renames", `${DOMAIN}~${NEW}`), "");
    await renameFolder(join(domains, DOMAIN), join(domains, NEW));
    await renameFolder(crawler(DOMAIN), crawler(NEW));
    await assertInStep(stage, NEW);
    assert.deepEqual(await notes(), []);
  });
});

test("a rename that is paused keeps nobody else from renaming", async () => {
  const stage = await openStage({});
  const { world } = stage;
  try {
    const domain = await world.app.domains.get(DOMAIN);
    const [other, renamed] = [parseDomainId("OTHER"), parseDomainId("ELSE")];
    await world.app.domains.create({ ...domain, domainId: other, vectorStoreId: "" });
    let resume = (): void => {};
    const resumed = new Promise<void>((resolve) => {
      resume = resolve;
    });
    let pausing = (): void => {};
    const paused = new Promise<void>((resolve) => {
      pausing = resolve;
    });
    const held = world.app.renameDomain(
      { from: DOMAIN, to: NEW },
      {
        ...jobThat(() => undefined),
        async checkpoint() {
          pausing();
          await resumed;
        },
      },
    );
    await paused;
    const { start, work } = renameJob(world.app, { from: other, to: renamed }, { dryRun: false });
    const running = await world.app.runner.start({ ...start, endpoint: "story" }, work);
    assert.equal((await running.done).result?.error, "");
    resume();
    assert.equal((await held).domain.domainId, NEW);
  } finally {
    await stage.close();
  }
});

function jobThat(log: (line: string) => void): JobContext {
  return {
    jobId: "jb_99999" as JobId,
    dryRun: false,
    signal: new AbortController().signal,
    log,
    checkpoint: async () => undefined,
  };
}

async function crawlOf(world: World, domainId: DomainId): Promise<JobRecord> {
  const { start, work } = crawlJob(world.app, crawlRequest(domainId), { dryRun: false });
  return await (await world.app.runner.start({ ...start, endpoint: "story" }, work)).done;
}

async function assertInStep(stage: Stage, id: DomainId): Promise<void> {
  await stage.forgetDownloads();
  const { result } = await crawlOf(stage.world, id);
  assert.equal(result?.error, "");
  assert.equal(await stage.downloads(), 0);
  const { sources } = (result?.data ?? assert.fail("it has no result")) as CrawlResult;
  for (const { embed, source_id } of sources) {
    assert.deepEqual([embed.added, embed.changed, embed.removed], [0, 0, 0], source_id);
    assert.ok(embed.unchanged > 0, source_id);
  }
}
