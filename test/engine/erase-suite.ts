import assert from "node:assert/strict";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { after, before, describe, test } from "node:test";
import { toFile } from "openai";
import sharp from "sharp";
import { eraseJob } from "../../src/app/erase-job.ts";
import { verifyJob } from "../../src/app/verify-job.ts";
import type { EraseRequest, EraseResult } from "../../src/engine/erase/erase.ts";
import { checkReceipt } from "../../src/engine/erase/receipt.ts";
import { parseDomain } from "../kinds.ts";
import { findMarker } from "./find-marker.ts";
import { Pages } from "./ingest-stage.ts";
import { DOMAIN, World } from "./world.ts";

/** In no other text. */
const MARKER = "zyxquorvix";
const SECRET = `The ${MARKER} payroll of the harbour office was forty two thousand crowns in the year of the flood.`;
/** A question has words of its own, which are in no text. */
const TOLD = `Which "payroll" of the harbour office did qwyzzlebard get in the flood?`;
const NOISE = {
  create: {
    width: 300,
    height: 200,
    channels: 3,
    background: "white",
    noise: { type: "gaussian", mean: 128, sigma: 30 },
  },
} as const;

export async function runErase(
  world: Pick<World, "app">,
  wishes: Partial<EraseRequest>,
  dryRun = false,
): Promise<{ readonly ok: boolean; readonly error: string; readonly data: EraseResult }> {
  const request = {
    domainId: DOMAIN,
    copies: false,
    reason: "request 12",
    by: "test",
    confirmDeletes: false,
    ...wishes,
  };
  const { start, work } = await eraseJob(world.app, request, { dryRun });
  const { result } = await (await world.app.runner.start({ endpoint: "test", ...start }, work)).done;
  assert.ok(result);
  return { ok: result.ok, error: result.error, data: result.data as EraseResult };
}

interface Filled {
  readonly world: World;
  readonly pages: Pages;
  readonly folder: string;
  readonly conversation: string;
  close(): Promise<void>;
}

/** A domain with a document that has the marker in a source of each sort, and traces of it everywhere. */
async function fill(settings: Readonly<Record<string, string>>): Promise<Filled> {
  const [pages, folder] = [new Pages(), await mkdtemp(join(tmpdir(), "lockstep-erase-"))];
  await pages.open();
  const web = { WEB_ALLOW_PRIVATE_NETWORKS: "true", WEB_HOST_DELAY_MS: "0", WEB_SNAPSHOT_KEEP_DAYS: "7" };
  const world = await World.open({ settings: { ...web, ...settings } });
  pages.files.set("/image.png", { type: "image/png", bytes: await sharp(NOISE).png().toBuffer() });
  pages.answers.set("/site", { text: 'The okapi hides. <a href="/hidden">More</a>' });
  pages.answers.set("/hidden", { text: `${SECRET} <img src="/image.png" alt="A ${MARKER}">` });
  await world.change("add", { path: "a/good.txt", text: "The axolotl budget is 12 euros." });
  await world.change("add", { path: `hr/${MARKER}-first.txt`, text: SECRET });
  const list = "/sites/demo/Lists/Tasks";
  await world.control("POST", "add-list", { path: list, title: "Tasks", columns: [{ name: "Details", type: "Note" }] });
  await world.control("POST", "add-item", { list, values: { Title: "Feed the wombat" } });
  await world.control("POST", "add-item", { list, values: { Title: `Pay the ${MARKER}` } });
  const page = {
    path: `/sites/demo/SitePages/${MARKER}.aspx`,
    title: "Pay",
    text: `<p>${SECRET}</p>`,
    published: true,
  };
  await world.control("POST", "add-page", page);
  await mkdir(join(folder, "hr"));
  await writeFile(join(folder, "hr", `${MARKER}.md`), `# ${MARKER}\n\n${SECRET}`);
  // Enough passages for vectors that are learnt from them.
  for (let at = 0; at < 110; at += 1) {
    await writeFile(join(folder, `note-${at}.md`), `# Note ${at}\n\nThe garden has ${at} trees and a pond.`);
  }
  const site = { site_url: world.sandbox.siteUrl, filter: "" };
  const sources = {
    list_sources: [{ source_id: "tasks", ...site, list_name: "Tasks" }],
    sitepage_sources: [{ source_id: "pages", ...site, sharepoint_url_part: "/SitePages" }],
    web_sources: [{ source_id: "site", start_urls: [pages.url("/site")], images: true }],
    folder_sources: [{ source_id: "share", root: folder }],
  };
  await world.app.domains.update(
    parseDomain({ ...world.domainJson(), ...sources }, DOMAIN),
    await world.app.domains.get(DOMAIN),
  );
  const close = async (): Promise<void> => {
    await Promise.all([world.close(), pages.close()]);
    await rm(folder, { recursive: true });
  };
  let conversation: string;
  try {
    await world.app.uploads.put(
      DOMAIN,
      `hr-${MARKER}/${MARKER}-upload.md`,
      Readable.from([Buffer.from(`# Upload\n\n${SECRET}`)]),
    );
    await world.crawl();
    conversation = await leaveTraces(world, folder);
  } catch (error) {
    await close();
    throw error;
  }
  return { world, pages, folder, conversation, close };
}

