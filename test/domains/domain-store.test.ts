import assert from "node:assert/strict";
import { mkdir, mkdtemp, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import type { DomainId, VectorStoreId } from "../../src/contracts/ids.ts";
import { parseDomainInput } from "../../src/domains/domain-input.ts";
import { createDomainStore, type DomainStore } from "../../src/domains/domain-store.ts";

const DEMO = "DEMO" as DomainId;
const SOURCE = {
  source_id: "docs",
  site_url: "https://contoso.sharepoint.com/sites/x",
  sharepoint_url_part: "/Shared Documents",
  filter: "",
};
const INPUT = { domain_id: "DEMO", name: "Demo", file_sources: [SOURCE] };

test("a created domain is on disk as the specification has it", async (t) => {
  const { store, domainsFolder } = await openStore(t);
  assert.deepEqual(await store.list(), { domains: [], broken: [] });
  const created = await store.create(parseDomainInput(INPUT));
  assert.deepEqual(await store.get(DEMO), created);
  assert.deepEqual(await store.list(), { domains: [created], broken: [] });
  assert.deepEqual(JSON.parse(await readFile(join(domainsFolder, "DEMO", "domain.json"), "utf8")), {
    name: "Demo",
    description: "",
    vector_store_name: "DEMO",
    vector_store_id: "",
    file_sources: [SOURCE],
    list_sources: [],
    sitepage_sources: [],
  });
  assert.deepEqual(await readdir(join(domainsFolder, "DEMO")), ["domain.json"]);
});

test("an id is taken once, whatever its case; unknown ones are not found", async (t) => {
  const { store } = await openStore(t);
  await store.create(parseDomainInput(INPUT));
  await assert.rejects(store.create(parseDomainInput(INPUT)), {
    name: "BadInputError",
    message: "Domain 'DEMO' already exists.",
  });
  await assert.rejects(store.create(parseDomainInput({ ...INPUT, domain_id: "demo" })), /'DEMO' already exists/);
  const other = "OTHER" as DomainId;
  const missing = { name: "NotFoundError", message: "Domain 'OTHER' does not exist." };
  await assert.rejects(store.get(other), missing);
  await assert.rejects(store.update(parseDomainInput({ ...INPUT, domain_id: "OTHER" })), missing);
  await assert.rejects(store.setVectorStoreId(other, "vs_1" as VectorStoreId), missing);
  await assert.rejects(store.remove(other), missing);
});

test("of many that create the same domain one does", async (t) => {
  const { store } = await openStore(t);
  const answers = await Promise.allSettled(Array.from({ length: 8 }, () => store.create(parseDomainInput(INPUT))));
  assert.equal(answers.filter(({ status }) => status === "fulfilled").length, 1);
});

test("an update keeps what is not ours, in the domain and in its sources", async (t) => {
  const { store, domainsFolder } = await openStore(t);
  await store.create(parseDomainInput(INPUT));
  const path = join(domainsFolder, "DEMO", "domain.json");
  const lists = [{ source_id: "tasks", site_url: SOURCE.site_url, list_name: "Tasks", filter: "" }];
  const edited = { ...JSON.parse(await readFile(path, "utf8")), schedule: "0 3 * * *", list_sources: lists };
  edited.file_sources[0].owner = "Ann";
  await writeFile(path, `\ufeff${JSON.stringify(edited)}`);
  const added = { ...SOURCE, source_id: "more", max_removals: 100 };
  const existing = await store.get(DEMO);
  await store.update(parseDomainInput({ description: "New", file_sources: [added, SOURCE] }, existing));
  const written = JSON.parse(await readFile(path, "utf8"));
  assert.equal(written.description, "New");
  assert.equal(written.schedule, "0 3 * * *");
  assert.deepEqual(written.list_sources, lists);
  assert.deepEqual(written.file_sources, [added, { ...SOURCE, owner: "Ann" }]);
  const clash = parseDomainInput({ file_sources: [{ ...SOURCE, source_id: "tasks" }] }, existing);
  await assert.rejects(store.update(clash), /'tasks' is used more than once/);
  assert.deepEqual(JSON.parse(await readFile(path, "utf8")), written);
});

test("a vector store id set by a crawl and an edit made at the same time both stay", async (t) => {
  const { store } = await openStore(t);
  const before = await store.create(parseDomainInput(INPUT));
  const edited = parseDomainInput({ description: "edited" }, before);
  await store.setVectorStoreId(DEMO, "vs_1" as VectorStoreId);
  const after = await store.update(edited, before);
  assert.deepEqual([after.description, after.vectorStoreId], ["edited", "vs_1"]);
  const cleared = await store.update(parseDomainInput({ vector_store_id: "" }, after), after);
  assert.deepEqual(cleared, { ...after, vectorStoreId: "" });
});

test("writers of different fields do not undo each other", async (t) => {
  const { store } = await openStore(t);
  const before = await store.create(parseDomainInput(INPUT));
  await Promise.all([
    store.setVectorStoreId(DEMO, "vs_1" as VectorStoreId),
    store.update({ ...before, name: "New name" }, before),
    store.update({ ...before, description: "New text" }, before),
    store.update({ ...before, sources: [] }, before),
  ]);
  const { name, description, vectorStoreId, sources } = await store.get(DEMO);
  assert.deepEqual(
    { name, description, vectorStoreId, sources },
    {
      name: "New name",
      description: "New text",
      vectorStoreId: "vs_1",
      sources: [],
    },
  );
});

test("what cannot be read is listed as broken, with the reason", async (t) => {
  const { store, domainsFolder } = await openStore(t);
  await store.create(parseDomainInput(INPUT));
  await writeDomain(domainsFolder, "BAD", '{"name": ');
  await writeDomain(domainsFolder, "EMPTY", "");
  await writeDomain(domainsFolder, "dömäin", "{}");
  await writeDomain(domainsFolder, "PLAIN", JSON.stringify({ file_sources: [{ ...SOURCE, site_url: "http://a.b" }] }));
  await mkdir(join(domainsFolder, "NOTHING"));
  const { domains, broken } = await store.list();
  assert.deepEqual(
    domains.map(({ domainId }) => domainId),
    ["DEMO"],
  );
  assert.deepEqual(
    broken.map(({ domainId }) => domainId),
    ["BAD", "EMPTY", "PLAIN", "dömäin"],
  );
  assert.match(broken[0]?.reason ?? "", /domain\.json is damaged: it is not valid JSON/);
  assert.match(broken[2]?.reason ?? "", /file_sources\[0\]\.site_url must begin with https/);
  await assert.rejects(store.get("BAD" as DomainId), { name: "BadInputError" });
});

test("removing takes the domain and its mirror, nothing else", async (t) => {
  const { store, domainsFolder, crawlerFolder } = await openStore(t);
  const created = await store.create(parseDomainInput(INPUT));
  await store.create(parseDomainInput({ ...INPUT, domain_id: "DEMO2" }));
  await writeMirror(crawlerFolder, "DEMO");
  await writeMirror(crawlerFolder, "DEMO2");
  assert.deepEqual(await store.remove(DEMO), created);
  assert.deepEqual(await visible(domainsFolder), ["DEMO2"]);
  assert.deepEqual(await visible(crawlerFolder), ["DEMO2"]);
  assert.deepEqual(await readdir(join(domainsFolder, ".lockstep", "trash")), []);
});

test("a removal that a crash interrupted is completed by the next look, and before the id is used again", async (t) => {
  for (const next of ["list", "create"] as const) {
    const { store, domainsFolder, crawlerFolder } = await openStore(t);
    await store.create(parseDomainInput(INPUT));
    await writeMirror(crawlerFolder, "DEMO");
    // The state after the rename that removes the domain and before anything else.
    await mkdir(join(domainsFolder, ".lockstep", "trash"), { recursive: true });
    await rename(join(domainsFolder, "DEMO"), join(domainsFolder, ".lockstep", "trash", "DEMO~1"));
    if (next === "list") assert.deepEqual((await store.list()).domains, []);
    else await store.create(parseDomainInput(INPUT));
    assert.deepEqual(await visible(crawlerFolder), []);
    assert.deepEqual(await readdir(join(domainsFolder, ".lockstep", "trash")), []);
  }
});

interface Opened {
  readonly store: DomainStore;
  readonly domainsFolder: string;
  readonly crawlerFolder: string;
}

async function openStore(t: TestContext): Promise<Opened> {
  const folder = await mkdtemp(join(tmpdir(), "lockstep-domains-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const folders = { domainsFolder: join(folder, "domains"), crawlerFolder: join(folder, "crawler") };
  return { ...folders, store: createDomainStore(folders) };
}

async function writeDomain(domainsFolder: string, id: string, text: string): Promise<void> {
  await mkdir(join(domainsFolder, id));
  await writeFile(join(domainsFolder, id, "domain.json"), text);
}

async function writeMirror(crawlerFolder: string, id: string): Promise<void> {
  await mkdir(join(crawlerFolder, id, "01_files", "docs"), { recursive: true });
  await writeFile(join(crawlerFolder, id, "01_files", "docs", "files_map.csv"), "x");
}

async function visible(folder: string): Promise<string[]> {
  return (await readdir(folder)).filter((name) => !name.startsWith("."));
}
