// What a crawl changes in all sources of a domain becomes visible in one moment, whatever happens to it.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, describe, test } from "node:test";
import { rebuildIndexJob } from "../../src/app/jobs.ts";
import { CancelledError } from "../../src/contracts/errors.ts";
import type { JobId, SourceId } from "../../src/contracts/ids.ts";
import type { JobContext } from "../../src/contracts/job.ts";
import { type CrawlRequest, type CrawlResult, crawlRequest } from "../../src/engine/crawl-request.ts";
import type { ChildTask } from "./folder-child.ts";
import { DOCS, FOLDERS, FolderStage } from "./folder-stage.ts";

const SECOND = "second" as SourceId;
const CHILD = join(import.meta.dirname, "folder-child.ts");

describe("a crawl of two sources", () => {
  let stage: FolderStage;
  beforeEach(async () => {
    stage = await FolderStage.open();
    const domain = await stage.app.domains.get(FOLDERS);
    const sources = [
      { ...stage.config, root: stage.at("first") },
      { ...stage.config, sourceId: SECOND, root: stage.at("second") },
    ];
    await stage.app.domains.update({ ...domain, sources }, domain);
    await stage.write("first/a.md", "The heron wades.");
    await stage.write("first/b.md", "The ibis stands.");
    await stage.write("second/a.md", "The kestrel hovers.");
    await stage.write("second/b.md", "The lapwing calls.");
  });
  afterEach(() => stage.close());

  const changeBoth = async (): Promise<void> => {
    await stage.write("first/a.md", "The heron flies.");
    await stage.remove("first/b.md");
    await stage.write("second/a.md", "The kestrel dives.");
    await stage.write("second/c.md", "The merlin is new.");
  };
  const BEFORE = "The heron wades. The ibis stands. The kestrel hovers. The lapwing calls.";
  const AFTER = "The heron flies. The kestrel dives. The lapwing calls. The merlin is new.";
  /** Every document that readers see, by one search. */
  const read = async (): Promise<string> => {
    const { sources } = await stage.app.query({
      text: "the heron ibis kestrel lapwing merlin",
      limit: 50,
      domainId: FOLDERS,
      vectorStoreId: undefined,
      using: "text",
    });
    return sources
      .map(({ text }) => text)
      .sort()
      .join(" ");
  };
  const numbers = async (): Promise<number[]> =>
    (await stage.app.generations(FOLDERS)).kept.map(({ number }) => number);

  interface Watched {
    readonly log: string[];
    readonly seen: Set<string>;
    readonly result: CrawlResult;
  }

  /** A crawl; what readers see is asked whenever it comes to a checkpoint, after `look`. */
  const crawlWatched = async (
    wishes: Partial<CrawlRequest> = {},
    look: (log: readonly string[]) => Promise<void> = async () => undefined,
    signal = new AbortController().signal,
  ): Promise<Watched> => {
    const log: string[] = [];
    const seen = new Set<string>();
    const job: JobContext = {
      jobId: "jb_77" as JobId,
      dryRun: false,
      signal,
      log: (line) => void log.push(line),
      async checkpoint() {
        await look(log);
        seen.add(await read());
      },
    };
    return { log, seen, result: await stage.app.crawl(crawlRequest(FOLDERS, wishes), job) };
  };
  /** Ids of the documents by the ledger and by the index are the same. */
  const inStep = async (): Promise<void> => {
    for (const config of (await stage.app.domains.get(FOLDERS)).sources) {
      const byLedger = await stage.withLedgers(async (ledgers) => {
        const ledger = await ledgers.open({ domainId: FOLDERS, config }, { readOnly: true });
        const ids: string[] = [];
        for await (const page of ledger.entries()) ids.push(...page.flatMap(({ indexed }) => indexed?.fileId || []));
        return ids.sort();
      });
      const byIndex = await stage.index(async (index) => {
        const ids: string[] = [];
        for await (const page of index.holdings(config.sourceId)) ids.push(...page.map(({ fileId }) => fileId));
        return ids.sort();
      });
      assert.deepEqual(byLedger, byIndex, config.sourceId);
    }
  };
  const nothingToDo = async (): Promise<void> => {
    const before = await numbers();
    const { result } = await crawlWatched();
    assert.deepEqual(result.problems, []);
    for (const { source_id, embed } of result.sources) {
      const { added, changed, moved, removed } = embed;
      assert.deepEqual([added, changed, moved, removed], [0, 0, 0, 0], source_id);
    }
    assert.deepEqual(await numbers(), before);
    await inStep();
  };
  test("the first shows each source when it is in; each later one is one generation, before or after and nothing between", async () => {
    const first = await crawlWatched();
    assert.deepEqual(first.result.problems, []);
    assert.ok(first.log.includes("The first crawl: each source becomes visible when it is in."), first.log.join("\n"));
    assert.ok(first.seen.has("The heron wades. The ibis stands."));
    assert.equal(await read(), BEFORE);
    assert.deepEqual(await numbers(), [2, 1]);
    await changeBoth();
    const { log, seen, result } = await crawlWatched();
    assert.deepEqual(result.problems, []);
    assert.deepEqual([...seen], [BEFORE, AFTER], "never anything else");
    assert.equal(await read(), AFTER);
    assert.ok(log.includes("Index: what changed in 2 sources is visible now, as generation 3."), log.join("\n"));
    const { kept } = await stage.app.generations(FOLDERS);
    assert.deepEqual(
      kept.map(({ number, sourceId, intermediate, added, removed }) => [
        number,
        sourceId,
        intermediate,
        added,
        removed,
      ]),
      [
        [3, "", false, 3, 3],
        [2, "second", false, 2, 0],
        [1, "docs", true, 2, 0],
      ],
    );
    assert.match(kept[0]?.crawl ?? "", /^jb_77 /);
    await nothingToDo();
    await stage.app.rollback(FOLDERS, 2, { dryRun: false });
    assert.equal(await read(), BEFORE);
  });

  test("visibility=source shows each source when it is in, and what is gone when all are", async () => {
    await stage.crawl();
    await changeBoth();
    const { log, seen } = await crawlWatched({ visibility: "source" });
    assert.ok(log.includes("visibility=source: each source becomes visible when it is in."));
    const between = "The heron flies. The ibis stands. The kestrel hovers. The lapwing calls.";
    assert.ok(seen.has(between), [...seen].join("\n"));
    assert.equal(await read(), AFTER);
    await nothingToDo();
  });

  test("a source that fails keeps what it had, the other becomes visible; the next crawl has the rest", async () => {
    await stage.crawl();
    await changeBoth();
    let hasFailed = false;
    const { result, log } = await crawlWatched({}, async (lines) => {
      // The second source is about to be staged.
      if (hasFailed || lines.filter((line) => line.startsWith("Index:")).length < 2) return;
      hasFailed = true;
      throw new Error("something is wrong here");
    });
    assert.match(result.problems.join(), /^Source 'second': something is wrong here/, log.join("\n"));
    assert.equal(await read(), "The heron flies. The kestrel hovers. The lapwing calls.");
    assert.deepEqual(await numbers(), [3, 2, 1]);
    assert.equal((await stage.app.generations(FOLDERS)).kept[0]?.sourceId, "docs");
    await inStep();
    assert.deepEqual((await crawlWatched()).result.problems, []);
    assert.equal(await read(), AFTER);
    await nothingToDo();
  });

  test("cancelled, it commits nothing; what it stored is reused by the next, and then swept", async () => {
    await stage.crawl();
    await changeBoth();
    const stop = new AbortController();
    const cancelled = crawlWatched(
      {},
      async (lines) => {
        if (!lines.some((line) => line.includes("Indexing 'c.md'"))) return;
        stop.abort();
        throw new CancelledError("cancelled");
      },
      stop.signal,
    );
    await assert.rejects(cancelled, CancelledError);
    assert.equal(await read(), BEFORE);
    await inStep();
    const drafted = await chunksOf("The heron flies.");
    assert.equal(drafted.length, 1, "it was stored");
    // A single commit meanwhile, whose cleanup must not take it.
    await stage.write("second/d.md", "The lapwing again.");
    await crawlWatched({ sourceId: SECOND, gathered: true });
    assert.deepEqual(await chunksOf("The heron flies."), drafted);
    await stage.remove("second/d.md");
    assert.deepEqual((await crawlWatched()).result.problems, []);
    assert.equal(await read(), AFTER);
    assert.deepEqual(await chunksOf("The heron flies."), drafted, "and is not embedded again");
    assert.equal(await openDrafts(), 0);
    await nothingToDo();
  });

  const sql = async <T>(text: string): Promise<T[]> => {
    const { vectorStoreId } = await stage.app.domains.get(FOLDERS);
    const db = new DatabaseSync(join(stage.storage, "index", `${vectorStoreId}.sqlite`), { readOnly: true });
    try {
      return db.prepare(text).all() as T[];
    } finally {
      db.close();
    }
  };
  const chunksOf = async (text: string): Promise<number[]> =>
    (await sql<{ id: number }>(`SELECT id FROM chunks WHERE text = '${text}' ORDER BY id`)).map(({ id }) => id);
  const openDrafts = async (): Promise<number> => (await sql("SELECT id FROM generations WHERE number IS NULL")).length;

  /** A crawl in a process of its own, which kills itself before it says this. */
  const dieBefore = async (line: string): Promise<void> => {
    const { settings, now } = stage;
    const wishes = { scope: "all" };
    const task: ChildTask = { settings, nowMs: now.getTime(), verb: "crawl", wishes, dieBefore: line };
    const child = spawn(process.execPath, [CHILD, JSON.stringify(task)], { stdio: ["ignore", "ignore", "inherit"] });
    const [, signal] = await once(child, "exit");
    assert.equal(signal, "SIGKILL");
  };

  for (const [moment, line] of [
    ["when one source is staged", `Source '${SECOND}'`],
    ["between the commit and the ledger", "Index: what changed in 2 sources is visible now"],
  ] as const) {
    test(`killed ${moment}, the next crawl is in step, and embeds nothing twice`, async () => {
      await stage.crawl();
      await changeBoth();
      await dieBefore(line);
      const isCommitted = line.startsWith("Index:");
      assert.equal(await read(), isCommitted ? AFTER : BEFORE);
      const drafted = await chunksOf("The heron flies.");
      assert.equal(drafted.length, 1);
      const { result } = await crawlWatched();
      assert.deepEqual(result.problems, []);
      assert.equal(await read(), AFTER);
      assert.deepEqual(await chunksOf("The heron flies."), drafted);
      assert.equal(await openDrafts(), 0);
      assert.deepEqual(await numbers(), [3, 2, 1]);
      await nothingToDo();
    });
  }

  test("what watch mode commits meanwhile stays, and the next crawl judges it", async () => {
    await stage.crawl();
    await changeBoth();
    let isDone = false;
    const { result, log } = await crawlWatched({}, async (lines) => {
      if (isDone || !lines.some((line) => line.startsWith(`Source '${SECOND}'`))) return;
      isDone = true;
      // The first source is staged: one of its files changes again, and is committed alone.
      await stage.write("first/a.md", "The heron sleeps.");
      await crawlWatched({ sourceId: DOCS, gathered: true });
      assert.match(await read(), /The heron sleeps\./);
    });
    assert.deepEqual(result.problems, [], log.join("\n"));
    assert.equal(await read(), AFTER.replace("flies", "sleeps"));
    await inStep();
    await nothingToDo();
    assert.equal(await openDrafts(), 0);
  });

  test("two crawls at once leave the domain in step, and no draft behind", async () => {
    await stage.crawl();
    await changeBoth();
    const both = await Promise.all([crawlWatched(), crawlWatched()]);
    for (const { result } of both) assert.deepEqual(result.problems, []);
    assert.equal(await read(), AFTER);
    await inStep();
    await nothingToDo();
    assert.equal(await openDrafts(), 0);
  });

  test("a source that is taken out leaves with the changes of the others", async () => {
    await stage.crawl();
    await changeBoth();
    const domain = await stage.app.domains.get(FOLDERS);
    await stage.app.domains.update({ ...domain, sources: domain.sources.slice(0, 1) }, domain);
    const { seen, result } = await crawlWatched();
    assert.deepEqual(result.problems, []);
    assert.deepEqual([...seen], [BEFORE, "The heron flies."]);
    await nothingToDo();
  });

  test("a rebuild with blueGreen changes over in one moment: to one new generation", async () => {
    await stage.crawl();
    await changeBoth();
    const rebuild = { domainId: FOLDERS, force: false, mode: "blueGreen" } as const;
    const { work } = await rebuildIndexJob(stage.app, rebuild, { dryRun: false });
    const seen = new Set<string>();
    const { error } = await work({
      jobId: "jb_88" as JobId,
      dryRun: false,
      signal: new AbortController().signal,
      log: () => undefined,
      checkpoint: async () => void seen.add(await read()),
    });
    assert.equal(error, "");
    assert.deepEqual([...seen], [BEFORE, AFTER]);
    assert.deepEqual(await numbers(), [3, 2, 1]);
  });
});
