// What a crawl remembers of a web site survives kills and ends with the crawl.
import assert from "node:assert/strict";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { after, before, describe, type TestContext, test } from "node:test";
import type { DomainId, ItemId, SourceId } from "../../src/contracts/ids.ts";
import type { LedgerSource } from "../../src/contracts/ledger.ts";
import type { CrawledPage, CrawlHead, SiteMemory } from "../../src/contracts/site-memory.ts";
import { openPostgres } from "../../src/lib/sql/postgres-database.ts";
import { ofKind } from "../kinds.ts";
import { type PostgresServer, startPostgres } from "../postgres/start-postgres.ts";
import { openTestLedgers } from "./open-test-ledgers.ts";
import { gather } from "./registry-fixture.ts";

let server: PostgresServer;
let url = "";
let root = "";
before(async () => {
  root = await mkdtemp(join(tmpdir(), "lockstep-site-"));
  server = await startPostgres();
  url = await server.createDatabase();
});
after(async () => {
  await server.stop();
  await rm(root, { recursive: true, force: true });
});

const SOURCE: LedgerSource = {
  domainId: "DEMO" as DomainId,
  config: { ...ofKind("web_sources"), sourceId: "site" as SourceId },
};
const HEAD: CrawlHead = { digest: "d", site: "s", startedAt: "2026-01-01T00:00:00.000000Z" };
const at = (day: number, hour: number): string => new Date(Date.UTC(2026, 0, day, hour)).toISOString();

type Open = (head?: Partial<CrawlHead>, dryRun?: boolean) => Promise<SiteMemory>;

async function openPlace(t: TestContext, isPostgres: boolean): Promise<Open> {
  const crawlerFolder = await mkdtemp(join(root, "crawler-"));
  await mkdir(join(crawlerFolder, SOURCE.domainId));
  if (isPostgres) {
    const postgres = openPostgres(url);
    await postgres.dropTables("lockstep_ledger");
    await postgres.close();
  }
  const ledgers = openTestLedgers(crawlerFolder, isPostgres ? { url } : undefined);
  t.after(() => ledgers.close());
  return (head = {}, dryRun = false) => ledgers.openSiteMemory(SOURCE, { ...HEAD, ...head }, { dryRun });
}

function page(name: string, changes: Partial<CrawledPage> = {}): CrawledPage {
  const id = `url_${name}` as ItemId;
  return {
    id,
    url: `https://example.com/${name}`,
    depth: 1,
    outcome: "new",
    item: id,
    aliases: [],
    links: [],
    feeds: [],
    undated: "",
    isBlind: false,
    ...changes,
  };
}

const LIST = {
  url: "https://example.com/sitemap.xml",
  etag: '"1"',
  lastModified: "yesterday",
  addresses: ["https://example.com/a", "https://other.example/b"],
  dates: ["", "2026-01-01"],
  lists: ["https://example.com/more.xml"],
  isCut: true,
};

