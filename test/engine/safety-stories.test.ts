// Lost maps, broken listings and empty sources never empty the index without confirmation.
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, test } from "node:test";
import { compose } from "../../src/app/compose.ts";
import { readConfig } from "../../src/app/config.ts";
import { parseDomainId } from "../../src/contracts/ids.ts";
import { makeCertificate } from "../../src/sandbox/certificates.ts";
import { parseDomain } from "../kinds.ts";
import { DOMAIN, World } from "./world.ts";

let world: World;
beforeEach(async () => {
  world = await World.open();
  for (let i = 0; i < 5; i++)
    await world.change("add", { path: `f${i}.txt`, text: `Paper number${i} about walrus${i}.` });
  await world.crawl();
});
afterEach(() => world.close());

async function stillFound(): Promise<string[]> {
  const names: string[] = [];
  for (let i = 0; i < 5; i++) names.push(...(await world.found(`walrus${i}`)).slice(0, 1));
  return names;
}
const ALL = ["f0.txt", "f1.txt", "f2.txt", "f3.txt", "f4.txt"];

async function emptyTheLibrary(): Promise<void> {
  for (const path of ALL) await world.change("delete", { path });
}

test("a lost map and a listing that breaks off: nothing leaves the index", async () => {
  await world.change("fill", { path: "Bulk", count: 2100 });
  await world.fault({ url: "skiptoken", times: "always" }, { status: 400, body: "{}" });
  for (const path of ALL) await world.change("move", { path, to: `/sites/demo/Contracts/${path}` });
  await rm(world.folder("files_map.csv"));
  const { job, source } = await world.crawl();
  assert.match(job.result?.error ?? "", /nothing was removed, because the listing is incomplete/);
  assert.equal(source.embed.removed, 0);
  assert.deepEqual(await stillFound(), ALL);
});

test("a lost map and an empty listing: held in the index, too, until confirmed", async () => {
  await emptyTheLibrary();
  await rm(world.folder("files_map.csv"));
  const { job } = await world.crawl();
  assert.match(job.result?.error ?? "", /5 removals are held/);
  assert.deepEqual(await stillFound(), ALL);
  await world.crawl({ confirmDeletes: true });
  assert.deepEqual(await world.storeFileIds(), []);
});

test("all maps and files lost and an empty listing: the index is not emptied unasked", async () => {
  await emptyTheLibrary();
  await rm(join(world.storage, "crawler"), { recursive: true });
  const { job, source } = await world.crawl();
  assert.match(job.result?.error ?? "", /5 documents in the index have no item any more, held/);
  assert.equal(source.embed.held, 5);
  assert.deepEqual(await stillFound(), ALL);
  await world.crawl({ confirmDeletes: true });
  assert.deepEqual(await stillFound(), []);
});

test("all maps and files lost, the source as it was: everything is fetched, nothing embedded twice", async () => {
  const before = await world.storeFileIds();
  await rm(join(world.storage, "crawler"), { recursive: true });
  const { job, source } = await world.crawl();
  assert.equal(job.result?.error, "");
  assert.equal(source.download.added, 5);
  assert.deepEqual(await world.storeFileIds(), before);
  assert.deepEqual(await world.contradictions(), []);
});

test("a source taken out of the domain leaves search, disk and store; a large one only when confirmed", async () => {
  const before = await world.app.domains.get(DOMAIN);
  const json = {
    ...world.domainJson({ source_id: "contracts", sharepoint_url_part: "/Contracts" }),
    vector_store_id: before.vectorStoreId,
  };
  await world.app.domains.update(parseDomain(json, DOMAIN), before);
  const held = await world.crawl();
  assert.match(held.job.result?.error ?? "", /Source 'docs': it was taken out of the domain; 5 removals are held/);
  assert.deepEqual(await stillFound(), ALL);
  const confirmed = await world.crawl({ confirmDeletes: true });
  assert.equal(confirmed.job.result?.error, "");
  assert.deepEqual(await stillFound(), []);
  assert.deepEqual(await world.storeFileIds(), []);
  assert.ok(!existsSync(world.folder()));
  assert.equal((await world.crawl()).result.sources.length, 1, "and is not spoken of again");
});

test("a store that another domain uses is refused, and neither loses a document", async () => {
  const { vectorStoreId } = await world.app.domains.get(DOMAIN);
  const other = parseDomainId("OTHER");
  const path = join(world.storage, "domains", other, "domain.json");
  await mkdir(join(path, ".."), { recursive: true });
  await writeFile(
    path,
    JSON.stringify({ ...world.domainJson({ sharepoint_url_part: "/Contracts" }), vector_store_id: vectorStoreId }),
  );
  const { job } = await world.crawl({ domainId: other });
  assert.match(job.result?.error ?? "", /belongs to domain 'STORY'/);
  assert.deepEqual(await stillFound(), ALL);
});

