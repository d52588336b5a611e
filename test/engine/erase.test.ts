// Erasing one document: copies, holds, refusals, resuming after a kill, and what stays blocked.
import assert from "node:assert/strict";
import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, test } from "node:test";
import { eraseJob } from "../../src/app/erase-job.ts";
import { crawlJob } from "../../src/app/jobs.ts";
import { parseDomainId, parseSourceId } from "../../src/contracts/ids.ts";
import type { JobRecord } from "../../src/contracts/job.ts";
import { crawlRequest } from "../../src/engine/crawl-request.ts";
import type { EraseRequest, EraseResult } from "../../src/engine/erase/erase.ts";
import { findMarker } from "./find-marker.ts";
import { FOLDERS, FolderStage } from "./folder-stage.ts";

const MARKER = "zyxquorvix";
const SECRET = `The ${MARKER} payroll of the harbour office was forty two thousand crowns in the year of the flood.`;

let stage: FolderStage;
beforeEach(async () => {
  stage = await FolderStage.open();
  await stage.write(`hr/${MARKER}.md`, `# Pay\n\n${SECRET}`);
  await stage.write("hr/ibex.md", "# Ibex\n\nAn ibex climbs the steep walls of the valley.");
  await stage.crawl();
});
afterEach(() => stage.close());

async function erase(
  wishes: Partial<EraseRequest>,
  dryRun = false,
): Promise<{ readonly ok: boolean; readonly error: string; readonly data: EraseResult }> {
  const request = { domainId: FOLDERS, copies: false, reason: "", by: "test", confirmDeletes: false, ...wishes };
  const { start, work } = await eraseJob(stage.app, request, { dryRun });
  const endpoint = `erase ${JSON.stringify(wishes)}`;
  const { result } = await (await stage.app.runner.start({ endpoint, ...start }, work)).done;
  assert.ok(result);
  return { ok: result.ok, error: result.error, data: result.data as EraseResult };
}

/** The document with the marker; `before` hears each line of the log before it is written. */
async function eraseWatched(before: (line: string) => void): Promise<JobRecord["result"]> {
  const request = { domainId: FOLDERS, document: `hr/${MARKER}.md`, copies: false, reason: "", by: "test" };
  const { start, work } = await eraseJob(stage.app, { ...request, confirmDeletes: false }, { dryRun: false });
  const running = await stage.app.runner.start({ endpoint: "test", ...start }, (job) =>
    work({
      jobId: job.jobId,
      dryRun: job.dryRun,
      signal: job.signal,
      checkpoint: () => job.checkpoint(),
      log(line) {
        before(line);
        job.log(line);
      },
    }),
  );
  return (await running.done).result;
}

const found = (): Promise<string[]> => findMarker(stage.storage, MARKER);

async function search(text: string): Promise<string[]> {
  const { sources } = await stage.app.query({ text, limit: 10, domainId: FOLDERS, vectorStoreId: undefined });
  return [...new Set(sources.map(({ name }) => name))];
}

test("a copy is named and stays; with copies it goes as well", async () => {
  await stage.write(`archive/${MARKER}-copy.md`, `# Pay\n\n${SECRET}`);
  await stage.crawl();
  const first = await erase({ document: `hr/${MARKER}.md` });
  assert.equal(first.error, "");
  const [copy, ...others] = first.data.copies;
  assert.deepEqual([copy?.domain_id, copy?.source_id, copy?.erased, others], ["FOLDERS", "docs", false, []]);
  assert.deepEqual(await search(SECRET), [`${MARKER}-copy.md`]);
  await stage.rename(`archive/${MARKER}-copy.md`, `kept/${MARKER}-copy.md`);
  const moved = await stage.crawl();
  assert.deepEqual(await search(SECRET), [`${MARKER}-copy.md`], moved.log);
  const second = await erase({ itemId: copy?.item, copies: true });
  assert.equal(second.error, "");
  assert.deepEqual(await found(), []);
});

test("a name with line ends and escape sequences is erased from logs, too", async () => {
  await stage.write(`hr/first\nline\u001b[31m ${MARKER}.txt`, "The lynx is shy.");
  await stage.crawl();
  assert.ok((await found()).some((place) => place.startsWith("jobs/")));
  assert.equal((await erase({ search: MARKER })).error, "");
  assert.deepEqual(await found(), []);
});

test("what only kept generations have of a source that was taken out is found by its text", async () => {
  const root = join(stage.storage, "..", "second");
  await mkdir(root);
  await writeFile(join(root, "second.md"), "The quagga pension was seventy crowns.");
  const second = { ...stage.config, sourceId: parseSourceId("second"), root };
  for (const sources of [[stage.config, second], [stage.config]]) {
    const domain = await stage.app.domains.get(FOLDERS);
    await stage.app.domains.update({ ...domain, sources }, domain);
    await stage.crawl({ scope: "all" });
  }
  assert.ok((await findMarker(stage.storage, "quagga")).length > 0);
  const { error, data } = await erase({ search: "quagga" });
  assert.deepEqual([error, data.items.length], ["", 1]);
  assert.deepEqual(await findMarker(stage.storage, "quagga"), []);
  assert.deepEqual(await findMarker(stage.storage, "second.md"), []);
});

