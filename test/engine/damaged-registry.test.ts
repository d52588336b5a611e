// Damaged or lost records of the registry are reported and made anew, and no document is lost with them.
import assert from "node:assert/strict";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, test } from "node:test";
import type { ItemId } from "../../src/contracts/ids.ts";
import type { PlacedFinding } from "../../src/engine/doctor.ts";
import { serveHttp } from "../../src/http/serve-http.ts";
import { INGEST, IngestStage } from "./ingest-stage.ts";

let stage: IngestStage;
let okapi: ItemId;
beforeEach(async () => {
  stage = await IngestStage.open();
  stage.pages.answers.set("/okapi", { text: "The okapi sleeps standing." });
  stage.pages.answers.set("/quokka", { text: "The quokka smiles." });
  okapi = await stage.add("/okapi");
  await stage.add("/quokka");
  await stage.round();
});
afterEach(() => stage.close());

/** With the product closed meanwhile. */
async function harm(work: (file: string) => void, file = "index/registry.sqlite"): Promise<void> {
  await stage.app.close();
  work(join(stage.storage, file));
  await stage.reopen();
}

function breakRecord(file: string): void {
  const db = new DatabaseSync(file);
  db.prepare("UPDATE items SET item = '{broken' WHERE id = ?").run(okapi);
  db.close();
}

function lose(file: string): void {
  for (const suffix of ["", "-wal", "-shm"]) rmSync(file + suffix, { force: true });
}

async function problems(): Promise<string[]> {
  const found: PlacedFinding[] = [];
  for await (const one of stage.app.examine(INGEST, new AbortController().signal)) found.push(one);
  return found
    .filter(({ outcome, sourceId }) => outcome === "problem" && sourceId)
    .map((one) => `${one.detail} ${one.remedy}`);
}

async function ask(path: string, body?: object): Promise<{ status: number; text: string }> {
  const server = await serveHttp(stage.app, { host: "127.0.0.1", port: 0, log: () => undefined });
  const json = { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) };
  const answer = await fetch(`${server.url}${path}`, body && json);
  const told = { status: answer.status, text: await answer.text() };
  await server.close();
  return told;
}

test("a record that is damaged is named, keeps nothing from working, and is made anew by the next crawl", async () => {
  await harm(breakRecord);
  const listed = await ask("/v2/ingest/items?format=json");
  assert.equal(listed.status, 200, listed.text);
  assert.match(listed.text, /Its record in the registry is damaged/);
  assert.match((await problems()).join(), /The record of 'http:\/\/127[^']+\/okapi' in the registry cannot be read/);
  assert.deepEqual(await stage.found("okapi"), ["/okapi"]);

  const job = await stage.crawl();
  assert.equal(job.result?.error, "");
  const item = await stage.item(okapi);
  assert.deepEqual([item.status, item.watched, item.history[0]?.event], ["Indexed", true, "damaged"]);
  assert.deepEqual([await problems(), await stage.found("okapi")], [[], ["/okapi"]]);
});

test("while its page cannot be asked, the document of a damaged record stays in the index", async () => {
  await harm(breakRecord);
  stage.pages.answers.set("/okapi", { status: 503 });
  await stage.crawl({ confirmDeletes: true });
  assert.deepEqual(await stage.found("okapi"), ["/okapi"]);
});

test("a damaged record is made anew by whoever registers its address", async () => {
  await harm(breakRecord);
  assert.equal(await stage.add("/okapi"), okapi);
  await stage.round();
  assert.equal((await stage.item(okapi)).status, "Indexed");
});

test("a registry that cannot be read is named with its cure; the search goes on; after the cure what is lost is told", async () => {
  const lost = /The index has 2 documents of addresses that the registry does not know/;
  const cure = /Stop lockstep, delete index\/registry\.sqlite with its -wal and -shm/;
  await harm((file) => writeFileSync(file, "this is no database\n".repeat(500)));
  assert.match((await problems()).join(), cure);
  assert.match((await stage.crawl()).result?.error ?? "", cure);
  const listed = await ask("/v2/ingest/items?format=json");
  assert.deepEqual([listed.status, cure.test(listed.text)], [502, true]);
  const found = await ask("/api/Search", { query: "okapi" });
  assert.deepEqual([found.status, found.text.includes("sleeps standing")], [200, true], found.text);

  await harm(lose);
  assert.match((await problems()).join(), lost);
  assert.match((await ask("/api/SearchStatus")).text, lost);
});

