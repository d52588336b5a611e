// An item whose address has another id by today's rules goes on under that, without loss.
import assert from "node:assert/strict";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, test } from "node:test";
import { NotFoundError } from "../../src/contracts/errors.ts";
import { type ItemId, parseDomainId, parseSourceId } from "../../src/contracts/ids.ts";
import { openSqlRegistry } from "../../src/ledger/registry/sql-registry.ts";
import { identifyUrl, shortHash, USUAL_RULES } from "../../src/plan/web/item-identity.ts";
import { newItem, newMember } from "../../src/plan/web/item-state.ts";
import { parseDomain } from "../kinds.ts";
import { openTestLedgers } from "../ledger/open-test-ledgers.ts";
import { INGEST, IngestStage } from "./ingest-stage.ts";

const SECRET = "hunter2hunter2";
const settings: Record<string, string> = {};
let stage: IngestStage;

beforeEach(async () => {
  settings["TRACKING_PARAM_PREFIXES"] = "utm_";
  stage = await IngestStage.open(settings);
});
afterEach(() => stage.close());

/** As a release does that knows more names: `campaign` is not written down any more. */
async function upgrade(): Promise<void> {
  Object.assign(stage.settings, { TRACKING_PARAM_PREFIXES: "utm_,campaign" });
  await stage.reopen();
}

/** Files of the mirror, by their names or contents, and tables of the ledger; but the history that files_metadata.json shows. */
function filesWithSecret(): string[] {
  const folder = join(stage.storage, "crawler");
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((name) => {
    const path = join(folder, name);
    const isRead = !name.includes("ledger.sqlite") && statSync(path).isFile();
    return path.includes(SECRET) || (isRead && readFileSync(path).includes(SECRET));
  });
  const db = new DatabaseSync(join(folder, INGEST, "ledger.sqlite"));
  const tables = db.prepare("SELECT name FROM sqlite_schema WHERE type = 'table' AND name <> 'embedded_file'").all();
  const found = tables.filter(({ name }) => JSON.stringify(db.prepare(`SELECT * FROM ${name}`).all()).includes(SECRET));
  db.close();
  return [...files, ...found.map(({ name }) => String(name))];
}

async function known(text: string): Promise<readonly string[]> {
  return (await stage.app.ingest.items({ text, offset: 0 })).items.map(({ id }) => id);
}

test("an item whose address has another id now goes on under that: found once, nothing is lost, the old record goes", async () => {
  stage.pages.answers.set("/news", { text: "Otters hold hands." });
  const old = await stage.add(`/news?campaign=${SECRET}`);
  await stage.round();
  assert.deepEqual(await stage.found("Otters"), ["/news"]);
  assert.notDeepEqual(filesWithSecret(), []);
  await upgrade();
  await stage.sweep();
  assert.deepEqual(await known(SECRET), [], "before anybody was asked");
  assert.deepEqual(await stage.found("Otters"), ["/news"]);
  const id = await stage.app.ingest.idOf(stage.pages.url("/news"));
  assert.notEqual(id, old);
  const [job] = await stage.round();
  assert.equal(job?.result?.ok, true, job?.result?.error);
  assert.deepEqual([(await stage.item(id)).status, (await stage.item(id)).watched], ["Indexed", true]);
  const { sources } = await stage.app.query({ text: "Otters", limit: 10, domainId: INGEST, vectorStoreId: undefined });
  assert.deepEqual(
    sources.map(({ url }) => url),
    [stage.pages.url("/news")],
  );
  assert.deepEqual(filesWithSecret(), []);
  // It is looked after as before, and nobody looks at the old one.
  stage.later(2);
  stage.pages.answers.set("/news", { text: "Otters eat urchins." });
  await stage.round();
  assert.deepEqual(await stage.found("urchins"), ["/news"]);
  assert.deepEqual(await stage.round(), []);
  await assert.rejects(stage.item(old), NotFoundError);
  assert.equal((await stage.app.ingest.summary(INGEST)).total, 1);
  assert.match((await stage.item(id)).history.map(({ detail }) => detail).join(), /another spelling/);
});