for (const isPostgres of [false, true]) {
  describe(`what a web site remembers in ${isPostgres ? "PostgreSQL" : "SQLite"}`, () => {
    test("is there at once, after a kill and in the next crawl", async (t) => {
      const open = await openPlace(t, isPostgres);
      const full = page("full", {
        aliases: ["url_b" as ItemId],
        links: ["https://example.com/z?a='%_\\#", "https://other.example/", "https://example.com/a"],
        feeds: ["https://example.com/feed"],
        undated: "hash",
      });
      const { links, feeds, undated } = full;
      const first = await open();
      assert.deepEqual([first.resumes, first.isBlind], [{ startedAt: "", pages: 0 }, false]);
      first.put([full, page("blind", { isBlind: true, links: ["https://example.com/q"] })]);
      first.putList(LIST);
      const assertKnown = async (memory: SiteMemory): Promise<void> => {
        assert.deepEqual(await memory.recall(full.id), { links, feeds, undated });
        assert.equal(await memory.recall(page("blind").id), undefined);
        assert.equal(await memory.recall(page("nobody").id), undefined);
        assert.deepEqual(await memory.recallList(LIST.url), LIST);
        assert.equal(await memory.recallList("https://example.com/"), undefined);
      };
      await assertKnown(first);
      await first.flush();
      await assertKnown(first);
      const second = await open({ startedAt: at(1, 23) });
      assert.deepEqual([second.resumes, second.isBlind], [{ startedAt: HEAD.startedAt, pages: 2 }, true]);
      await assertKnown(second);
      assert.deepEqual(
        (await gather(second.visitedPages())).map(({ id, aliases, links: none }) => [id, aliases, none]),
        [
          [full.id, full.aliases, []],
          [page("blind").id, [], []],
        ],
      );
      const earlier = await gather(second.earlier());
      assert.deepEqual(earlier[0], full);
      assert.deepEqual(earlier[1]?.links, ["https://example.com/q"]);
      await second.finish();
      await assertKnown(await open({ startedAt: at(1, 23) }));
      await assertKnown(await open({ digest: "other" }, true));
    });

    test("is gone on with when it is the same crawl, and not older than a day", async (t) => {
      const open = await openPlace(t, isPostgres);
      const begin = async (head: Partial<CrawlHead>): Promise<string> => {
        const memory = await open(head);
        memory.put([page("a", { links: ["https://example.com/b"] })]);
        await memory.flush();
        return memory.resumes.startedAt;
      };
      assert.equal(await begin({}), "");
      assert.equal(await begin({ startedAt: at(1, 5) }), HEAD.startedAt);
      assert.equal(await begin({ digest: "e" }), "");
      assert.equal(await begin({ digest: "e", startedAt: at(2, 1) }), "");
      assert.equal(await begin({ digest: "e", startedAt: at(1, 1) }), "", "from the future");
      assert.notEqual(await (await open({ digest: "f" }, true)).recall(page("a").id), undefined);
      assert.equal(await (await open({ site: "t" }, true)).recall(page("a").id), undefined);
      assert.equal(await (await open({ site: "t" })).recall(page("a").id), undefined);
      assert.equal(await (await open()).recall(page("a").id), undefined, "forgotten with its site");
    });

    test("what the next crawl does not meet is forgotten at its end, and not before", async (t) => {
      const open = await openPlace(t, isPostgres);
      const first = await open();
      first.put([page("a", { links: ["https://example.com/1"] }), page("b", { links: ["https://example.com/2"] })]);
      await first.finish();
      const second = await open();
      second.put([page("a", { outcome: "unchanged", links: ["https://example.com/3", "https://example.com/1"] })]);
      await second.flush();
      assert.deepEqual((await second.recall(page("b").id))?.links, ["https://example.com/2"]);
      await second.finish();
      const third = await open({}, true);
      assert.deepEqual((await third.recall(page("a").id))?.links, ["https://example.com/3", "https://example.com/1"]);
      assert.equal(await third.recall(page("b").id), undefined);
      third.put([page("c")]);
      await third.finish();
      assert.deepEqual(await gather((await open({ digest: "d" })).visitedPages()), [], "a dry run writes nothing");
    });

    test("a page that was looked at stays so when it is read on the way to another; those that failed are not recalled", async (t) => {
      const open = await openPlace(t, isPostgres);
      const memory = await open();
      const own = page("own", { depth: 2, links: ["https://example.com/1"] });
      const onTheWay = {
        ...own,
        url: "https://other.example/x",
        depth: 5,
        item: "" as const,
        isBlind: true,
        links: [],
      };
      memory.put([own, onTheWay]);
      await memory.flush();
      memory.put([onTheWay, page("failed", { outcome: "failed" }), page("near", { depth: 0 })]);
      await memory.flush();
      const resumed = await open();
      assert.deepEqual(await gather(resumed.earlier()), [
        page("near", { depth: 0 }),
        page("failed", { outcome: "failed" }),
        own,
      ]);
      assert.deepEqual(
        (await gather(resumed.visitedPages())).map(({ id }) => id),
        [page("near").id, own.id],
      );
    });
  });
}

test("what could not be written is written by the next flush, with what was put meanwhile", async (t) => {
  const crawlerFolder = await mkdtemp(join(root, "crawler-"));
  const ledgers = openTestLedgers(crawlerFolder);
  t.after(() => ledgers.close());
  await mkdir(join(crawlerFolder, SOURCE.domainId));
  const memory = await ledgers.openSiteMemory(SOURCE, HEAD, { dryRun: false });
  const others = new DatabaseSync(join(crawlerFolder, SOURCE.domainId, "ledger.sqlite"));
  t.after(() => others.close());
  others.exec("CREATE TRIGGER full BEFORE INSERT ON page BEGIN SELECT RAISE(ABORT, 'no space'); END");
  memory.put([page("a", { links: ["https://example.com/1"] })]);
  const failed = memory.flush();
  memory.put([page("b")]);
  await assert.rejects(failed, /no space/);
  assert.deepEqual((await memory.recall(page("a").id))?.links, ["https://example.com/1"]);
  others.exec("DROP TRIGGER full");
  await memory.flush();
  const resumed = await ledgers.openSiteMemory(SOURCE, HEAD, { dryRun: false });
  assert.deepEqual(
    (await gather(resumed.earlier())).map(({ id }) => id),
    [page("a").id, page("b").id],
  );
});
