// A domain and a crawl of it at the same moment: one gives way, and nothing is left of a deleted domain.
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, test } from "node:test";
import { busyWith } from "../../src/app/busy-with.ts";
import { crawlJob } from "../../src/app/jobs.ts";
import type { Domain } from "../../src/contracts/domain.ts";
import type { JobId } from "../../src/contracts/ids.ts";
import type { JobContext, JobRecord } from "../../src/contracts/job.ts";
import { sourceLease } from "../../src/contracts/lease.ts";
import { openErasureStore } from "../../src/domains/erasure-store.ts";
import { crawlRequest } from "../../src/engine/crawl-request.ts";
import { type DeletionParts, planDeletion } from "../../src/engine/delete-domain.ts";
import { openTestLedgers } from "../ledger/open-test-ledgers.ts";
import { openStage, type Stage } from "../stories/stage.ts";
import { DOCS, DOMAIN, type World } from "./world.ts";

const ignore = (): void => undefined;

describe("deleting a domain", () => {
  let stage: Stage;
  let world: World;
  let domain: Domain;
  beforeEach(async () => {
    stage = await openStage({});
    world = stage.world;
    await stage.plant();
    domain = await world.app.domains.get(DOMAIN);
  });
  afterEach(() => stage.close());

  const startCrawl = async (): Promise<{ readonly done: Promise<JobRecord>; readonly jobId: JobId }> => {
    const { start, work } = crawlJob(world.app, crawlRequest(DOMAIN, { mode: "full" }), { dryRun: false });
    return await world.app.runner.start({ ...start, endpoint: "story" }, work);
  };
  const isThere = (room: "domains" | "crawler"): boolean => existsSync(join(world.storage, room, DOMAIN));

  test("a crawl that starts while the vector store is being deleted keeps the domain", async () => {
    let crawl: Awaited<ReturnType<typeof startCrawl>> | undefined;
    const parts: DeletionParts = {
      domains: world.app.domains,
      domainsFolder: join(world.storage, "domains"),
      crawlerFolder: join(world.storage, "crawler"),
      defaultVectorStoreId: "",
      itemRepository: () => assert.fail("it has no web source"),
      ledgers: openTestLedgers(join(world.storage, "crawler")),
      erasures: openErasureStore(join(world.storage, "domains")),
      busyWith: busyWith(world.app.jobs),
      backend: {
        commits: "atomic",
        openIndex: () => assert.fail("it has no tree"),
        async deleteVectorStore(id) {
          await world.openai().vectorStores.delete(id);
          crawl = await startCrawl();
        },
      },
    };
    const deletion = await planDeletion(DOMAIN, { withVectorStore: true }, parts);
    await assert.rejects(deletion.apply(ignore), /in use by job/);
    const { result } = (await crawl?.done) ?? assert.fail("no crawl was started");
    assert.match(result?.error ?? "", /vector store .* does not exist any more/);
    assert.ok(isThere("domains") && isThere("crawler"));
    await (await world.app.planDeletion(DOMAIN, { withVectorStore: true })).apply(ignore);
    assert.ok(!isThere("domains") && !isThere("crawler"), "it can simply be repeated");
  });

  test("is refused while somebody holds a source, seen as a job or not", async () => {
    const lease = await world.app.leases.acquire(DOMAIN, sourceLease(DOCS, "embed"), { owner: "job jb_7" });
    const deletion = await world.app.planDeletion(DOMAIN, { withVectorStore: false });
    await assert.rejects(deletion.apply(ignore), /in use by job jb_7/);
    await lease.release();
    await stage.crawl();
    await deletion.apply(ignore);
    assert.ok(!isThere("domains") && !isThere("crawler"));
  });

  test("and a crawl at the same moment: one of them gives way, and nothing is left of a domain that is gone", async () => {
    for (let round = 0; round < 6; round++) {
      const deletion = await world.app.planDeletion(DOMAIN, { withVectorStore: false });
      const crawling = round % 2 === 0 ? startCrawl() : undefined;
      const [deleted, crawl] = await Promise.all([
        deletion.apply(ignore).then(
          () => "",
          (error: Error) => error.message,
        ),
        crawling ?? startCrawl(),
      ]);
      const { result } = await crawl.done;
      if (deleted === "") {
        assert.match(result?.error ?? "", /does not exist/, `round ${round}`);
        assert.ok(!isThere("domains") && !isThere("crawler"), `round ${round}`);
        await world.app.domains.create({ ...domain });
      } else {
        assert.match(deleted, /in use by/);
        assert.equal(result?.error, "", `round ${round}`);
      }
    }
    await stage.crawl();
    await stage.inStep();
  });

  test("a crawl whose domain is taken away under it does not end well, and nobody inherits what it wrote", async () => {
    await world.change("add", { path: "new.txt", text: "The dugong rule is new." });
    const job: JobContext = {
      jobId: "jb_99999" as JobId,
      dryRun: false,
      signal: new AbortController().signal,
      log: ignore,
      async checkpoint() {
        if (isThere("domains")) await world.app.domains.remove(DOMAIN);
      },
    };
    const { problems } = await world.app.crawl(crawlRequest(DOMAIN, { mode: "full" }), job);
    assert.match(problems.join(" "), /Domain 'STORY' was removed/);
    assert.deepEqual(await readdir(join(world.storage, "crawler")), [DOMAIN]);
    await assert.rejects(world.app.domains.create({ ...domain }), /crawler\/STORY .*belongs to no domain/);
  });
});