test("a crawl without the timer does the same; a page that is not shown without its secret keeps its document, and says why", async () => {
  stage.pages.answers.set("/feed", { text: "Seals sleep in the water." });
  const old = await stage.add(`/feed?campaign=${SECRET}`);
  await stage.round();
  await upgrade();
  stage.pages.answers.set("/feed", { status: 403 });
  stage.later(2);
  const job = await stage.crawl();
  assert.equal(job.result?.ok, true, job.result?.error);
  assert.deepEqual(await stage.found("Seals"), ["/feed"]);
  const id = await stage.app.ingest.idOf(stage.pages.url("/feed"));
  assert.match((await stage.item(id)).scheduling.errorMessage, /403/);
  assert.deepEqual(await known(SECRET), []);
  assert.deepEqual(filesWithSecret(), []);
  await stage.sweep();
  await assert.rejects(stage.item(old), NotFoundError);
  assert.deepEqual(await stage.found("Seals"), ["/feed"]);
});

test("an address registered with a token by an earlier release is known without it, and its history says so", async () => {
  stage.pages.answers.set("/list", { text: "Puffins dig burrows." });
  const clean = identifyUrl(stage.pages.url("/list"), USUAL_RULES);
  const written = `${clean.normalizedSource}?private_token=${SECRET}`;
  const old = `url_${shortHash(written)}` as ItemId;
  await stage.add("/other");
  const registry = openSqlRegistry({ folder: join(stage.storage, "index") });
  const ledgers = openTestLedgers(join(stage.storage, "crawler"));
  try {
    const identity = { ...clean, id: old, normalizedSource: written, displaySource: written, foundSource: written };
    await registry.put({ ...newItem(identity, stage.now), watched: true, title: "The list" }, null);
    await ledgers.members.change([newMember(INGEST, parseSourceId("urls"), old)], (_, added) => ({
      ...added,
      wanted: "asked",
    }));
  } finally {
    await registry.close();
    await ledgers.close();
  }
  await stage.sweep();
  assert.deepEqual(await known(SECRET), []);
  await assert.rejects(stage.item(old), NotFoundError);
  await stage.round();
  assert.deepEqual(await stage.found("Puffins"), ["/list"]);
  const { status, title, history } = await stage.item(clean.id);
  assert.deepEqual([status, title], ["Indexed", "The list"]);
  assert.match(
    JSON.stringify(history),
    /held a key, token or signature \('private_token'\), which is neither kept nor used/,
  );
});

test("pages of a web site change their ids in one crawl, however many, and leave nothing behind", async () => {
  const domainId = parseDomainId("SITE");
  // A word: what looks like a session would be compared away.
  const campaign = "springsale";
  const paths = Array.from({ length: 30 }, (_, n) => `/page${n}`);
  const links = paths.map((path) => `<a href="${path}?campaign=${campaign}">page</a>`);
  stage.pages.answers.set("", { text: `Home ${links.join(" ")}` });
  for (const path of paths) stage.pages.answers.set(path, { text: `Walruses have whiskers, says ${path}.` });
  const json = {
    name: "Site",
    description: "",
    vector_store_name: "",
    web_sources: [{ source_id: "site", start_urls: [stage.pages.url("/")] }],
  };
  await stage.app.domains.create(parseDomain(json, domainId));
  await stage.crawl({ domainId });
  assert.equal((await known(campaign)).length, 30);
  await upgrade();
  const job = await stage.crawl({ domainId });
  assert.equal(job.result?.ok, true, job.result?.error);
  const { sources } = await stage.app.query({ text: "Walruses", limit: 50, domainId, vectorStoreId: undefined });
  const found = sources.map(({ url }) => url).filter((url) => url.includes("/page"));
  assert.deepEqual(found.sort(), paths.map((path) => stage.pages.url(path)).sort());
  assert.deepEqual(await known(campaign), []);
});
