// Domains are created, changed and deleted on disk, also by several writers at once.
import assert from "node:assert/strict";
import { mkdir, mkdtemp, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { BUILT_IN_KINDS } from "../../src/app/source-kinds.ts";
import type { DomainId, VectorStoreId } from "../../src/contracts/ids.ts";
import { createDomainStore, type DomainStore } from "../../src/domains/domain-store.ts";
import { parseDomainInput } from "../kinds.ts";

const DEMO = "DEMO" as DomainId;
const VS_1 = "vs_1" as VectorStoreId;
const SOURCE = {
  source_id: "docs",
  site_url: "https://contoso.sharepoint.com/sites/x",
  sharepoint_url_part: "/Shared Documents",
  filter: "",
};
const LIST = { source_id: "tasks", site_url: SOURCE.site_url, list_name: "Tasks", filter: "" };
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
  const unknown = parseDomainInput({ ...INPUT, domain_id: "OTHER" });
  await assert.rejects(store.update(unknown, unknown), missing);
  await assert.rejects(
    store.ensureVectorStore(other, async () => assert.fail("nothing to create it for")),
    missing,
  );
  await assert.rejects(store.remove(other), missing);
});

test("of many that create the same domain one does", async (t) => {
  const { store } = await openStore(t);
  const answers = await Promise.allSettled(Array.from({ length: 8 }, () => store.create(parseDomainInput(INPUT))));
  assert.equal(answers.filter(({ status }) => status === "fulfilled").length, 1);
});

test("an update keeps what is not ours, in the domain and in its sources", async (t) => {
  const { store, domainsFolder } = await openStore(t);
  const created = await store.create(parseDomainInput(INPUT));
  const path = join(domainsFolder, "DEMO", "domain.json");
  const lists = [{ ...LIST, view: "ours" }];
  const edited = { ...JSON.parse(await readFile(path, "utf8")), schedule: "0 3 * * *", list_sources: lists };
  edited.file_sources[0].owner = "Ann";
  await writeFile(path, `\ufeff${JSON.stringify(edited)}`);
  const added = { ...SOURCE, source_id: "more", max_removals: 100 };
  const existing = await store.get(DEMO);
  await store.update(parseDomainInput({ description: "New", file_sources: [added, SOURCE] }, existing), existing);
  const written = JSON.parse(await readFile(path, "utf8"));
  assert.equal(written.description, "New");
  assert.equal(written.schedule, "0 3 * * *");
  assert.deepEqual(written.list_sources, lists);
  assert.deepEqual(written.file_sources, [added, { ...SOURCE, owner: "Ann" }]);
  // Made from the domain as it was before the list came.
  const clash = parseDomainInput({ file_sources: [{ ...SOURCE, source_id: "tasks" }] }, created);
  await assert.rejects(store.update(clash, created), /'tasks' is used more than once/);
  assert.deepEqual(JSON.parse(await readFile(path, "utf8")), written);
});

test("a vector store id set by a crawl and an edit made at the same time both stay", async (t) => {
  const { store } = await openStore(t);
  const before = await store.create(parseDomainInput(INPUT));
  const edited = parseDomainInput({ description: "edited" }, before);
  assert.deepEqual(await store.ensureVectorStore(DEMO, async () => VS_1), { id: VS_1, created: true });
  const after = await store.update(edited, before);
  assert.deepEqual([after.description, after.vectorStoreId], ["edited", "vs_1"]);
  const cleared = await store.update(parseDomainInput({ vector_store_id: "" }, after), after);
  assert.deepEqual(cleared, { ...after, vectorStoreId: "" });
});

test("writers of different fields do not undo each other", async (t) => {
  const { store } = await openStore(t);
  const before = await store.create(parseDomainInput(INPUT));
  await Promise.all([
    store.ensureVectorStore(DEMO, async () => VS_1),
    store.update({ ...before, name: "New name" }, before),
    store.update({ ...before, description: "New text" }, before),
    store.update({ ...before, sources: [] }, before),
    store.update(parseDomainInput({ list_sources: [LIST] }, before), before),
  ]);
  const { name, description, vectorStoreId, sources } = await store.get(DEMO);
  assert.deepEqual(
    { name, description, vectorStoreId, sources },
    {
      name: "New name",
      description: "New text",
      vectorStoreId: "vs_1",
      sources: parseDomainInput({ ...INPUT, file_sources: [], list_sources: [LIST] }).sources,
    },
  );
});