/** Versions, generations, a certificate, a stored plan, answers, a conversation, a copy, a migrated map, a line of the audit log. */
async function leaveTraces(world: World, folder: string): Promise<string> {
  const { app } = world;
  await writeFile(join(folder, "hr", `${MARKER}.md`), `# ${MARKER}\n\n${SECRET} It was more in the next.`);
  await world.change("rename", { path: `hr/${MARKER}-first.txt`, name: `${MARKER}-renamed.txt` });
  await world.crawl();
  await writeFile(world.folder("02_embedded", "hr", `${MARKER}-renamed.txt`), "altered");
  const { start, work } = await verifyJob(app, { domainId: DOMAIN, download: false }, { repair: false });
  await (await app.runner.start({ endpoint: "test", ...start }, work)).done;
  await world.crawl();
  await writeFile(join(folder, "hr", `${MARKER}.md`), `# ${MARKER}\n\n${SECRET} It was less in the end.`);
  await world.crawl({ dryRun: true, storePlan: "plan_1" });
  const client = world.openai();
  const { vectorStoreId } = await app.domains.get(DOMAIN);
  const tools = [{ type: "file_search" as const, vector_store_ids: [vectorStoreId] }];
  const question = `Who got the ${MARKER} payroll of the harbour office?`;
  await client.responses.create({ model: "lockstep-extractive", input: question, tools });
  const { id } = await client.conversations.create();
  await client.responses.create({
    model: "lockstep-extractive",
    input: "How many trees has the garden?",
    tools,
    conversation: id,
  });
  await client.responses.create({ model: "lockstep-extractive", input: question, tools, conversation: id });
  const copy = await toFile(Buffer.from(SECRET), `${MARKER}-copy.txt`);
  const uploaded = await client.files.create({ file: copy, purpose: "assistants" });
  await client.vectorStores.files.createAndPoll(vectorStoreId, { file_id: uploaded.id });
  const asides = join(world.storage, "crawler", DOMAIN, "05_folders", "share", ".lockstep", "before-ledger");
  await mkdir(asides, { recursive: true });
  await writeFile(
    join(asides, "files_map.csv"),
    `file,name\r\nSTORY\\05_folders\\share\\02_embedded\\hr\\${MARKER}.md,x\r\n`,
  );
  await leaveUpload(world);
  await askQuestions(world);
  const who = { kind: "terminal", id: "anna", name: "anna", role: "admin" } as const;
  const done = await app.audit.begin({ who, from: "", action: "test", what: { document: `hr/${MARKER}.md` } });
  await done({ ok: true, error: "" });
  return id;
}

/** What is left of an upload that was killed. */
async function leaveUpload({ storage }: World): Promise<void> {
  const unfinished = join(storage, "domains", DOMAIN, ".lockstep", "uploading");
  await mkdir(unfinished, { recursive: true });
  await writeFile(join(unfinished, "5e0c"), SECRET);
}

/**
 * Questions that the document answers, one that quotes it, and a crawl that is held because of one: it leaves a draft, and names the
 * question in its log, its result and its report.
 */
