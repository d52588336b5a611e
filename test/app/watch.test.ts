// A watched folder is in step with the index soon after every change, whatever happens meanwhile.
import assert from "node:assert/strict";
import { mkdir, mkdtemp, readdir, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, test } from "node:test";
import { setTimeout } from "node:timers/promises";
import { busyWith } from "../../src/app/busy-with.ts";
import { WATCH_ACTION, type WatchOptions, watchJob } from "../../src/app/watch.ts";
import { type DomainId, type JobId, parseSourceId } from "../../src/contracts/ids.ts";
import type { JobRecord } from "../../src/contracts/job.ts";
import type { WatchFolder } from "../../src/lib/watch-folder-tree.ts";
import { DOCS, FOLDERS, FolderStage } from "../engine/folder-stage.ts";

const LONGEST_MS = 600_000;

interface Watcher {
  readonly jobId: JobRecord["jobId"];
  log(): string;
  stop(): Promise<JobRecord>;
}

/** A folder with `first.md` (aardvark), and those who watch it. */
class Scene {
  readonly stage: FolderStage;
  readonly #watchers: Watcher[] = [];

  constructor(stage: FolderStage) {
    this.stage = stage;
  }

  async watch(options: WatchOptions = {}): Promise<Watcher> {
    const { app } = this.stage;
    const { start, work } = await watchJob(app, { domainId: FOLDERS, sourceId: undefined }, options);
    const { jobId, done } = await app.runner.start({ ...start, endpoint: "test" }, work);
    let [isOver, lines] = [false, ""];
    void done.then(() => {
      isOver = true;
    });
    const following = (async () => {
      for await (const bytes of app.jobs.follow(jobId, { signal: new AbortController().signal })) {
        lines += Buffer.from(bytes).toString();
      }
    })();
    const watcher: Watcher = {
      jobId,
      log: () => lines,
      async stop() {
        if (!isOver) await app.jobs.control(jobId, "cancel");
        await following;
        return await done;
      },
    };
    this.#watchers.push(watcher);
    return watcher;
  }

  async until(isSo: () => Promise<boolean>, what: string): Promise<void> {
    const givenUpAtMs = performance.now() + LONGEST_MS;
    while (!(await isSo())) {
      const logs = this.#watchers.map((watcher) => watcher.log());
      assert.ok(performance.now() < givenUpAtMs, `${what}:\n${logs.join("\n\n")}`);
      await setTimeout(20);
    }
  }

  /** Search finds this word there, and nowhere else. Before the first crawl there is nothing to search. */
  async untilFound(word: string, ...paths: string[]): Promise<void> {
    const found = async (): Promise<string[]> => await this.stage.found(word).catch(() => ["nothing yet"]);
    await this.until(async () => (await found()).join() === paths.join(), `'${word}' in ${paths.join() || "no file"}`);
  }

  untilSaid(watcher: Watcher, words: string): Promise<void> {
    return this.until(async () => watcher.log().includes(words), `the log says '${words}'`);
  }

