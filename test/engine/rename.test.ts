// A renamed domain keeps everything, and the next crawl has nothing to do.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, readdir, readFile, rename as renameFolder, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, test } from "node:test";
import { crawlJob, renameJob } from "../../src/app/jobs.ts";
import { type DomainId, type JobId, parseDomainId, type VectorStoreId } from "../../src/contracts/ids.ts";
import type { JobContext, JobRecord } from "../../src/contracts/job.ts";
import { sourceLease } from "../../src/contracts/lease.ts";
import { type CrawlResult, crawlRequest } from "../../src/engine/crawl-request.ts";
import { acquireLease } from "../../src/lib/file-lease.ts";
import { openStage, type Stage } from "../stories/stage.ts";
import { DOCS, DOMAIN, World } from "./world.ts";

const NEW = parseDomainId("RENAMED");
const LIST = "/sites/demo/Lists/Tasks";

/** Three files, a list with a row, and two generations. */
async function plant(backend?: "remote"): Promise<Stage> {
  const stage = await openStage({}, backend);
  const { world } = stage;
  await world.control("POST", "add-list", { path: LIST, title: "Tasks", columns: [] });
  await world.control("POST", "add-item", { list: LIST, values: { Title: "Feed the wombat" } });
  const json = world.domainJson();
  const tasks = { source_id: "tasks", site_url: world.sandbox.siteUrl, list_name: "Tasks", filter: "" };
  await writeFile(
    join(world.storage, "domains", DOMAIN, "domain.json"),
    JSON.stringify({ ...json, list_sources: [tasks], color: "blue" }),
  );
  await stage.plant();
  await stage.change("update", { path: "Travel/old.md", text: "# Retired\n\nThe quagga rule was abolished in 2018." });
  await stage.crawl();
  return stage;
}

/** A job that keeps what it was told; `from` and `to` as people write them. */
async function rename(world: World, from: string, to: string, options: { dryRun?: boolean } = {}): Promise<string[]> {
  const lines: string[] = [];
  const job: JobContext = {
    jobId: "jb_99999" as JobId,
    dryRun: options.dryRun ?? false,
    signal: new AbortController().signal,
    log: (line) => lines.push(line),
    checkpoint: async () => undefined,
  };
  const ids = { from: parseDomainId(from), to: parseDomainId(to) };
  const { domain, changes } = await world.app.renameDomain(ids, job);
  assert.equal(domain.domainId, to);
  return options.dryRun ? [...changes] : lines;
}

async function crawlOf(world: World, domainId: DomainId): Promise<JobRecord & { readonly crawl: CrawlResult }> {
  const { start, work } = crawlJob(world.app, crawlRequest(domainId), { dryRun: false });
  const record = await (await world.app.runner.start({ ...start, endpoint: "story" }, work)).done;
  return { ...record, crawl: record.result?.data as CrawlResult };
}

/** Everything a domain has, with its own name left out. */
async function picture(world: World, id: DomainId): Promise<Record<string, unknown>> {
  const anonymous = (text: string): string => text.replaceAll(new RegExp(`\\b${id}\\b`, "g"), "<ID>");
  const crawler = join(world.storage, "crawler", id);
  const files = (await readdir(crawler, { recursive: true, withFileTypes: true }))
    .filter((entry) => entry.isFile() && !entry.parentPath.includes(".lockstep"))
    .map((entry) => join(entry.parentPath, entry.name));
  const maps = files.filter((file) => /_map.*\.csv$/.test(file)).sort();
  const read = async (path: string): Promise<string> => anonymous(await readFile(path, "utf8"));
  const searches = await Promise.all(
    ["zebra", "quagga", "okapi", "wombat"].map(async (text) =>
      (await world.app.query({ text, limit: 10, domainId: id, vectorStoreId: undefined })).sources.map(
        ({ fileId, name, text: passage, attributes, metadata }) =>
          anonymous(JSON.stringify([fileId, name, passage, attributes, metadata])),
      ),
    ),
  );
  return {
    domain: anonymous(JSON.stringify(await world.app.domains.get(id))),
    json: await read(join(world.storage, "domains", id, "domain.json")),
    files: files.map((file) => anonymous(file.slice(world.storage.length))).sort(),
    maps: await Promise.all(maps.map(read)),
    metadata: await read(join(world.storage, "domains", id, "files_metadata.json")),
    searches,
  };
}

