// Databases can live outside the storage folder, and a folder that does not match the storage is refused.
import assert from "node:assert/strict";
import { globSync } from "node:fs";
import { mkdir, mkdtemp, rename, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, test } from "node:test";
import { compose } from "../../src/app/compose.ts";
import { readConfig } from "../../src/app/config.ts";
import { type JobId, parseDomainId } from "../../src/contracts/ids.ts";
import { FOLDERS, FolderStage } from "../engine/folder-stage.ts";
import { IngestStage } from "../engine/ingest-stage.ts";

describe("databases in a folder of their own", () => {
  let place: string;
  let local: string;
  beforeEach(async () => {
    place = await mkdtemp(join(tmpdir(), "lockstep-database-folder-"));
    local = join(place, "local");
  });
  afterEach(() => rm(place, { recursive: true, force: true }));

  const open = (folder = local): Promise<FolderStage> =>
    FolderStage.open({ place, settings: folder ? { DATABASE_FOLDER: folder } : {} });
  const databases = (folder: string): string[] => globSync("**/*.sqlite", { cwd: folder, exclude: ["sandbox"] }).sort();
  /** With these settings on the same storage, as another machine or another configuration has it. */
  const start = async ({ settings }: FolderStage, other: Record<string, string>): Promise<void> => {
    const app = await compose(readConfig({ ...settings, ...other }), { searchesHere: true });
    await app.close();
  };

  test("nothing of them is in the storage, and everything works: crawl, search, rename, deletion", async () => {
    const stage = await open();
    await stage.write("a.md", "The zebra is striped.");
    await stage.crawl();
    assert.deepEqual(await stage.found("zebra"), ["a.md"]);
    assert.deepEqual(databases(stage.storage), []);
    assert.ok(databases(local).includes(`crawler/${FOLDERS}/ledger.sqlite`));
    assert.ok(databases(local).includes("index/catalog.sqlite"));

    const to = parseDomainId("RENAMED");
    const job = {
      ...{ jobId: "jb_9" as JobId, dryRun: false, signal: new AbortController().signal },
      ...{ log: () => undefined, checkpoint: async () => undefined },
    };
    await stage.app.renameDomain({ from: FOLDERS, to }, job);
    assert.ok(databases(local).includes("crawler/RENAMED/ledger.sqlite"));
    assert.ok(!databases(local).includes(`crawler/${FOLDERS}/ledger.sqlite`));
    const found = await stage.app.query({ text: "zebra", limit: 1, domainId: to, vectorStoreId: undefined });
    assert.equal(found.sources[0]?.details?.path, "a.md");
    const { apply } = await stage.app.planDeletion(to, { withVectorStore: false });
    await apply(() => undefined);
    assert.deepEqual(globSync("crawler/*", { cwd: local }), []);
    await stage.close();
  });

  test("registered addresses are indexed, found, and looked after from then on", async (t) => {
    const stage = await IngestStage.open({ DATABASE_FOLDER: local });
    t.after(() => stage.close());
    stage.pages.answers.set("/zebra", { text: "The zebra is striped." });
    const id = await stage.add("/zebra");
    await stage.round();
    assert.deepEqual(await stage.found("zebra"), ["/zebra"]);
    await stage.crawl();
    await stage.reopen();
    await stage.sweep();
    assert.equal((await stage.item(id)).status, "Indexed");
    assert.deepEqual(await stage.found("zebra"), ["/zebra"]);
  });

  test("another machine is refused, and so is this one with another folder or without it", async () => {
    const stage = await open();
    const where = new RegExp(`are in '${local}' on the machine .*DATABASE_URL`);
    await assert.rejects(start(stage, { DATABASE_FOLDER: join(place, "other") }), where);
    await assert.rejects(start(stage, { DATABASE_FOLDER: "" }), where);
    await start(stage, {});
    const another = { PERSISTENT_STORAGE_PATH: join(place, "another storage") };
    await assert.rejects(
      start(stage, another),
      /has the databases of the storage folder '.*storage'\. Name another folder/,
    );
    await stage.close();
  });

  test("a folder that was emptied is named once, with what was lost and how to go on, and that works", async () => {
    const stage = await open();
    await stage.write("a.md", "The zebra is striped.");
    await stage.crawl();
    await stage.app.close();
    await rm(local, { recursive: true });
    await mkdir(local);
    await assert.rejects(start(stage, {}), ({ message }: Error) => {
      assert.equal(message.split(local).length, 2, message);
      assert.match(message, /are not in '.*' any more.*builds the ledgers again.*clear vector_store_id of the domains/);
      return true;
    });
    await rm(join(stage.storage, ".lockstep/database.json"));
    await stage.reopen();
    const domain = await stage.app.domains.get(FOLDERS);
    await stage.app.domains.update({ ...domain, vectorStoreId: "" }, domain);
    await stage.crawl();
    assert.deepEqual(await stage.found("zebra"), ["a.md"]);
    await stage.close();
  });

  test("a storage that has databases is refused until they are moved, and then goes on where it was", async () => {
    const before = await open("");
    await before.write("a.md", "The zebra is striped.");
    await before.crawl();
    await before.close();
    const own = databases(before.storage).filter((path) => !path.startsWith("."));
    await assert.rejects(
      start(before, { DATABASE_FOLDER: local }),
      /has databases of its own \(crawler\/FOLDERS\/ledger\.sqlite/,
    );
    for (const path of own) {
      await mkdir(dirname(join(local, path)), { recursive: true });
      await rename(join(before.storage, path), join(local, path));
    }
    const after = await open();
    const { source } = await after.crawl();
    const { added, changed, moved, removed } = source.download;
    assert.deepEqual({ added, changed, moved, removed }, { added: 0, changed: 0, moved: 0, removed: 0 });
    assert.deepEqual(await after.found("zebra"), ["a.md"]);
    await after.close();
  });
});
