// Registered addresses are fetched, indexed, refreshed and removed as their servers answer.
import assert from "node:assert/strict";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, beforeEach, describe, test } from "node:test";
import sharp from "sharp";
import { compose } from "../../src/app/compose.ts";
import { readConfig } from "../../src/app/config.ts";
import { renameJob } from "../../src/app/jobs.ts";
import { NotFoundError } from "../../src/contracts/errors.ts";
import { type ItemId, parseDomainId, type SourceId } from "../../src/contracts/ids.ts";
import type { IngestItem } from "../../src/contracts/registry.ts";
import type { CrawlResult } from "../../src/engine/crawl-request.ts";
import { changeItem } from "../../src/engine/ingest/item-records.ts";
import { openSqlRegistry } from "../../src/ledger/registry/sql-registry.ts";
import { openTaskQueue } from "../../src/queue/open-task-queue.ts";
import { parseDomain } from "../kinds.ts";
import { openTestLedgers } from "../ledger/open-test-ledgers.ts";
import { INGEST, IngestStage } from "./ingest-stage.ts";

/** Every test has pages of its own on one stage. */
describe("registered addresses", () => {
  let stage: IngestStage;
  before(async () => {
    stage = await IngestStage.open();
  });
  after(() => stage.close());
  beforeEach(() => {
    stage.pages.asked.length = 0;
    stage.pages.bodies.length = 0;
  });
  const says = (path: string, text: string, head = ""): void => void stage.pages.answers.set(path, { text, head });

  test("an address is registered, looked at and found; the same twice is one record, one member, one message", async () => {
    says("/first", "Everything about walruses.");
    const id = await stage.add("/first");
    assert.equal(await stage.add("/first/#top"), id);
    assert.equal(await stage.add("/first?utm_source=mail"), id);
    assert.deepEqual(await stage.app.domains.get(INGEST).then(({ sources }) => sources.map((one) => one.sourceId)), [
      "urls",
    ]);
    assert.equal(await stage.work(), 1);
    assert.equal((await stage.item(id)).status, "Crawled");
    const [job] = await stage.round();
    assert.deepEqual([job?.result?.ok, job?.result?.error], [true, ""]);
    const view = await stage.app.ingest.item(id);
    assert.equal(view.item.status, "Indexed");
    assert.equal(view.members.length, 1);
    assert.equal(view.members[0]?.lastIndexedDocId, view.item.linkage.lastIndexedDocId);
    assert.notEqual(view.item.linkage.lastIndexedDocId, "");
    assert.deepEqual(await stage.found("walruses"), ["/first"]);
    assert.deepEqual(stage.pages.asked, ["/first"]);
  });

  test("unchanged costs one conditional request and no crawl; changed is found anew, and the old text is not", async () => {
    says("/news", "The price is seventeen.");
    const id = await stage.add("/news");
    await stage.round();
    stage.later(2);
    assert.deepEqual(await stage.round(), []);
    assert.deepEqual(stage.pages.bodies, ["/news"]);
    assert.equal((await stage.item(id)).scheduling.unchangedCount, 1);
    says("/news", "The price is eighteen.");
    stage.later(2);
    assert.equal((await stage.round()).length, 1);
    assert.deepEqual([await stage.found("eighteen"), await stage.found("seventeen")], [["/news"], []]);
    assert.equal((await stage.item(id)).status, "Indexed");
  });

  test("a request during a look is neither lost nor served twice", async () => {
    let open = (): void => undefined;
    const gate = new Promise<void>((resolve) => {
      open = resolve;
    });
    stage.pages.answers.set("/gated", { text: "Behind a gate.", gate });
    const id = await stage.add("/gated");
    const looking = stage.work();
    await untilAsked("/gated", 1);
    const { reindexGeneration } = await stage.app.ingest.reindex({ id });
    assert.equal(reindexGeneration, 1);
    // Its message finds the item taken, and is put off.
    assert.equal(await stage.app.ingest.workOne("rival", new AbortController().signal), true);
    assert.equal(stage.pages.asked.length, 1);
    open();
    await looking;
    await untilAsked("/gated", 2);
    await stage.round();
    const { processedGeneration, reindexRequested } = await stage.item(id);
    assert.deepEqual([processedGeneration, reindexRequested], [1, false]);
    assert.equal(stage.pages.bodies.filter((path) => path === "/gated").length, 2);
    await stage.round();
    assert.equal(stage.pages.asked.filter((path) => path === "/gated").length, 2);
    const [member] = (await stage.app.ingest.item(id)).members;
    assert.equal(member?.indexedGeneration, 1);
  });

  test("what the index cannot have says why, for as long as it is the same, and is not indexed again and again", async () => {
    const files = {
      "/empty.txt": ["text/plain", ""],
      "/broken.pdf": ["application/pdf", "%PDF-1.4 nonsense"],
    } as const;
    const ids: ItemId[] = [];
    for (const [path, [type, text]] of Object.entries(files)) {
      stage.pages.files.set(path, { type, bytes: Buffer.from(text) });
      ids.push(await stage.add(path));
    }
    const [job] = await stage.round();
    assert.equal(job?.result?.ok, false);
    for (const days of [0, 2]) {
      stage.later(days);
      assert.deepEqual(await stage.round(), [], `after ${days} days`);
      const items = await Promise.all(ids.map((id) => stage.item(id)));
      assert.deepEqual(
        items.map(({ status, scheduling }) => [status, scheduling.errorMessage]),
        [
          ["Error", "The file is empty."],
          ["Error", "The PDF is damaged and cannot be read."],
        ],
      );
    }
  });

  test("404 three times is Gone and leaves search; coming back restores the same item", async () => {
    says("/moody", "A moody marmot.");
    const id = await stage.add("/moody");
    await stage.round();
    const page = stage.pages.answers.get("/moody") ?? assert.fail();
    stage.pages.answers.delete("/moody");
    for (const days of [1, 2]) {
      stage.later(days + 1);
      await stage.round();
      assert.deepEqual(await stage.found("marmot"), ["/moody"]);
    }
    stage.later(3);
    const [job] = await stage.round();
    assert.deepEqual([job?.result?.error, (await stage.item(id)).status], ["", "Gone"]);
    assert.deepEqual(await stage.found("marmot"), []);
    assert.deepEqual(await stage.app.ingest.behind(), []);
    stage.pages.answers.set("/moody", page);
    stage.later(20);
    await stage.round();
    assert.equal((await stage.item(id)).status, "Indexed");
    assert.deepEqual(await stage.found("marmot"), ["/moody"]);
  });

  test("errors of the server lose nothing, also when somebody registers it again meanwhile", async () => {
    says("/shaky", "A shaky pelican.");
    const id = await stage.add("/shaky");
    await stage.round();
    stage.pages.answers.set("/shaky", { status: 503 });
    for (let check = 0; check < 6; check++) {
      stage.later(2);
      await stage.round();
    }
    assert.equal((await stage.item(id)).status, "Error");
    await stage.add("/shaky");
    assert.equal((await stage.item(id)).status, "Pending");
    await stage.crawl();
    assert.deepEqual(await stage.found("pelican"), ["/shaky"]);
  });

  test("noindex leaves", async () => {
    says("/secret", "A secret ibex.");
    await stage.add("/secret");
    await stage.round();
    assert.deepEqual(await stage.found("ibex"), ["/secret"]);
    says("/secret", "A secret ibex.", '<meta name="robots" content="noindex">');
    stage.later(2);
    await stage.round();
    assert.deepEqual(await stage.found("ibex"), []);
  });

  test("two addresses of one page are one document; it stays until the last of them is taken out", async () => {
    says("/real", "A real okapi.");
    for (const path of ["/old-a", "/old-b"]) {
      stage.pages.answers.set(path, { status: 301, headers: { location: stage.pages.url("/real") } });
    }
    const ids = [await stage.add("/old-a"), await stage.add("/old-b")];
    await stage.round();
    const { aliasOf } = await stage.item(ids[0] as ItemId);
    assert.notEqual(aliasOf, "");
    assert.equal((await stage.item(ids[1] as ItemId)).aliasOf, aliasOf);
    assert.deepEqual(await stage.found("okapi"), ["/real"]);
    assert.equal((await stage.item(aliasOf as ItemId)).status, "Indexed");
    const forced = await stage.app.ingest.reindex({ source: stage.pages.url("/old-a") });
    assert.equal(forced.id, aliasOf);
    await stage.round();
    await stage.app.ingest.remove(ids[0] as ItemId, INGEST);
    await stage.round();
    assert.deepEqual(await stage.found("okapi"), ["/real"]);
    await stage.app.ingest.remove(ids[1] as ItemId, INGEST);
    await stage.round();
    assert.deepEqual(await stage.found("okapi"), []);
    for (const id of [...ids, aliasOf as ItemId]) await assert.rejects(stage.app.ingest.item(id), NotFoundError);
  });

  test("taken out while it is being indexed, it leaves; registered while it leaves, it comes back", async () => {
    says("/torn", "A torn tapestry.");
    says("/other", "An orderly otter.");
    const id = await stage.add("/torn");
    await stage.round();
    says("/torn", "A torn tablecloth.");
    stage.later(2);
    stage.pages.beforeAnswer = async (path) => {
      if (path === "/torn") await stage.app.ingest.remove(id, INGEST);
    };
    await stage.crawl({ sourceId: "urls" as SourceId });
    stage.pages.beforeAnswer = async () => undefined;
    assert.deepEqual(await stage.found("tablecloth"), ["/torn"]);
    assert.deepEqual(
      (await stage.app.ingest.behind()).map(({ domainId, sourceId, items }) => [domainId, sourceId, items]),
      [[INGEST, "urls", 1]],
    );
    // The crawl that takes it away looks at another address meanwhile.
    await stage.add("/other");
    stage.pages.beforeAnswer = async (path) => {
      if (path === "/other") await stage.add("/torn");
    };
    await stage.crawl({ sourceId: "urls" as SourceId });
    stage.pages.beforeAnswer = async () => undefined;
    assert.deepEqual([await stage.found("tablecloth"), await stage.found("otter")], [[], ["/other"]]);
    await stage.round();
    assert.deepEqual(await stage.found("tablecloth"), ["/torn"]);
    assert.equal((await stage.item(id)).status, "Indexed");
  });

  test("an address that leads elsewhere now takes its old page along", async () => {
    says("/left", "A left lemur.");
    says("/right", "A right lynx.");
    const lead = (to: string): void =>
      void stage.pages.answers.set("/fork", { status: 302, headers: { location: stage.pages.url(to) } });
    lead("/left");
    await stage.add("/fork");
    await stage.round();
    assert.deepEqual(await stage.found("lemur"), ["/left"]);
    lead("/right");
    stage.later(2);
    await stage.round();
    assert.deepEqual([await stage.found("lynx"), await stage.found("lemur")], [["/right"], []]);
  });

  test("a page that moves on is found at its new address, although the registered one was not looked at", async () => {
    says("/moved/two", "A moving moose.");
    says("/moved/three", "A moving moose.");
    const leadsTo = (path: string, to: string): unknown =>
      stage.pages.answers.set(path, { status: 301, headers: { location: stage.pages.url(to) } });
    leadsTo("/moved/one", "/moved/two");
    const one = await stage.add("/moved/one");
    await stage.round();
    const two = (await stage.item(one)).aliasOf as ItemId;
    leadsTo("/moved/two", "/moved/three");
    await stage.app.ingest.reindex({ id: two });
    await stage.round();
    assert.deepEqual([(await stage.item(one)).aliasOf, await stage.found("moose")], [two, ["/moved/three"]]);
    await stage.app.ingest.remove(one, INGEST);
    await stage.round();
    assert.deepEqual([await stage.found("moose"), await stage.app.ingest.behind()], [[], []]);
  });

  test("two domains have the same address: one record, an index each, and leaving one is not leaving both", async () => {
    const other = parseDomainId("OTHER");
    await stage.app.domains.create({
      ...(await stage.app.domains.get(INGEST)),
      domainId: other,
      vectorStoreId: "",
      sources: [],
    });
    says("/shared", "A shared tapir.");
    const id = await stage.add("/shared");
    await stage.round();
    assert.equal(await stage.add("/shared", { domainId: other }), id);
    assert.deepEqual(
      (await stage.round()).map(({ object }) => object),
      ["OTHER"],
    );
    assert.deepEqual([await stage.found("tapir"), await stage.found("tapir", other)], [["/shared"], ["/shared"]]);
    assert.deepEqual(stage.pages.bodies, ["/shared"]);
    await stage.app.ingest.remove(id, INGEST);
    await stage.round();
    assert.deepEqual([await stage.found("tapir"), await stage.found("tapir", other)], [[], ["/shared"]]);
    assert.equal((await stage.item(id)).status, "Indexed");
    const deletion = await stage.app.planDeletion(other, { withVectorStore: true });
    await deletion.apply(() => undefined);
    await assert.rejects(stage.app.ingest.item(id), NotFoundError);
  });

  test("what is gone long enough is purged with its documents", async () => {
    says("/brief", "A brief mayfly.");
    const id = await stage.add("/brief");
    await stage.round();
    stage.pages.answers.delete("/brief");
    for (let check = 0; check < 3; check++) {
      stage.later(2);
      await stage.round();
    }
    stage.later(29);
    await stage.round();
    assert.equal((await stage.item(id)).status, "Gone");
    stage.later(2);
    await stage.round();
    await assert.rejects(stage.app.ingest.item(id), NotFoundError);
    assert.equal(
      existsSync(join(stage.storage, "crawler", INGEST, "04_web", "urls", "02_embedded", "brief.md")),
      false,
    );
  });

  test("a rename takes the members along, a source that is taken out leaves with all it had", async () => {
    const [from, to] = [parseDomainId("BEFORE"), parseDomainId("AFTER")];
    const { domains, ingest, runner } = stage.app;
    await domains.create({ ...(await domains.get(INGEST)), domainId: from, vectorStoreId: "", sources: [] });
    says("/moving", "A moving yak.");
    const id = await stage.add("/moving", { domainId: from });
    await stage.round();
    const { start, work } = renameJob(stage.app, { from, to }, { dryRun: false });
    const renamed = await (await runner.start({ ...start, endpoint: "test" }, work)).done;
    assert.equal(renamed.result?.error, "");
    assert.deepEqual(
      (await ingest.item(id)).members.map(({ domainId }) => domainId),
      [to],
    );
    const crawl = await stage.crawl({ domainId: to });
    const { sources } = (crawl.result ?? assert.fail()).data as CrawlResult;
    assert.equal(sources[0]?.download.unchanged, 1);
    assert.deepEqual(await stage.found("yak", to), ["/moving"]);
    const domain = await domains.get(to);
    await domains.update({ ...domain, sources: [] }, domain);
    assert.equal((await stage.crawl({ domainId: to })).result?.error, "");
    assert.deepEqual(await stage.found("yak", to), []);
    await assert.rejects(ingest.item(id), NotFoundError);
  });

  test("taken out before its first crawl, or killed between members and records, nothing is looked after for ever", async () => {
    const domainId = parseDomainId("EARLY");
    const { domains, ingest } = stage.app;
    says("/early", "An early egret.");
    says("/orphan", "An orphaned ocelot.");
    const orphan = await stage.add("/orphan");
    await domains.create({ ...(await domains.get(INGEST)), domainId, vectorStoreId: "", sources: [] });
    const early = await stage.add("/early", { domainId });
    const domain = await domains.get(domainId);
    await domains.update({ ...domain, sources: [] }, domain);
    await (await stage.app.planDeletion(domainId, { withVectorStore: false })).apply(() => undefined);
    await assert.rejects(ingest.item(early), NotFoundError);
    await stage.round();
    const ledgers = openTestLedgers(join(stage.storage, "crawler"));
    await ledgers.members.change((await ingest.item(orphan)).members, () => undefined);
    await ledgers.close();
    stage.later(2);
    await stage.sweep();
    await assert.rejects(ingest.item(orphan), NotFoundError);
    assert.equal((await stage.crawl({ confirmDeletes: true })).result?.error, "");
    assert.deepEqual(await stage.found("orphaned"), []);
  });

  test("a rebuild makes every registered address due; forced, it fetches what has not changed", async () => {
    const domainId = parseDomainId("REBUILT");
    const { domains, ingest, runner } = stage.app;
    await domains.create({ ...(await domains.get(INGEST)), domainId, vectorStoreId: "", sources: [] });
    for (const path of ["/r1", "/r2"]) {
      says(path, `Rebuilt ${path}.`);
      await stage.add(path, { domainId });
    }
    await stage.round();
    const rebuild = async (force: boolean): Promise<number> => {
      const start = { router: "ingest", action: "rebuild", object: domainId, dryRun: false, endpoint: "test" };
      const job = await runner.start(start, async (context) => {
        const { queued } = await ingest.rebuild({ domainId, force }, context);
        return { ok: true, error: "", data: queued };
      });
      return (await job.done).result?.data as number;
    };
    assert.equal(await rebuild(false), 2);
    assert.equal(await stage.work(), 2);
    assert.equal(stage.pages.bodies.length, 2);
    assert.equal(await rebuild(true), 2);
    assert.equal(await stage.work(), 2);
    assert.equal(stage.pages.bodies.length, 4);
    assert.deepEqual(
      (await ingest.behind()).map(({ domainId: id, items }) => [id, items]),
      [[domainId, 2]],
    );
    await stage.round();
    assert.deepEqual(await ingest.behind(), []);
  });

  test("a request for a page of a web site has that site crawled; the site itself is nobody's to take it from", async () => {
    const domainId = parseDomainId("SITE");
    says("/site", 'The front page. <a href="/site/inner">Inside</a>');
    says("/site/inner", "An inner impala.");
    const json = { web_sources: [{ source_id: "docs", start_urls: [stage.pages.url("/site")] }], name: "Site" };
    await stage.app.domains.create(parseDomain({ ...json, description: "", vector_store_name: "" }, domainId));
    assert.equal((await stage.crawl({ domainId })).result?.error, "");
    const { items } = await stage.app.ingest.items({ domainId, text: "inner", offset: 0, limit: 2 });
    assert.deepEqual(
      items.map(({ status, watched }) => [status, watched]),
      [["Indexed", false]],
    );
    const [{ id }] = items as [IngestItem];
    await stage.app.ingest.reindex({ id });
    const [job] = await stage.round();
    assert.equal(job?.object, domainId);
    const [member] = (await stage.app.ingest.item(id)).members;
    assert.deepEqual([member?.sourceId, member?.indexedGeneration], ["docs", 1]);
    assert.deepEqual(await stage.app.ingest.behind(), []);
    // Another canonical link is nobody's wish: the site is crawled when it is its time, and has the page then.
    says("/site/inner", "An inner impala.", '<link rel="canonical" href="https://cdn.example/inner">');
    await stage.add("/site/inner");
    await stage.round();
    assert.equal((await stage.item(id)).processedGeneration, 2);
    const indexed = async (): Promise<unknown> =>
      (await stage.app.ingest.item(id)).members.map((one) => [one.sourceId, one.indexedGeneration]).sort();
    assert.deepEqual(
      [await indexed(), await stage.app.ingest.behind()],
      [
        [
          ["docs", 1],
          ["urls", 2],
        ],
        [],
      ],
    );
    await stage.app.ingest.remove(id, INGEST);
    await stage.round();
    assert.equal((await stage.crawl({ domainId })).result?.error, "");
    assert.deepEqual(await indexed(), [["docs", 2]]);
    await assert.rejects(stage.app.ingest.remove(id, domainId), /page of the web site 'docs'/);
    assert.deepEqual(await stage.found("impala", domainId), ["/site/inner"]);
  });

  test("pictures of a page are kept when asked for, and counted", async () => {
    const picture = await sharp({ create: { width: 300, height: 200, channels: 3, background: "#336699" } })
      .composite([{ input: await noise(), blend: "over" }])
      .png()
      .toBuffer();
    stage.pages.files.set("/view.png", { type: "image/png", bytes: picture });
    stage.pages.answers.set("/view", { text: 'The view. <img src="/view.png" alt="The hills">' });
    const id = await stage.add("/view", { includeImages: true });
    await stage.round();
    const { item, images } = await stage.app.ingest.item(id);
    assert.equal(item.linkage.imageCount, 1);
    assert.deepEqual(
      images.map(({ alt, parentPageId }) => [alt, parentPageId]),
      [["The hills", id]],
    );
    await stage.app.ingest.remove(id, INGEST);
    await stage.round();
    assert.deepEqual(await stage.app.ingest.images.of(id), []);
  });

  test("whoever stops in the middle leaves the item to the next one at once", async () => {
    stage.pages.answers.set("/stopped", { text: "A stopped sloth.", gate: new Promise(() => undefined) });
    const id = await stage.add("/stopped");
    const stop = new AbortController();
    const looking = stage.app.ingest.workOne("leaving", stop.signal);
    await untilAsked("/stopped", 1);
    assert.match((await stage.item(id)).lock.lockedBy, /^leaving /);
    stop.abort();
    assert.equal(await looking, true);
    says("/stopped", "A stopped sloth.");
    assert.equal(await stage.work(), 1);
    assert.equal((await stage.item(id)).status, "Crawled");
    await stage.round();
  });

  test("what goes wrong here is not the page's fault: it is told, and looked at again", async () => {
    says("/ours", "Our own ocelot.");
    const id = await stage.add("/ours");
    const folder = join(stage.storage, "web", "documents");
    await rename(folder, `${folder}-away`);
    await writeFile(folder, "A file where a folder should be.");
    await assert.rejects(stage.app.ingest.workOne("test", new AbortController().signal));
    const { status, lock, scheduling } = await stage.item(id);
    assert.deepEqual([status, lock.lockedBy, scheduling.failureCount], ["Pending", "", 0]);
    await rm(folder);
    await rename(`${folder}-away`, folder);
    while ((await stage.item(id)).status === "Pending") await stage.work();
    await stage.round();
    assert.deepEqual(await stage.found("ocelot"), ["/ours"]);
  });

  test("a slow host does not keep the others waiting", async () => {
    let open = (): void => undefined;
    const gate = new Promise<void>((resolve) => {
      open = resolve;
    });
    const { signal } = new AbortController();
    for (const path of Array.from({ length: 8 }, (_, at) => `/slow${at + 1}`)) {
      stage.pages.answers.set(path, { text: `A slow snail ${path}.`, gate });
      await stage.add(path);
    }
    says("/quick", "A quick quokka.");
    const url = stage.pages.url("/quick").replace("127.0.0.1", "localhost");
    const wishes = { title: "", domainId: undefined, force: false, includeImages: false };
    const { id } = await stage.app.ingest.add({ url, ...wishes });
    const slow = Array.from({ length: 3 }, () => stage.app.ingest.workOne("slow", signal));
    await untilAsked("/slow3", 1);
    // Those that wait for the slow one let others go first.
    assert.equal(await stage.app.ingest.workOne("quick", signal), true);
    assert.equal((await stage.item(id)).status, "Crawled");
    open();
    await Promise.all(slow);
    while ((await stage.found("snail")).length < 8) await stage.round();
    assert.equal(stage.pages.asked.filter((path) => path.startsWith("/slow")).length, 8);
  });

  test("a message that waits in a long line is not sent again; one that got lost is", async () => {
    // A line of its own: whatever else still waited would count as the long line.
    const alone = await IngestStage.open();
    alone.pages.answers.set("/patient", { text: "A patient pangolin." });
    alone.pages.answers.set("/lost", { text: "A lost lory." });
    const lost = await alone.add("/lost");
    const queue = openTaskQueue({ folder: join(alone.storage, "index") });
    const task = (await queue.claim(["ingest"], "losing", 60_000)) ?? assert.fail("its message is there");
    const patient = await alone.add("/patient");
    const messages = async (id: ItemId): Promise<number> => {
      await alone.sweep();
      return (await queue.list()).filter(({ payload }) => (payload as { id: unknown }).id === id).length;
    };
    alone.later(1 / 24);
    assert.deepEqual([await messages(lost), await messages(patient)], [1, 1]);
    await queue.complete(task);
    await alone.work();
    assert.equal(await messages(lost), 1);
    await queue.close();
    await alone.round();
    assert.deepEqual(await alone.found("lory"), ["/lost"]);
    await alone.close();
  });

  test("an item that is lost to somebody else in the middle of a crawl is left to them, and the crawl goes on", async () => {
    says("/contested", "A contested cougar.");
    says("/calm", "A calm caribou.");
    const id = await stage.add("/contested");
    await stage.add("/calm");
    await stage.app.close();
    stage.app = await compose(readConfig(stage.settings), { web: { now: () => stage.now, restMs: 1, lockMs: 200 } });
    const registry = openSqlRegistry({ folder: join(stage.storage, "index") });
    stage.pages.beforeAnswer = async (path, response) => {
      if (path !== "/contested") return;
      const rival = { lockedBy: "a rival", lockedUntil: "2999-01-01T00:00:00.000000Z" };
      await changeItem(registry, id, (item) => ({ ...item, lock: rival }));
      await once(response, "close");
    };
    const { result } = await stage.crawl();
    stage.pages.beforeAnswer = async () => undefined;
    assert.deepEqual([result?.ok, result?.error], [true, ""]);
    assert.deepEqual(await stage.found("caribou"), ["/calm"]);
    assert.equal((await stage.item(id)).lock.lockedBy, "a rival");
    await changeItem(registry, id, (item) => ({ ...item, lock: { lockedBy: "", lockedUntil: "" } }));
    await registry.close();
    await stage.reopen();
    await stage.round();
    assert.deepEqual(await stage.found("cougar"), ["/contested"]);
  });

  test("an item that takes its workers down is left alone for a while, and its message with it", async () => {
    says("/deadly", "A deadly dodo.");
    const id = await stage.add("/deadly");
    const queue = openTaskQueue({ folder: join(stage.storage, "index") });
    for (let attempt = 0; attempt < 20; attempt++) {
      const task = (await queue.claim(["ingest"], "dying", 60_000)) ?? assert.fail("its message is there");
      await queue.fail(task, { error: "", delayMs: 0 });
    }
    await stage.work();
    const { status, scheduling } = await stage.item(id);
    assert.equal(status, "Error");
    assert.match(scheduling.errorMessage, /^Given up for now after 21 attempts/);
    assert.deepEqual([stage.pages.asked, await queue.list()], [[], []]);
    await queue.close();
    stage.later(1);
    await stage.round();
    assert.equal((await stage.item(id)).status, "Indexed");
  });

  test("a dry run looks and remembers nothing", async () => {
    says("/dry", "A dry camel.");
    const id = await stage.add("/dry");
    const { result } = await stage.crawl({}, true);
    const { sources } = (result ?? assert.fail()).data as CrawlResult;
    assert.ok(sources[0]?.planned?.some(({ path }) => path.endsWith("/dry.md")));
    assert.equal((await stage.item(id)).status, "Pending");
    await stage.round();
  });

  function noise(): Promise<Buffer> {
    const noisy = { type: "gaussian" as const, mean: 128, sigma: 60 };
    return sharp({ create: { width: 300, height: 200, channels: 3, background: "white", noise: noisy } })
      .png()
      .toBuffer();
  }

  async function untilAsked(path: string, times: number): Promise<void> {
    while (stage.pages.asked.filter((one) => one === path).length < times) {
      await new Promise((resolve) => setImmediate(resolve));
      if (times > 1) await stage.work();
    }
  }
});