test("a path in a map file that leads out of the source's folder is never touched", async () => {
  const victim = join(world.storage, "victim.txt");
  await writeFile(victim, "precious");
  const path = world.folder("files_map.csv");
  const rows = await readFile(path, "utf8");
  await writeFile(path, rows.replace("STORY\\01_files\\docs\\02_embedded\\f1.txt", "..\\victim.txt"));
  const { job } = await world.crawl();
  assert.equal(job.result?.error, "");
  assert.equal(await readFile(victim, "utf8"), "precious");
  assert.deepEqual(await world.disk(), ALL);
  assert.deepEqual(await world.contradictions(), []);
});

test("a file that cannot go where it moved to stops nothing, now or later", async () => {
  await world.change("add", { path: "notes.md", text: "The quokka memo." });
  await world.change("add", { path: "other.md", text: "The other notes about lemurs." });
  await world.crawl();
  // Something stands in the way on our disk: a folder where the file should go.
  await mkdir(world.folder("02_embedded/target.md/inside"), { recursive: true });
  await writeFile(world.folder("02_embedded/target.md/inside/x"), "");
  await world.change("rename", { path: "other.md", name: "target.md" });
  await world.change("delete", { path: "notes.md" });
  const { source } = await world.crawl();
  assert.equal(source.download.removed, 1, "the rest of the plan was carried out");
  assert.ok(!(await world.found("quokka")).includes("notes.md"));
  const next = await world.crawl();
  assert.equal(next.job.result?.error, "");
  assert.deepEqual((await world.found("lemurs")).slice(0, 1), ["target.md"]);
  assert.deepEqual(await world.contradictions(), []);
});

test("a dry run counts what the real run then does, on disk and in the index", async () => {
  await world.change("rename", { path: "f0.txt", name: "renamed.txt" });
  await world.change("delete", { path: "f1.txt" });
  await world.change("update", { path: "f2.txt", text: "Now about yaks." });
  await world.change("add", { path: "new.txt", text: "Entirely new." });
  const dry = await world.crawl({ dryRun: true });
  const real = await world.crawl();
  assert.deepEqual(dry.source.download, real.source.download);
  assert.deepEqual(dry.source.embed, real.source.embed);
  assert.deepEqual(
    { ...real.source.embed },
    { added: 1, changed: 1, moved: 1, removed: 1, unchanged: 2, skipped: 0, failed: 0, empty: 0, held: 0 },
  );
});

test("two crawls at once, the first ones of their domain: one store, one document each", async () => {
  const fresh = await World.open();
  try {
    for (let i = 0; i < 20; i++) await fresh.change("add", { path: `g${i}.txt`, text: `Gnu${i} text.` });
    const [one, two] = await Promise.all([fresh.crawl(), fresh.crawl()]);
    assert.deepEqual([one.job.result?.error, two.job.result?.error], ["", ""], `${one.log}\n${two.log}`);
    assert.equal(one.result.vector_store_id, two.result.vector_store_id);
    assert.equal((await fresh.openai().vectorStores.list()).data.length, 1);
    assert.deepEqual(await fresh.contradictions(), []);
  } finally {
    await fresh.close();
  }
});

test("an unreachable site is skipped and named, keeps what it had, and the other sources go on", async () => {
  const before = await world.app.domains.get(DOMAIN);
  const docs = (world.domainJson()["file_sources"] as object[])[0];
  const dead = { ...docs, source_id: "dead", site_url: "http://127.0.0.1:9/sites/gone" };
  const json = { ...world.domainJson(), vector_store_id: before.vectorStoreId, file_sources: [dead, docs] };
  await world.app.domains.update(parseDomain(json, DOMAIN), before);
  await world.change("add", { path: "fresh.txt", text: "Fresh okapi." });
  const { job, result } = await world.crawl();
  assert.equal(job.state, "completed");
  assert.match(job.result?.error ?? "", /^Source 'dead': .*127\.0\.0\.1:9/);
  assert.deepEqual(
    result.sources.map(({ source_id, error }) => [source_id, error === ""]),
    [
      ["dead", false],
      ["docs", true],
    ],
  );
  assert.deepEqual((await world.found("okapi")).slice(0, 1), ["fresh.txt"]);
  assert.deepEqual(await stillFound(), ALL);
});

test("a certificate that the app registration does not know: the sign-in's own words, nothing lost", async () => {
  const stranger = await makeCertificate();
  await writeFile(join(world.storage, "stranger.pem"), stranger.pem);
  await world.app.close();
  const settings = { ...world.settings, CRAWLER_CLIENT_CERTIFICATE_PEM_FILE: join(world.storage, "stranger.pem") };
  world.app = await compose(readConfig(settings));
  const { job } = await world.crawl();
  assert.match(job.result?.error ?? "", /AADSTS700027/);
  assert.doesNotMatch(job.result?.error ?? "", /PRIVATE KEY|\n\s+at /);
  assert.deepEqual(await stillFound(), ALL);
});