test("a lost registry takes no document along, and the job says which; what is taken out or confirmed leaves", async () => {
  await harm(lose);
  for (const crawl of ["first", "second"]) {
    const { result } = await stage.crawl();
    assert.equal(result?.ok, false, crawl);
    for (const path of ["/okapi", "/quokka"]) {
      assert.ok(
        result.error.includes(`'${stage.pages.url(path)}' (the registry does not know it any more`),
        result.error,
      );
    }
    assert.deepEqual([await stage.found("okapi"), await stage.found("quokka")], [["/okapi"], ["/quokka"]], crawl);
  }

  assert.equal(await stage.add("/okapi"), okapi);
  await stage.round();
  assert.deepEqual([(await stage.item(okapi)).status, await stage.found("okapi")], ["Indexed", ["/okapi"]]);
  await stage.app.ingest.remove(okapi, INGEST);
  assert.doesNotMatch((await stage.crawl()).result?.error ?? "", /okapi/);
  assert.deepEqual([await stage.found("okapi"), await stage.found("quokka")], [[], ["/quokka"]]);

  assert.equal((await stage.crawl({ confirmDeletes: true })).result?.error, "");
  assert.deepEqual([await stage.found("quokka"), await problems()], [[], []]);
});

test("an address that was registered again keeps its document while it cannot be asked; a dry run says so, too", async () => {
  await harm(lose);
  stage.pages.answers.set("/okapi", { status: 503 });
  await stage.add("/okapi");
  await stage.work();
  for (const [wishes, dryRun] of [
    [{ confirmDeletes: true }, true],
    [{}, false],
    [{ confirmDeletes: true }, false],
  ] as const) {
    const { result } = await stage.crawl(wishes, dryRun);
    assert.match(result?.error ?? "", /what is known there is kept: 'http:[^']+\/okapi'/);
    assert.doesNotMatch(JSON.stringify(result?.data), /"name":"okapi/);
    assert.deepEqual(await stage.found("okapi"), ["/okapi"]);
  }
  assert.deepEqual(await stage.found("quokka"), []);
});

/** As a kill between the commit of the index and the note of it leaves the member. */
function forgetIndexed(file: string): void {
  const db = new DatabaseSync(file);
  db.exec("UPDATE member SET file_id = '', content_hash = '', indexed_generation = 0");
  db.close();
}

test("what was indexed and not noted stays while its page cannot be asked, and leaves when it is taken out", async () => {
  await harm(forgetIndexed, `crawler/${INGEST}/ledger.sqlite`);
  stage.pages.answers.set("/quokka", { status: 503 });
  stage.later(15);
  await stage.app.ingest.remove(okapi, INGEST);
  await stage.round();
  assert.deepEqual([await stage.found("okapi"), await stage.found("quokka")], [[], ["/quokka"]]);
  await assert.rejects(stage.item(okapi), /not registered/);
});

test("addresses stay registered when the ledger of their domain is lost, and nothing is embedded again", async () => {
  stage.pages.answers.set("/dead", { status: 404 });
  const dead = await stage.add("/dead");
  await stage.round();
  const before = await stage.item(okapi);
  await harm(lose, `crawler/${INGEST}/ledger.sqlite`);
  await stage.sweep();
  stage.pages.answers.set("/new", { text: "A new numbat." });
  await stage.add("/new");
  const { result } = await stage.crawl();
  assert.deepEqual([result?.ok, result?.error], [true, ""]);
  const found = [await stage.found("okapi"), await stage.found("quokka"), await stage.found("numbat")];
  assert.deepEqual(found, [["/okapi"], ["/quokka"], ["/new"]]);
  stage.later(2);
  await stage.sweep();
  for (const id of [okapi, dead]) {
    const { item, members } = await stage.app.ingest.item(id);
    assert.deepEqual([item.watched, members.map(({ wanted }) => wanted)], [true, ["asked"]]);
  }
  assert.deepEqual((await stage.item(okapi)).linkage, before.linkage, "the same document");
  assert.deepEqual(await stage.round(), []);
});

test("a domain whose ledger is damaged is deleted all the same, and its addresses are nobody's then", async () => {
  await harm((file) => writeFileSync(file, "this is no database\n".repeat(500)), `crawler/${INGEST}/ledger.sqlite`);
  const log: string[] = [];
  const { apply } = await stage.app.planDeletion(INGEST, { withVectorStore: false });
  await apply((line) => void log.push(line));
  assert.match(
    log.join("\n"),
    /WARNING: Its registered addresses could not be read, so they stay in the registry: The ledger of domain 'INGEST' is damaged/,
  );
  stage.later(2);
  await stage.sweep();
  await assert.rejects(stage.item(okapi), /not registered/);
});

test("an address that was never indexed is taken out for good by the next crawl, whether or not it can be asked", async () => {
  stage.pages.answers.set("/lost", { status: 503 });
  const id = await stage.add("/lost");
  await stage.app.ingest.remove(id, INGEST);
  await stage.round();
  await assert.rejects(stage.item(id), /not registered/);
  assert.deepEqual(await stage.round(), []);
});