test("a copy in another domain is not named by the log of a dry run of this one", async () => {
  const root = join(stage.storage, "..", "other");
  await mkdir(root);
  await writeFile(join(root, "quagga.md"), `# Pay\n\n${SECRET}`);
  const other = {
    ...(await stage.app.domains.get(FOLDERS)),
    domainId: parseDomainId("OTHER"),
    vectorStoreId: "" as const,
  };
  const source = { ...stage.config, sourceId: parseSourceId("other"), root };
  await stage.app.domains.create({ ...other, sources: [source] });
  const { start, work } = crawlJob(stage.app, crawlRequest(other.domainId), { dryRun: false });
  await (await stage.app.runner.start({ ...start, endpoint: "test" }, work)).done;
  const { data } = await erase({ document: `hr/${MARKER}.md` }, true);
  assert.deepEqual(
    data.copies.map(({ path }) => path),
    ["quagga.md"],
  );
  assert.equal((await erase({ domainId: other.domainId, document: "quagga.md" })).error, "");
  assert.deepEqual(await findMarker(stage.storage, "quagga"), []);
});

test("a dry run that looks for a text leaves it in no log; titles are looked through, whatever their case", async () => {
  await stage.write("hr/page.html", "<title>Ōkuninushi Quagga</title><p>The lynx is shy.</p>");
  await stage.crawl();
  const { error, data } = await erase({ search: "ōKUNINUSHI QUAGGA" }, true);
  assert.deepEqual([error, data.items.map(({ path }) => path)], ["", ["hr/page.html"]]);
  assert.match((await erase({ search: "no such text" })).error, /has no document with this text/);
  assert.equal((await erase({ document: "hr/page.html" })).error, "");
  assert.deepEqual(await findMarker(stage.storage, "quagga"), []);
});

test("words that an answer must have leave the audit log with their question", async () => {
  const about = { document: `hr/${MARKER}.md`, sourceId: "", words: ["ab", "quagga crowns"] } as const;
  await stage.app.questions.add(FOLDERS, { ...about, question: "What is the pay?" });
  const who = { kind: "terminal", id: "anna", name: "anna", role: "admin" } as const;
  const what = { arguments: `FOLDERS --add What is the pay? --document x --words ab;quagga crowns` };
  await (await stage.app.audit.begin({ who, from: "", action: "lockstep questions", what }))({ ok: true, error: "" });
  await erase({ document: `hr/${MARKER}.md` });
  assert.deepEqual(await findMarker(stage.storage, "quagga"), []);
  assert.ok((await findMarker(stage.storage, "words ab;")).length > 0);
});

test("a hold on the document refuses erasing, naming who set it, until it is lifted", async () => {
  const hold = await stage.app.setHold({ domainId: FOLDERS, document: "hr/ibex.md", reason: "case 7", by: "key:anna" });
  const { ok, error } = await erase({ document: "hr/ibex.md" });
  assert.equal(ok, false);
  assert.match(error, /is held by key:anna since \d{4}-\d\d-\d\d \(case 7\)\. It cannot be erased/);
  assert.deepEqual(await search("ibex"), ["ibex.md"]);
  await stage.app.liftHold(FOLDERS, hold);
  assert.equal((await erase({ document: "hr/ibex.md" })).error, "");
  assert.deepEqual(await search("ibex"), []);
});

test("a hold on the domain refuses erasing anything and deleting the domain", async () => {
  await stage.app.setHold({ domainId: FOLDERS, reason: "", by: "key:anna" });
  assert.match((await erase({ document: "hr/ibex.md" })).error, /Domain 'FOLDERS' is held by key:anna/);
  await assert.rejects(
    stage.app.planDeletion(FOLDERS, { withVectorStore: true }),
    /held by key:anna .* cannot be deleted/,
  );
  await stage.app.liftHold(FOLDERS, { sourceId: "", item: "" });
  await stage.app.planDeletion(FOLDERS, { withVectorStore: true });
});

test("what is held is not purged when it has been missing for too long, nor are its versions", async () => {
  await stage.app.setHold({ domainId: FOLDERS, document: "hr/ibex.md", reason: "case 7", by: "key:anna" });
  await stage.remove("hr/ibex.md");
  await stage.remove(`hr/${MARKER}.md`);
  for (let run = 0; run < 4; run += 1) {
    stage.later(24);
    await stage.crawl({ confirmDeletes: true });
  }
  await stage.expireGenerations();
  await stage.crawl({ confirmDeletes: true });
  const hr = async () => (await stage.manifest()).filter(({ path }) => path.startsWith("hr/"));
  const entries = await hr();
  assert.deepEqual(entries.map(({ path, status }) => `${path} ${status}`).sort(), [
    "hr/ibex.md missing",
    `hr/${MARKER}.md deleted`,
  ]);
  await stage.app.liftHold(FOLDERS, {
    sourceId: stage.config.sourceId,
    item: entries.find(({ path }) => path === "hr/ibex.md")?.docId ?? "",
  });
  await stage.crawl();
  assert.ok((await hr()).every(({ status }) => status === "deleted"));
});