/** A crawl under the new name finds nothing to do, and the tenant is asked for no content. */
async function assertInStep(stage: Stage, id: DomainId): Promise<void> {
  await stage.forgetDownloads();
  const { crawl, result } = await crawlOf(stage.world, id);
  assert.equal(result?.error, "");
  assert.equal(await stage.downloads(), 0);
  for (const source of crawl.sources) {
    const { added, changed, removed } = source.download;
    assert.deepEqual({ added, changed, removed }, { added: 0, changed: 0, removed: 0 }, source.source_id);
    const embed = source.embed;
    assert.deepEqual([embed.added, embed.changed, embed.removed], [0, 0, 0], source.source_id);
    assert.ok(embed.unchanged > 0, source.source_id);
  }
}

for (const backend of [undefined, "remote"] as const) {
  describe(`a rename, ${backend ?? "embedded"} backend`, () => {
    test("takes everything along: the next crawl has nothing to do, and everything is found as before", async (t) => {
      const stage = await plant(backend);
      t.after(() => stage.close());
      const { world } = stage;
      const before = await picture(world, DOMAIN);
      const lines = await rename(world, DOMAIN, NEW);
      assert.match(lines.join("\n"), /\[ 4 \/ 4 \] Marks in the vector store/);
      assert.deepEqual(await picture(world, NEW), before);
      assert.match(JSON.stringify(before["json"]), /blue/, "keys of others stay");
      await assert.rejects(world.app.domains.get(DOMAIN), /does not exist/);
      assert.equal(existsSync(join(world.storage, "crawler", DOMAIN)), false);
      await assertInStep(stage, NEW);
      assert.deepEqual(await picture(world, NEW), before, "and the crawl changed nothing");
    });
  });
}