test("of many first crawls one creates the vector store, and all use it", async (t) => {
  const { store, ...folders } = await openStore(t);
  await store.create(parseDomainInput(INPUT));
  const gate = Promise.withResolvers<void>();
  let creations = 0;
  const create = async (): Promise<VectorStoreId> => {
    creations += 1;
    const id = `vs_${creations}` as VectorStoreId;
    await gate.promise;
    return id;
  };
  const crawls = [store, createDomainStore({ ...folders, kinds: BUILT_IN_KINDS }), store].map((one) =>
    one.ensureVectorStore(DEMO, create),
  );
  gate.resolve();
  const answers = await Promise.all(crawls);
  assert.equal(creations, 1);
  assert.deepEqual(
    answers.map(({ id }) => id),
    [VS_1, VS_1, VS_1],
  );
  assert.deepEqual(
    answers.map(({ created }) => created),
    [true, false, false],
  );
  assert.equal((await store.get(DEMO)).vectorStoreId, VS_1);
});

test("what somebody writes into the file while the vector store is being created stays", async (t) => {
  const { store, domainsFolder } = await openStore(t);
  await store.create(parseDomainInput(INPUT));
  const path = join(domainsFolder, "DEMO", "domain.json");
  const edit = async (change: object): Promise<void> =>
    writeFile(path, JSON.stringify({ ...JSON.parse(await readFile(path, "utf8")), ...change }));
  const first = await store.ensureVectorStore(DEMO, async () => {
    await edit({ description: "by hand", vector_store_id: "vs_by_hand" });
    return VS_1;
  });
  assert.deepEqual(first, { id: "vs_by_hand", created: false });
  await edit({ vector_store_id: "" });
  await store.ensureVectorStore(DEMO, async () => {
    await edit({ description: "by hand again" });
    return VS_1;
  });
  const { description, vectorStoreId } = await store.get(DEMO);
  assert.deepEqual([description, vectorStoreId], ["by hand again", VS_1]);
});

test("a vector store that could not be created leaves the domain as it was", async (t) => {
  const { store } = await openStore(t);
  const before = await store.create(parseDomainInput(INPUT));
  await assert.rejects(
    store.ensureVectorStore(DEMO, async () => {
      throw new Error("no room");
    }),
    /no room/,
  );
  assert.deepEqual(await store.get(DEMO), before);
  assert.deepEqual(await store.ensureVectorStore(DEMO, async () => VS_1), { id: VS_1, created: true });
});

test("a vector store belongs to one domain", async (t) => {
  const { store } = await openStore(t);
  const first = await store.create(parseDomainInput({ ...INPUT, vector_store_id: "vs_1" }));
  const refusal = { name: "BadInputError", message: /vector store 'vs_1' belongs to domain 'DEMO'/ };
  const rival = parseDomainInput({ ...INPUT, domain_id: "RIVAL", vector_store_id: "vs_1" });
  await assert.rejects(store.create(rival), refusal);
  await assert.rejects(store.get(rival.domainId), { name: "NotFoundError" });
  const second = await store.create({ ...rival, vectorStoreId: "" });
  await assert.rejects(store.update(rival, second), refusal);
  assert.deepEqual(await store.get(second.domainId), second);
  await store.update({ ...first, vectorStoreId: "" }, first);
  assert.equal((await store.update(rival, second)).vectorStoreId, "vs_1");
});

test("of many domains that take the same vector store at once one gets it", async (t) => {
  const { store } = await openStore(t);
  const answers = await Promise.allSettled(
    Array.from({ length: 6 }, (_, i) =>
      store.create(parseDomainInput({ ...INPUT, domain_id: `D${i}`, vector_store_id: "vs_1" })),
    ),
  );
  assert.equal(answers.filter(({ status }) => status === "fulfilled").length, 1);
  assert.equal((await store.list()).domains.length, 1);
});

test("a domain that shares its store since before can still be edited, and leave it", async (t) => {
  const { store, domainsFolder } = await openStore(t);
  await store.create(parseDomainInput({ ...INPUT, vector_store_id: "vs_1" }));
  await writeDomain(domainsFolder, "OLD", JSON.stringify({ name: "Old", vector_store_id: "vs_1" }));
  const old = await store.get("OLD" as DomainId);
  const renamed = await store.update({ ...old, name: "Older" }, old);
  assert.equal(renamed.name, "Older");
  assert.equal((await store.update({ ...renamed, vectorStoreId: "" }, renamed)).vectorStoreId, "");
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
  assert.match(broken[0]?.reason ?? "", /^domain\.json is damaged: it is not valid JSON/);
  assert.match(broken[2]?.reason ?? "", /^file_sources\[0\]\.site_url must begin with https/);
  await assert.rejects(store.get("BAD" as DomainId), {
    name: "UnreadableError",
    message:
      /^Cannot read domain 'BAD': domain\.json is damaged: it is not valid JSON.*\. Put the file right, or restore it/,
  });
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
  const folders = {
    domainsFolder: join(folder, "domains"),
    crawlerFolder: join(folder, "crawler"),
    kinds: BUILT_IN_KINDS,
  };
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