  async close(): Promise<void> {
    for (const watcher of this.#watchers) await watcher.stop();
    await this.stage.close();
  }
}

function scene(title: string, play: (scene: Scene) => Promise<void>, where: "beside" | "below" = "beside"): void {
  test(title, async (t) => {
    const place = await mkdtemp(join(tmpdir(), "lockstep-watch-"));
    t.after(() => rm(place, { recursive: true, force: true }));
    const settings = { PERSISTENT_STORAGE_PATH: join(place, where === "below" ? "root/our/storage" : "storage") };
    const stage = await FolderStage.open({ place, settings });
    const played = new Scene(stage);
    try {
      await stage.write("first.md", "The first word is aardvark.\n");
      await play(played);
    } finally {
      await played.close();
    }
  });
}

describe("watching a folder", { concurrency: 4 }, () => {
  scene("what is made, edited, renamed, moved in or removed is searched as it is now", async (scene) => {
    const { stage } = scene;
    await scene.watch();
    await scene.untilFound("aardvark", "first.md");
    const { docId } = await stage.document("first.md");
    await stage.write("plans/second.md", "The second word is badger.\n");
    await scene.untilFound("badger", "plans/second.md");
    await stage.write("plans/second.md", "The second word is caracal now.\n");
    await scene.untilFound("caracal", "plans/second.md");
    await scene.untilFound("badger");
    await stage.rename("first.md", "plans/renamed.md");
    await scene.untilFound("aardvark", "plans/renamed.md");
    assert.equal((await stage.document("plans/renamed.md")).docId, docId);
    const outside = join(stage.root, "..", "outside");
    await mkdir(join(outside, "deep", "deeper"), { recursive: true });
    await writeFile(join(outside, "deep", "deeper", "third.md"), "The third word is dormouse.\n");
    await rename(outside, stage.at("moved"));
    await scene.untilFound("dormouse", "moved/deep/deeper/third.md");
    await stage.write("moved/deep/deeper/fourth.md", "The fourth word is echidna.\n");
    await scene.untilFound("echidna", "moved/deep/deeper/fourth.md");
    await stage.rename("moved/deep", "elsewhere");
    await scene.untilFound("dormouse", "elsewhere/deeper/third.md");
    await stage.remove("elsewhere");
    await scene.untilFound("dormouse");
    await scene.untilFound("echidna");
    await stage.remove("plans/second.md");
    await scene.untilFound("caracal");
    await scene.untilFound("aardvark", "plans/renamed.md");
  });

  scene("a burst of files is taken in few looks, each told in a line", async (scene) => {
    const { stage } = scene;
    const watcher = await scene.watch();
    await scene.untilFound("aardvark", "first.md");
    const names = Array.from({ length: 500 }, (_, i) => `burst/part${i % 7}/file${i}.md`);
    await Promise.all(names.map((name, i) => stage.write(name, `Number${i} of the burst is ferret${i}.\n`)));
    const told = (): number[] =>
      [...watcher.log().matchAll(/^data: docs: (\d+) added/gm)].map(([, added]) => Number(added));
    await scene.until(async () => told().reduce((sum, added) => sum + added, 0) === 501, "all of it is told of");
    assert.deepEqual(await stage.found("ferret499"), ["burst/part2/file499.md"]);
    assert.equal((await stage.holdings()).length, 501);
    const record = await watcher.stop();
    const { added } = (record.result?.data ?? {}) as { readonly added?: number };
    assert.deepEqual([record.state, added], ["cancelled", 501]);
    assert.ok(told().length < 50, "not file by file");
    assert.equal(watcher.log().includes("file499"), false, "single files are not told");
  });

  scene("one that is cancelled while it is paused tells what it did", async (scene) => {
    const watcher = await scene.watch();
    await scene.untilSaid(watcher, "\ndata: docs: 1 added (");
    await scene.stage.app.jobs.control(watcher.jobId, "pause");
    await scene.untilSaid(watcher, "Paused.");
    const { state, result } = await watcher.stop();
    assert.deepEqual([state, (result?.data as { readonly added: number } | undefined)?.added], ["cancelled", 1]);
  });

  scene(
    "a deletion that is seen in pieces is held like one that is seen at once, until it has rested",
    async (scene) => {
      const { stage } = scene;
      for (let i = 0; i < 60; i++) await stage.write(`f${i}.md`, `Number${i} of many.\n`);
      const watcher = await scene.watch({ pace: { retryMs: 20, retryMostMs: 40 } });
      const left = async (): Promise<number> => (await stage.holdings().catch(() => [])).length;
      await scene.until(async () => (await left()) === 61, "everything is there");
      for (let i = 0; i < 20; i++) await stage.remove(`f${i}.md`);
      await scene.until(async () => (await left()) === 41, "a few may leave");
      for (let i = 20; i < 40; i++) await stage.remove(`f${i}.md`);
      await scene.untilSaid(watcher, "that left in the last minutes, more than the 25 allowed");
      assert.ok((await left()) >= 61 - 25);
      stage.later(1);
      await scene.until(async () => (await left()) === 21, "the rest leaves later");
    },
  );

  scene(
    "our own storage below the folder is not listened to",
    async (scene) => {
      const watched: string[] = [];
      const watchFolder: WatchFolder = (path) => {
        watched.push(path);
        return { close: () => undefined };
      };
      await scene.watch({ watchFolder });
      await scene.untilFound("aardvark", "first.md");
      const { root } = scene.stage;
      assert.deepEqual(watched, [root, join(root, "our")]);
    },
    "below",
  );

  scene("where the system tells of nothing, everything is looked at again and again, until it does", async (scene) => {
    const { stage } = scene;
    let isFull = true;
    const watcher = await scene.watch({
      pace: { scanMs: 20, notifyAgainMs: 50 },
      watchFolder() {
        if (isFull) throw Object.assign(new Error("ENOSPC: no watches left"), { code: "ENOSPC" });
        return { close: () => undefined };
      },
    });
    await scene.untilSaid(watcher, "change notifications failed (ENOSPC: no watches left)");
    await stage.write("silent.md", "Without a word: gibbon.\n");
    await scene.untilFound("gibbon", "silent.md");
    await stage.remove("silent.md");
    await scene.untilFound("gibbon");
    isFull = false;
    await scene.untilSaid(watcher, "change notifications work again");
    const log = watcher.log();
    assert.equal(log.split("ENOSPC").length, 2, "it is said once");
  });

  scene("a root that is away is told once, nothing is lost, and it is in step when it is back", async (scene) => {
    const { stage } = scene;
    const watcher = await scene.watch({ pace: { scanMs: 20, retryMs: 20, retryMostMs: 40, notifyAgainMs: 50 } });
    await scene.untilFound("aardvark", "first.md");
    await rename(stage.root, `${stage.root}-away`);
    await scene.untilSaid(watcher, "It is tried again.");
    assert.deepEqual(await stage.found("aardvark"), ["first.md"]);
    await writeFile(join(`${stage.root}-away`, "late.md"), "Written meanwhile: heron.\n");
    await rename(`${stage.root}-away`, stage.root);
    await scene.untilFound("heron", "late.md");
    await scene.untilSaid(watcher, "in step again");
    assert.equal(watcher.log().split("It is tried again.").length, 2);
    await scene.untilSaid(watcher, "change notifications work again");
    await stage.write("later.md", "After that: ibis.\n");
    await scene.untilFound("ibis", "later.md");
  });

  scene("sources that are edited or added meanwhile are watched as they are now", async (scene) => {
    const { stage } = scene;
    await scene.watch();
    await scene.untilFound("aardvark", "first.md");
    const before = await stage.app.domains.get(FOLDERS);
    const root = join(stage.root, "..", "other");
    await mkdir(root);
    await writeFile(join(root, "other.md"), "In another place: jackal.\n");
    const more = { ...stage.config, sourceId: parseSourceId("more"), root };
    const edited = { ...stage.config, exclude: ["first.md"] };
    await stage.app.domains.update({ ...before, sources: [edited, more] }, before);
    await scene.untilFound("aardvark");
    await scene.untilFound("jackal", "other.md");
    await writeFile(join(root, "other.md"), "In another place: kestrel.\n");
    await scene.untilFound("kestrel", "other.md");
  });

  scene("a second watcher says who is at it, and takes over when that ends", async (scene) => {
    const { stage } = scene;
    const first = await scene.watch();
    await scene.untilFound("aardvark", "first.md");
    const second = await scene.watch();
    await scene.untilSaid(second, `job ${first.jobId} watches this source already`);
    await first.stop();
    await stage.write("second.md", "Seen by the other one: lemur.\n");
    await scene.untilFound("lemur", "second.md");
    await scene.untilSaid(second, "1 added");
  });

  scene("it can be paused, and keeps no crawl of the domain from starting", async (scene) => {
    const { stage } = scene;
    const watcher = await scene.watch();
    await scene.untilFound("aardvark", "first.md");
    const { jobs } = stage.app;
    assert.equal(await busyWith(jobs)(FOLDERS), watcher.jobId, "whoever renames or deletes the domain has to wait");
    assert.equal(await busyWith(jobs, { besides: WATCH_ACTION })(FOLDERS), undefined);
    await jobs.control(watcher.jobId, "pause");
    await scene.until(async () => (await jobs.get(watcher.jobId)).state === "paused", "it is paused");
    await stage.write("meanwhile.md", "While it sleeps: marmot.\n");
    await stage.crawl({ sourceId: DOCS });
    assert.deepEqual(await stage.found("marmot"), ["meanwhile.md"], "others can crawl");
    await stage.write("meanwhile.md", "While it sleeps: narwhal.\n");
    await jobs.control(watcher.jobId, "resume");
    await scene.untilFound("narwhal", "meanwhile.md");
  });

  scene("a rename that was interrupted is completed first", async (scene) => {
    const { stage } = scene;
    await stage.crawl();
    const domains = join(stage.storage, "domains");
    // As one leaves it that was killed as soon as the domain had its new name: back to the one that the stage knows.
    const { signal } = new AbortController();
    const job = {
      jobId: "jb_99" as JobId,
      dryRun: false,
      signal,
      log: () => undefined,
      checkpoint: async () => undefined,
    };
    await stage.app.renameDomain({ from: FOLDERS, to: "OTHER" as DomainId }, job);
    await mkdir(join(domains, ".lockstep", "renames"), { recursive: true });
    await writeFile(join(domains, ".lockstep", "renames", `OTHER~${FOLDERS}`), "");
    await rename(join(domains, "OTHER"), join(domains, FOLDERS));
    await stage.write("second.md", "The second word is okapi.\n");
    await scene.watch();
    await scene.untilFound("okapi", "second.md");
    assert.deepEqual(await readdir(join(stage.storage, "crawler")), [FOLDERS]);
  });

  scene("what cannot be watched is refused before there is a job", async (scene) => {
    const { stage } = scene;
    const before = await stage.app.domains.get(FOLDERS);
    const nobody = watchJob(stage.app, { domainId: FOLDERS, sourceId: parseSourceId("nobody") });
    await assert.rejects(nobody, /Source 'nobody' does not exist in domain 'FOLDERS'. To watch: 'docs'/);
    await stage.app.domains.update({ ...before, sources: [] }, before);
    await assert.rejects(watchJob(stage.app, { domainId: FOLDERS, sourceId: undefined }), /no folder_sources/);
  });
});