describe("a rename", () => {
  test("keeps what was known of the source, so that the next crawl need not list everything", async (t) => {
    const stage = await plant();
    t.after(() => stage.close());
    const listing = (id: string): { listed_at: string; runs_by_mark: number } => {
      const ledger = new DatabaseSync(join(stage.world.storage, "crawler", id, "ledger.sqlite"));
      const row = ledger.prepare("SELECT listed_at, runs_by_mark FROM source WHERE source_id = 'docs'").get();
      ledger.close();
      return row as unknown as ReturnType<typeof listing>;
    };
    const before = listing(DOMAIN);
    await rename(stage.world, DOMAIN, NEW);
    const own = await readdir(join(stage.world.storage, "crawler", NEW, "01_files", "docs", ".lockstep"));
    assert.deepEqual(
      own.filter((name) => name.startsWith("lease-")),
      [],
      "nobody would ever give these back",
    );
    await assertInStep(stage, NEW);
    const { listed_at, runs_by_mark } = listing(NEW);
    assert.deepEqual([listed_at, runs_by_mark], [before.listed_at, before.runs_by_mark + 1]);
  });

  test("leaves generations as they were, and going back works under the new name", async (t) => {
    const stage = await plant();
    t.after(() => stage.close());
    const { app } = stage.world;
    const before = await app.generations(DOMAIN);
    await rename(stage.world, DOMAIN, NEW);
    const now = await app.generations(NEW);
    assert.deepEqual(
      now.kept.map(({ number, domainId }) => [number, domainId]),
      before.kept.map(({ number }) => [number, NEW]),
    );
    const earlier = before.kept[1]?.number ?? assert.fail("there is only one generation");
    const passages = async (): Promise<string> =>
      JSON.stringify(await app.query({ text: "quagga", limit: 3, domainId: NEW, vectorStoreId: undefined }));
    assert.match(await passages(), /abolished in 2018/);
    await app.rollback(NEW, earlier, { dryRun: false });
    assert.match(await passages(), /abolished in 2019/);
    await app.release(NEW);
    await crawlOf(stage.world, NEW);
    assert.match(await passages(), /abolished in 2018/);
  });

  test("takes along what is in a store that only map files name, when nobody has crawled since an upgrade", async (t) => {
    const world = await World.open();
    t.after(() => world.close());
    await world.change("add", { path: "a.txt", text: "The zebra is striped." });
    await world.crawl();
    const other = (await world.openai().vectorStores.create({ name: "other" })).id as VectorStoreId;
    await world.crawl({ steps: ["embed"], vectorStoreId: other });
    await world.app.close();
    for (const end of ["", "-wal", "-shm"]) {
      await rm(join(world.storage, "crawler", DOMAIN, `ledger.sqlite${end}`), { force: true });
    }
    await world.reopen();
    const marks = new RegExp(`'${other}'`);
    assert.match((await rename(world, DOMAIN, NEW, { dryRun: true })).join(), marks);
    await rename(world, DOMAIN, NEW);
    const { sources } = await world.app.query({ text: "zebra", limit: 1, domainId: undefined, vectorStoreId: other });
    assert.equal(sources[0]?.attributes["domain_id"], NEW);
  });

  test("a dry run says what would be renamed, and renames nothing", async (t) => {
    const stage = await plant();
    t.after(() => stage.close());
    const before = await picture(stage.world, DOMAIN);
    const changes = await rename(stage.world, DOMAIN, NEW, { dryRun: true });
    assert.match(changes.join("\n"), /crawler\/STORY.*crawler\/RENAMED[\s\S]*STORY\/02_lists\/tasks[\s\S]*'vs_/);
    assert.deepEqual(await picture(stage.world, DOMAIN), before);
    await assert.rejects(stage.world.app.domains.get(NEW), /does not exist/);
  });

  test("is refused for names that are taken, also by another case, or that would mix two domains", async (t) => {
    const world = await World.open();
    t.after(() => world.close());
    const domain = await world.app.domains.get(DOMAIN);
    await world.app.domains.create({ ...domain, domainId: parseDomainId("Other") });
    await assert.rejects(rename(world, DOMAIN, "OTHER"), /Domain 'Other' already exists/);
    await assert.rejects(rename(world, DOMAIN, "Story"), /differs from 'STORY' in upper and lower case/);
    await assert.rejects(rename(world, "NOBODY", NEW), /'NOBODY' does not exist/);
    await mkdir(join(world.storage, "crawler", NEW), { recursive: true });
    await assert.rejects(rename(world, DOMAIN, NEW), /crawler\/RENAMED exists already/);
    assert.equal((await world.app.domains.get(DOMAIN)).domainId, DOMAIN);
  });

  test("is refused while a job of the domain runs, and by whoever holds a source", async (t) => {
    const world = await World.open();
    t.after(() => world.close());
    let finish = (): void => {};
    const finished = new Promise<void>((resolve) => {
      finish = resolve;
    });
    const start = { router: "crawler", action: "crawl", object: DOMAIN, dryRun: false, endpoint: "story" };
    const running = await world.app.runner.start(start, async () => {
      await finished;
      return { ok: true, error: "", data: {} };
    });
    await assert.rejects(rename(world, DOMAIN, NEW), new RegExp(`in use by job '${running.jobId}'`));
    finish();
    await running.done;
    await world.crawl();
    const lease = await world.app.leases.acquire(DOMAIN, sourceLease(DOCS, "embed"), { owner: "job jb_7" });
    await assert.rejects(rename(world, DOMAIN, NEW), /in use by job jb_7/);
    await lease.release();
    await world.crawl();
    await rename(world, DOMAIN, NEW);
  });

  test("while it is under way nobody creates or removes a domain of either name, and a crawl waits for its end", async (t) => {
    const stage = await plant();
    t.after(() => stage.close());
    const { world } = stage;
    const renames = join(world.storage, "domains", ".lockstep", "renames");
    await mkdir(renames, { recursive: true });
    await writeFile(join(renames, `${DOMAIN}~${NEW}`), "");
    const lease = await acquireLease(join(world.storage, "domains", ".lockstep", "renaming"), { owner: "job jb_7" });
    const domain = await world.app.domains.get(DOMAIN);
    await assert.rejects(world.app.domains.create({ ...domain, domainId: NEW, vectorStoreId: "" }), /is being renamed/);
    await assert.rejects(world.app.domains.remove(DOMAIN), /is being renamed/);
    let said = (): void => {};
    const waits = new Promise<void>((resolve) => {
      said = resolve;
    });
    const { start, work } = crawlJob(world.app, crawlRequest(DOMAIN), { dryRun: false });
    const running = await world.app.runner.start({ ...start, endpoint: "story" }, (job) =>
      work({
        jobId: job.jobId,
        dryRun: false,
        signal: job.signal,
        checkpoint: () => job.checkpoint(),
        log(line) {
          if (/Waiting for job jb_7, which is renaming/.test(line)) said();
          job.log(line);
        },
      }),
    );
    await waits;
    await lease.release();
    assert.equal((await running.done).result?.ok, true, "it had not begun, so it was taken back");
    assert.deepEqual(await readdir(renames), []);
  });
});

describe("a rename and a crawl that start at the same moment", () => {
  test("find each other: one of them gives way, and nothing is left under a name that is gone", async (t) => {
    const stage = await plant();
    t.after(() => stage.close());
    const { world } = stage;
    const before = await picture(world, DOMAIN);
    const outcomes = new Set<string>();
    let [at, other] = [DOMAIN, NEW];
    for (let round = 0; round < 6; round++) {
      const { start, work } = renameJob(world.app, { from: at, to: other }, { dryRun: false });
      const renaming = world.app.runner.start({ ...start, endpoint: "story" }, work);
      const crawling = round % 2 === 0 ? crawlOf(world, at) : renaming.then(() => crawlOf(world, at));
      const [renamed, crawled] = await Promise.all([renaming.then(({ done }) => done), crawling]);
      outcomes.add(`${renamed.result?.ok} ${crawled.result?.ok}`);
      if (renamed.result?.ok) [at, other] = [other, at];
      else assert.match(renamed.result?.error ?? "", /in use by job/);
      if (!crawled.result?.ok) assert.match(crawled.result?.error ?? "", /does not exist/);
      assert.equal(existsSync(join(world.storage, "crawler", other)), false, `round ${round}`);
      assert.equal(existsSync(join(world.storage, "domains", other)), false, `round ${round}`);
    }
    await assertInStep(stage, at);
    assert.deepEqual(await picture(world, at), before);
    assert.ok(!outcomes.has("false false"), [...outcomes].join());
  });
});

describe("a rename in a store that fails half-way", () => {
  test("is completed by the next crawl that can: the same files, nothing sent again", async (t) => {
    const stage = await plant("remote");
    t.after(() => stage.close());
    const { world, proxy } = stage;
    const before = await picture(world, DOMAIN);
    const body = { error: { message: "no", type: "invalid_request_error", param: null, code: null } };
    const on = "POST /vector_stores/:store/files/:file";
    let passed = 0;
    const rewrite = (answer: unknown): unknown => {
      passed += 1;
      return answer;
    };
    const pass = { kind: "rewrite", rewrite } as const;
    proxy.inject({ on, times: 2, act: pass }, { on, times: 1000, act: { kind: "answer", status: 400, body } });
    await assert.rejects(rename(world, DOMAIN, NEW), /update attributes of file/);
    assert.equal(passed, 2, "some were marked before it failed");
    assert.equal((await world.app.domains.get(NEW)).domainId, NEW);
    const failed = await crawlOf(world, NEW);
    assert.match(failed.result?.error ?? "", /update attributes of file/);
    proxy.calm();
    const from = proxy.log.length;
    await assertInStep(stage, NEW);
    assert.deepEqual(await picture(world, NEW), before);
    assert.deepEqual(
      proxy.log
        .slice(from)
        .filter((line) => /^POST \S*\/v1\/(files|vector_stores\/[^/]+\/(files|file_batches))$/.test(line)),
      [],
      "nothing was uploaded or attached",
    );
  });
});

describe("a rename that is killed", () => {
  test("between the move of the domain and that of its mirror: the next crawl brings the mirror", async (t) => {
    const stage = await plant();
    t.after(() => stage.close());
    const { world } = stage;
    const before = await picture(world, DOMAIN);
    const domains = join(world.storage, "domains");
    await mkdir(join(domains, ".lockstep", "renames"), { recursive: true });
    await writeFile(join(domains, ".lockstep", "renames", `${DOMAIN}~${NEW}`), "");
    await renameFolder(join(domains, DOMAIN), join(domains, NEW));
    await assertInStep(stage, NEW);
    assert.deepEqual(await picture(world, NEW), before);
  });

  const LINES = 6;
  for (let line = 1; line <= LINES; line++) {
    test(`at line ${line} of its log: the next start completes it, and a crawl finds nothing to do`, async (t) => {
      const stage = await plant();
      t.after(() => stage.close());
      const { world } = stage;
      const before = await picture(world, DOMAIN);
      await world.app.close();
      const input = JSON.stringify({ settings: world.settings, from: DOMAIN, to: NEW, line });
      const child = spawnSync(process.execPath, [join(import.meta.dirname, "rename-child.ts"), input]);
      assert.equal(child.signal, "SIGKILL", child.stderr.toString());
      await world.reopen();
      const { domains } = await world.app.domains.list();
      assert.equal(domains.length, 1, "one name, never both");
      const [found] = domains;
      assert.equal(found?.domainId, line === 1 ? DOMAIN : NEW);
      if (line % 2 === 0) await world.app.finishRenames(() => undefined, new AbortController().signal);
      await assertInStep(stage, found?.domainId ?? DOMAIN);
      assert.deepEqual(await picture(world, found?.domainId ?? DOMAIN), before);
      assert.deepEqual(await readdir(join(world.storage, "domains", ".lockstep", "renames")), []);
    });
  }
});