test("an edited file at its path stays blocked, also after it was moved there and the ledger was lost", async () => {
  await erase({ document: `hr/${MARKER}.md` });
  await stage.write(`hr/${MARKER}.md`, `# Pay\n\n${SECRET} It was more in the next.`);
  assert.equal((await stage.crawl()).source.download.skipped, 1);
  await stage.app.close();
  for (const end of ["", "-wal", "-shm"])
    await rm(join(stage.storage, "crawler", FOLDERS, `ledger.sqlite${end}`), { force: true });
  await stage.reopen();
  const { source, log } = await stage.crawl();
  assert.equal(source.download.skipped, 1, log);
  assert.deepEqual(await search(SECRET), []);
  assert.deepEqual(await found(), []);
});

test("an erasing that was interrupted says so, and the next crawl finishes it", async () => {
  const crash = new Error("killed");
  for (const at of ["logs of jobs", "index", "mirror", "ledger and exports"]) {
    const dying = await eraseWatched((line) => {
      if (line.endsWith(`] ${at}`)) throw crash;
    });
    assert.equal(dying?.ok, false);
    const { erased } = await stage.app.erasures(FOLDERS);
    assert.deepEqual(
      erased.map(({ finishedAt }) => finishedAt),
      [""],
      at,
    );
    const { notes } = await stage.app.query({ text: SECRET, limit: 3, domainId: FOLDERS, vectorStoreId: undefined });
    assert.match(notes?.join(" ") ?? "", /erasing of 1 document was interrupted/);
    await stage.crawl();
    assert.deepEqual(await found(), [], at);
    const done = (await stage.app.erasures(FOLDERS)).erased;
    assert.notEqual(done[0]?.finishedAt, "");
    await stage.app.allowErased(FOLDERS, done[0]?.item ?? "");
    await stage.crawl();
    assert.deepEqual(await search(SECRET), [`${MARKER}.md`]);
  }
});

test("an erasing that is under way is not finished by another one or a crawl: each leaves one receipt", async () => {
  const others: Promise<unknown>[] = [];
  const first = await eraseWatched((line) => {
    if (line.startsWith("[ 1 /")) others.push(erase({ document: "hr/ibex.md" }), stage.crawl());
  });
  assert.equal(first?.error, "");
  assert.equal((await Promise.all(others)).length, 2);
  assert.deepEqual(await found(), []);
  assert.equal((await readdir(join(stage.storage, "domains", FOLDERS, "erasures"))).length, 2);
});

test("bad requests get a sentence, and change nothing", async () => {
  const request = { domainId: FOLDERS, copies: false, reason: "", by: "test", confirmDeletes: false };
  await assert.rejects(eraseJob(stage.app, request, { dryRun: false }), /Name what to erase in one way/);
  await assert.rejects(
    eraseJob(stage.app, { ...request, document: "a", search: "b" }, { dryRun: false }),
    /in one way/,
  );
  assert.match((await erase({ document: "nothing.md" })).error, /has no document of that name or id/);
  assert.match((await erase({ search: "ab" })).error, /at least three characters/);
  assert.match(
    (await erase({ document: `hr/${MARKER}.md`, reason: `see hr/${MARKER}.md` })).error,
    /The reason names the document/,
  );
  await stage.write("other/ibex.md", "# Other\n\nAnother ibex.");
  await stage.crawl();
  assert.match((await erase({ document: "ibex.md" })).error, /2 documents are called so\. Name one by its item id/);
  await assert.rejects(stage.app.allowErased(FOLDERS, "doc_1"), /has not erased an item 'doc_1'/);
  await assert.rejects(stage.app.liftHold(FOLDERS, { sourceId: "", item: "" }), /has no hold of its own/);
  assert.deepEqual((await stage.app.erasures(FOLDERS)).erased, []);
  assert.deepEqual(await search("harbour payroll"), [`${MARKER}.md`]);
});

test("a damaged list of erased items stops crawls and purging, instead of letting everything in again", async () => {
  await erase({ document: `hr/${MARKER}.md` });
  const file = join(stage.storage, "domains", FOLDERS, "erasure.json");
  const text = await readFile(file, "utf8");
  assert.doesNotMatch(text.toLowerCase(), new RegExp(MARKER));
  await writeFile(file, text.slice(0, 100));
  const { job } = await stage.crawl().catch(() => ({ job: undefined }));
  assert.ok(job === undefined || job.result?.ok === false);
  assert.deepEqual(await search(SECRET), []);
  await writeFile(file, text);
  assert.equal((await stage.crawl()).source.download.skipped, 1);
});