async function askQuestions(world: World): Promise<void> {
  const { app } = world;
  const about = { document: `hr/${MARKER}.md`, sourceId: "", words: [] } as const;
  await app.questions.add(DOMAIN, { ...about, question: TOLD, words: ["more in the next"] });
  for (let at = 10; at < 20; at += 1) {
    await app.questions.add(DOMAIN, { ...about, question: `What is in note ${at}?`, document: `note-${at}.md` });
  }
  await app.questions.add(DOMAIN, { ...about, question: "Who was paid?" });
  await app.questions.add(DOMAIN, { ...about, question: SECRET, document: "note-1.md" });
  await app.questions.add(DOMAIN, { ...about, question: "How many trees has the garden?", document: "note-2.md" });
  await app.questions.setLimits(DOMAIN, { maxDrop: 0, minLost: 1 });
  const { result } = await world.crawl();
  assert.equal(result.questions?.verdict, "held");
  assert.deepEqual(
    result.questions?.lost.map(({ question }) => question),
    [TOLD],
  );
  assert.ok((await app.questions.view(DOMAIN)).held);
  const vote = { domainId: DOMAIN, question: "Who hides?", answer: SECRET, fileIds: [], by: "key:reader" };
  await app.feedback.vote({ ...vote, vote: "down" });
}

