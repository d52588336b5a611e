// What is held because of the domain's questions: what counts as lost, what is no loss, and what is said of it.
import assert from "node:assert/strict";
import { rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, test } from "node:test";
import { eraseJob } from "../../src/app/erase-job.ts";
import { crawlJob } from "../../src/app/jobs.ts";
import { parseSourceId } from "../../src/contracts/ids.ts";
import { crawlRequest } from "../../src/engine/crawl-request.ts";
import { writeDocument } from "../index/index-fixture.ts";
import { DOCS, FOLDERS, FolderStage } from "./folder-stage.ts";
import { verify } from "./verify-corruptions.ts";
import { DOMAIN, World } from "./world.ts";

const BIRDS = ["heron", "ibis", "kestrel", "lapwing", "merlin", "nightjar", "osprey", "plover", "quail", "robin"];
const textOf = (bird: string): string => `The ${bird} lays ${bird.length} eggs in spring.`;
const never = new AbortController().signal;
const questionsOf = (ending: string): string =>
  JSON.stringify({
    questions: BIRDS.map((bird) => ({ question: `How many eggs does the ${bird} lay?`, document: `${bird}${ending}` })),
  });

describe("what a folder's crawl holds", () => {
  let stage: FolderStage;
  beforeEach(async () => {
    stage = await FolderStage.open();
    for (const bird of BIRDS) await stage.write(`${bird}.md`, textOf(bird));
    await stage.tryCrawl();
    await writeFile(join(stage.storage, "domains", FOLDERS, "questions.json"), questionsOf(".md"));
  });
  afterEach(() => stage.close());
  const spoil = async (): Promise<void> => {
    for (const bird of BIRDS.slice(0, 3)) await stage.write(`${bird}.md`, "Moved to another place.");
  };
  const held = async (): Promise<number | undefined> => (await stage.app.questions.view(FOLDERS)).held?.held;

  test("is over when the source is as it was", async () => {
    await spoil();
    assert.equal((await stage.tryCrawl()).result.questions?.verdict, "held");
    for (const bird of BIRDS) await stage.write(`${bird}.md`, textOf(bird));
    const { result, job } = await stage.tryCrawl();
    assert.deepEqual([job.result?.error, result.problems], ["", []]);
    assert.equal(await held(), undefined);
    assert.deepEqual(await stage.index(async (index) => index.crawlDrafts?.listOpen()), []);
  });

  test("is documents that lose their text: they did not leave the source", async () => {
    for (const bird of BIRDS.slice(0, 3)) await stage.write(`${bird}.md`, "");
    const { result, source } = await stage.tryCrawl();
    assert.deepEqual(
      [result.questions?.verdict, result.questions?.before, result.questions?.after, result.questions?.retired],
      ["held", 10, 7, 0],
    );
    assert.equal(source.embed.removed, 0);
    assert.deepEqual(await stage.found("heron"), ["heron.md"]);
    assert.equal((await stage.tryCrawl()).result.questions?.verdict, "held", "it is asked again");
    assert.match((await verify(stage)).log, /3 additions and changes are held because of the domain's questions/);
    const confirmed = await stage.tryCrawl({ steps: ["embed"], confirmWorse: true });
    assert.equal(confirmed.result.questions?.verdict, "confirmed");
    assert.deepEqual(await stage.found("heron"), []);
    assert.equal((await stage.tryCrawl()).result.questions, undefined);
  });

  test("is over when what crowded the answers out has left again", async () => {
    for (const bird of BIRDS)
      for (let at = 0; at < 6; at += 1)
        await stage.write(
          `spam/${bird}-${at}.md`,
          `How many eggs does the ${bird} lay? Offer ${at}: ${bird} eggs, ${bird} eggs.`,
        );
    const { result, source } = await stage.tryCrawl();
    assert.deepEqual([result.questions?.verdict, source.embed.held, await held()], ["held", 60, 60]);
    await stage.remove("spam");
    const after = await stage.tryCrawl({ confirmDeletes: true });
    assert.deepEqual([after.job.result?.error, after.result.problems], ["", []]);
    assert.equal(await held(), undefined);
  });

  test("stays when maintenance sweeps what a killed crawl left a week ago", async () => {
    await spoil();
    await stage.tryCrawl();
    const dead = await stage.index(async (index) => {
      const draft = (await index.crawlDrafts?.open("killed")) ?? assert.fail();
      const source = await draft.source(DOCS);
      await source.put(await writeDocument(stage.storage, "wren", "The wren was never brought in."), never);
      await source.stage(never);
      return draft.generationId;
    });
    const open = (): Promise<readonly string[]> =>
      stage.index(async (index) => (await index.crawlDrafts?.listOpen()) ?? []);
    await stage.maintain();
    assert.equal((await open()).length, 2);
    stage.later(8 * 24);
    await stage.maintain();
    const [left, ...others] = await open();
    assert.ok(left !== undefined && left !== dead && others.length === 0);
    assert.equal(await held(), 3);
  });

  test("is a whole new store, too", async () => {
    const { vectorStoreId } = await stage.app.domains.get(FOLDERS);
    await spoil();
    const { result } = await stage.tryCrawl({ swap: true, mode: "full", scope: "all" });
    assert.equal(result.questions?.verdict, "held");
    assert.match(result.problems.join(" "), /7 of 10 are answered/);
    assert.equal((await stage.app.domains.get(FOLDERS)).vectorStoreId, vectorStoreId);
    assert.deepEqual(await stage.found("heron"), ["heron.md"]);
    const confirmed = await stage.tryCrawl({ swap: true, mode: "full", scope: "all", confirmWorse: true });
    assert.deepEqual(confirmed.result.problems, []);
    assert.notEqual((await stage.app.domains.get(FOLDERS)).vectorStoreId, vectorStoreId);
    assert.deepEqual(await stage.found("heron"), []);
  });

  test("is not brought in by a verification that repairs", async () => {
    await spoil();
    await stage.tryCrawl();
    const { statement, log } = await verify(stage, { repair: true });
    assert.equal(statement.verdict, "differs");
    assert.match(log, /WARNING: Questions: 7 of 10 are answered/);
    assert.deepEqual([await stage.found("heron"), await held()], [["heron.md"], 3]);
  });

  test("stays when a crawl finds its source away", async () => {
    await spoil();
    await stage.tryCrawl();
    await rename(stage.root, `${stage.root}-away`);
    assert.match((await stage.tryCrawl({ scope: "all" })).job.result?.error ?? "", /it is not there/);
    assert.equal(await held(), 3);
    await rename(`${stage.root}-away`, stage.root);
    await stage.tryCrawl({ scope: "all", confirmWorse: true });
    assert.deepEqual(await stage.index(async (index) => index.crawlDrafts?.listOpen()), []);
  });

  test("stays when another crawl ends that began before", async () => {
    const request = crawlRequest(FOLDERS, { scope: "all" });
    const { start, work } = crawlJob(stage.app, request, { dryRun: false });
    let isIndexed = false;
    const first = await stage.app.runner.start({ endpoint: "test", ...start }, (job) =>
      work({
        jobId: job.jobId,
        dryRun: job.dryRun,
        signal: job.signal,
        log(line) {
          isIndexed ||= line.startsWith("Index: ");
          job.log(line);
        },
        async checkpoint() {
          if (!isIndexed) return await job.checkpoint();
          isIndexed = false;
          await spoil();
          assert.equal((await stage.tryCrawl({ scope: "all" })).result.questions?.verdict, "held");
        },
      }),
    );
    assert.equal((await first.done).result?.error, "");
    assert.equal(await held(), 3);
  });

  test("loses what is erased meanwhile", async () => {
    await spoil();
    await stage.write("wren.md", "The wren is new.");
    await stage.tryCrawl();
    assert.equal(await held(), 4);
    for (const document of ["wren.md", "heron.md"]) {
      const request = { domainId: FOLDERS, document, copies: false, reason: "", by: "test", confirmDeletes: false };
      const { start, work } = await eraseJob(stage.app, request, { dryRun: false });
      assert.ok((await (await stage.app.runner.start({ endpoint: "test", ...start }, work)).done).result?.ok);
    }
    assert.equal(await held(), 2);
  });

  test("a dry run says that questions will be asked", async () => {
    await spoil();
    const { log } = await stage.tryCrawl({}, { dryRun: true });
    assert.match(log, /10 questions are asked before/);
  });

  test("goes by the document of the same name when the one that was meant is gone", async () => {
    await stage.tryCrawl({ sourceId: DOCS });
    await stage.write("heron.md", `${textOf("heron")} Then it rests.`);
    await stage.tryCrawl();
    await stage.remove("heron.md");
    assert.equal((await stage.tryCrawl()).result.questions?.retired, 1);
    await stage.expireGenerations();
    await stage.write("heron.md", "Herons stand in the water, and lay 5 eggs.");
    assert.equal((await stage.tryCrawl()).result.questions?.retired, 0);
  });
});

describe("what a crawl of two libraries holds", () => {
  let world: World;
  beforeEach(async () => {
    world = await World.open({ source: { source_id: "old", sharepoint_url_part: "/Shared Documents/Old" } });
    const before = await world.app.domains.get(DOMAIN);
    const [first] = before.sources;
    assert.ok(first?.sourceType === "file_sources");
    const second = { ...first, sourceId: parseSourceId("new"), urlPart: "/Shared Documents/New" };
    await world.app.domains.update({ ...before, sources: [first, second] }, before);
    for (const bird of BIRDS) await world.change("add", { path: `Old/${bird}.txt`, text: textOf(bird) });
    await world.change("add", { path: "New/first.txt", text: "The quagga rule was abolished in 2019." });
    await world.crawl();
    await writeFile(join(world.storage, "domains", DOMAIN, "questions.json"), questionsOf(".txt"));
  });
  afterEach(() => world.close());
  const spoil = async (): Promise<void> => {
    for (const bird of BIRDS.slice(0, 3)) await world.change("update", { path: `Old/${bird}.txt`, text: "Moved." });
  };

  test("is not a document that moves between them: it is found all the time", async () => {
    await spoil();
    await world.change("move", { path: "Old/quail.txt", to: "New/quail.txt" });
    const { result } = await world.crawl();
    assert.equal(result.questions?.verdict, "held");
    assert.deepEqual(await world.found("quail"), ["quail.txt"]);
    assert.equal(result.questions?.retired, 0);
    assert.equal(result.questions?.held, 3);
    assert.deepEqual(
      result.sources.map(({ embed }) => [embed.held, embed.added, embed.changed, embed.removed]),
      [
        [3, 0, 0, 1],
        [0, 1, 0, 0],
      ],
    );
    assert.equal((await world.crawl()).result.questions?.held, 3);
  });

  test("is named until it is shown, whatever a crawl of the other brings", async () => {
    await spoil();
    await world.crawl();
    await world.change("add", { path: "New/wren.txt", text: "The wren is new." });
    const { result } = await world.crawl({ sourceId: parseSourceId("new") });
    assert.equal(result.questions?.verdict, "passed");
    assert.deepEqual(await world.found("wren"), ["wren.txt"]);
    assert.equal((await world.app.questions.view(DOMAIN)).held?.held, 3);
    await world.crawl({ sourceId: parseSourceId("old"), confirmWorse: true });
    assert.equal((await world.app.questions.view(DOMAIN)).held, undefined);
  });

  test("keeps a document that cannot be read any more", async () => {
    for (const bird of BIRDS.slice(0, 3)) await world.change("update", { path: `Old/${bird}.txt`, text: "" });
    const { result } = await world.crawl();
    assert.equal(result.questions?.verdict, "held");
    assert.deepEqual(await world.found("heron"), ["heron.txt"]);
    assert.equal((await world.crawl()).result.questions?.verdict, "held");
    await world.crawl({ confirmWorse: true });
    assert.deepEqual(await world.found("heron"), []);
  });
});