/** Where the marker must be found before: a table for each place that erasing reaches. */
const EXPECTED: readonly (readonly [place: string, found: RegExp])[] = [
  ["mirror", /02_embedded\/hr\/zyxquorvix.md$/],
  ["mirror of a library", /^name of .*01_files\/docs\/02_embedded\/hr\//],
  ["original of a list", /02_lists\/tasks\/01_originals\/Tasks.csv$/],
  ["document of a row", /02_lists\/tasks\/02_embedded\/2.md$/],
  ["original of a page", /03_sitepages\/pages\/01_originals\/zyxquorvix.aspx.html$/],
  ["text", /knowledge_base\/documents\/doc_\w+\/content.md$/],
  ["earlier version", /knowledge_base\/documents\/doc_\w+\/versions\/v1\/content.md$/],
  ["manifest", /05_folders\/share\/manifest.json$/],
  ["map of the source", /01_files\/docs\/sharepoint_map.csv$/],
  ["map of the mirror", /01_files\/docs\/files_map.csv$/],
  ["map of the index", /01_files\/docs\/vectorstore_map.csv$/],
  ["metadata", /^domains\/STORY\/files_metadata.json$/],
  ["uploaded to the domain", /^domains\/STORY\/uploads\/hr-zyxquorvix\//],
  ["questions", /^domains\/STORY\/questions.json$/],
  ["what came of questions", /^domains\/STORY\/question-runs.json$/],
  ["log and result of a crawl that asked", /^question: jobs\/crawler\//],
  ["report of a crawl that asked", /^question: reports\/crawls\//],
  ["certificate", /^domains\/STORY\/certificates\//],
  ["report", /^reports\/crawls\/.*zip!05_folders\/share\/files_map.csv$/],
  ["job", /^jobs\/crawler\/.*crawl/],
  ["audit", /^audit\//],
  ["migration copy", /before-ledger\/files_map.csv$/],
  ["snapshot", /^web\/documents\/snapshots\//],
  ["web document", /^web\/documents\/\w\w\/\w\w\//],
  ["pictures", /^web\/images\/.*images.json$/],
  ["file of the protocol", /^index\/files\/file-/],
  ["upload that was killed", /^domains\/STORY\/.lockstep\/uploading\//],
];

/** Tables, in either database. */
const TABLES = [
  "feedback",
  ...["item", "file", "indexed", "tracked", "embedded_file", "plan_item"],
  ...["documents", "bodies", "sections", "chunks", "words", "spaces"],
  ...["responses", "conversation_items", "files"],
];

export function eraseSuite(
  name: string,
  open: () => Promise<{
    readonly settings: Readonly<Record<string, string>>;
    readonly databaseUrl?: string;
    close(): Promise<void>;
  }>,
): void {
  describe(`erasing, ${name}`, () => {
    let filled: Filled;
    let place: Awaited<ReturnType<typeof open>>;
    let world: World;
    let receipt: string;
    let conversation: string;
    before(async () => {
      place = await open();
      filled = await fill(place.settings);
      world = filled.world;
      conversation = filled.conversation;
    });
    after(async () => {
      await filled?.close();
      await place?.close();
    });
    const find = async (): Promise<string[]> => [
      ...(await findMarker(world.storage, MARKER, place.databaseUrl)),
      ...(await findMarker(world.storage, "qwyzzlebard", place.databaseUrl)).map((place) => `question: ${place}`),
    ];

    test("the marker is in every place first", async () => {
      const found = await find();
      for (const [what, pattern] of EXPECTED)
        assert.ok(
          found.some((one) => pattern.test(one)),
          `${what}: ${found.join("\n")}`,
        );
      for (const table of TABLES) {
        assert.ok(
          found.some((one) => one.endsWith(`:${table}`) || one.endsWith(`.${table}`)),
          `${table}: ${found.join("\n")}`,
        );
      }
    });

    test("a dry run names documents, copies and places, and changes nothing", async () => {
      const { data, error } = await runErase(world, { search: MARKER }, true);
      assert.equal(error, "");
      assert.deepEqual(data.items.map(({ source_id }) => source_id).sort(), [
        "docs",
        "pages",
        "share",
        "site",
        "tasks",
        "uploads",
      ]);
      assert.ok(data.items.some(({ path }) => path === `hr/${MARKER}.md`));
      assert.deepEqual(
        data.copies.map(({ domain_id }) => domain_id),
        [""],
      );
      assert.ok(
        data.places.every(({ place: one, removed }) => removed > 0 || ["uploads", "caches of sources"].includes(one)),
        JSON.stringify(data.places),
      );
      assert.ok((await world.found(MARKER)).length > 0);
    });

    test("afterwards it is in none", async () => {
      const { data, error } = await runErase(world, { search: MARKER, copies: true });
      assert.equal(error, "");
      assert.equal(data.items.length, 6);
      assert.deepEqual(await find(), []);
      assert.ok(data.generations.length > 1 && data.generations.every(({ documents }) => documents > 0));
      receipt = data.receipts[0]?.file ?? "";
    });

    test("the receipt is signed, has no names, and says what is left", async () => {
      const text = await readFile(join(world.storage, receipt), "utf8");
      assert.doesNotMatch(text.toLowerCase(), new RegExp(MARKER));
      const checked = checkReceipt(text, undefined);
      assert.equal(checked?.outcome, "unknown signer");
      assert.equal(checkReceipt(text, checked?.fingerprint)?.outcome, "signed");
      assert.equal(checkReceipt(text.replace("request 12", "request 13"), checked?.fingerprint)?.outcome, "broken");
      assert.equal(checked?.statement.items.length, 6);
      assert.match(checked?.statement.left.join(" ") ?? "", /certificate .* named it and was removed/);
      assert.match(checked?.statement.may_still_be.join(" ") ?? "", /backups/);
    });

    test("what has nothing to do with it stays", async () => {
      assert.ok((await world.found("axolotl budget")).includes("good.txt"));
      assert.ok((await world.found("wombat")).includes("1.md"));
      assert.ok((await world.found("trees in the garden")).some((name) => /^note-\d+.md$/.test(name)));
      const [report = ""] = await world.app.reports.list();
      assert.ok(typeof report !== "string" && report.readable, "the newest report can be read");
      const turns = [];
      for await (const item of world.openai().conversations.items.list(conversation)) turns.push(item);
      assert.match(JSON.stringify(turns), /How many trees has the garden/);
    });

    test("nothing of it comes back with a crawl, by whatever name", async () => {
      await rm(join(filled.folder, "hr", `${MARKER}.md`));
      await writeFile(join(filled.folder, "elsewhere.md"), `# ${MARKER}\n\n${SECRET} It was more in the next.`);
      await world.change("rename", { path: `hr/${MARKER}-renamed.txt`, name: "innocent.txt" });
      filled.pages.asked.length = 0;
      const { result, log } = await world.crawl();
      assert.deepEqual(result.problems, []);
      assert.match(log, /Skipped item '.*': erased on .* and blocked from being crawled again \(request 12\)/);
      for (const { source_id, download } of result.sources) {
        // What was uploaded has no other source that could bring it back.
        assert.equal(download.skipped, source_id === "uploads" ? 0 : 1, `${source_id}: ${log}`);
      }
      assert.deepEqual(await find(), []);
      assert.deepEqual(await world.found(MARKER), []);
      assert.ok(!filled.pages.asked.includes("/hidden"), "the erased page was asked for");
      const address = {
        url: filled.pages.url("/hidden"),
        title: "",
        domainId: DOMAIN,
        force: false,
        includeImages: false,
      };
      await assert.rejects(world.app.ingest.add(address), /was erased on .* --allow url_/);
      await world.crawl({ mode: "full" });
      assert.deepEqual(await find(), []);
    });

    test("allowed, it is crawled again", async () => {
      const { erased } = await world.app.erasures(DOMAIN);
      const ofLibrary = erased.find(({ sourceId }) => sourceId === "docs");
      await world.app.allowErased(DOMAIN, ofLibrary?.item ?? "");
      await world.crawl();
      assert.deepEqual(await world.found(MARKER), ["innocent.txt"]);
    });
  });
}
