// Texts of documents and their versions lie where they are specified to, and survive kills.
import assert from "node:assert/strict";
import { cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import type { ItemId } from "../../src/contracts/ids.ts";
import { KnowledgeBase } from "../../src/mirror/knowledge-base.ts";
import { KillRuns } from "./knowledge-kills.ts";
import { contentOf, textOf } from "./knowledge-texts.ts";

const root = await mkdtemp(join(tmpdir(), "lockstep-knowledge-"));
after(() => rm(root, { recursive: true, force: true }));

let count = 0;
const newFolder = (): string => join(root, `s${++count}`);
const A = "doc_a" as ItemId;
const KEEP_ALL = { versions: 1000, versionMs: Number.POSITIVE_INFINITY };

async function withVersions(folder: string, howMany: number): Promise<KnowledgeBase> {
  const base = new KnowledgeBase(folder);
  for (let n = 1; n <= howMany; n++) await base.keep(A, contentOf(n), textOf(A, n));
  return base;
}

test("a document lies where it is specified to, and what was current becomes an earlier version", async () => {
  const folder = newFolder();
  const base = await withVersions(folder, 3);
  const place = join(folder, "knowledge_base/documents/doc_a");
  assert.equal(await readFile(join(place, "content.md"), "utf8"), textOf(A, 3).markdown);
  assert.equal(await readFile(join(place, "versions/v1/content.md"), "utf8"), textOf(A, 1).markdown);
  const metadata = JSON.parse(await readFile(join(place, "metadata.json"), "utf8"));
  assert.deepEqual(
    [metadata.doc_id, metadata.version_id, metadata.title, metadata.language, metadata.source_path],
    ["doc_a", "v3", "Title 3", "en", "notes/3.md"],
  );
  assert.deepEqual([metadata.content_hash, metadata.extractor, metadata.word_count], ["hash-3", "2", 1202]);
  assert.deepEqual([metadata.created_at, metadata.kept_at], [contentOf(1).at, contentOf(3).at]);
  assert.deepEqual(
    (await base.history(A)).map(({ versionId, hash }) => `${versionId} ${hash}`),
    ["v1 hash-1", "v2 hash-2", "v3 hash-3"],
  );
  assert.equal((await base.read(A, "v2"))?.markdown, textOf(A, 2).markdown);
  assert.equal((await base.read(A, "v3"))?.title, "Title 3");
  assert.equal(await base.read(A, "v4"), undefined);
  assert.equal(await base.read(A, "../../doc_a"), undefined);
  assert.deepEqual(await readdir(join(folder, ".staging")), []);
});

test("the same bytes are the same version, however often their text is made", async () => {
  const folder = newFolder();
  const base = await withVersions(folder, 2);
  await base.keep(A, { ...contentOf(2), extractor: "3" }, { ...textOf(A, 2), markdown: "better" });
  assert.equal(await base.readText(A), "better");
  assert.deepEqual(
    (await base.history(A)).map(({ versionId }) => versionId),
    ["v1", "v2"],
  );
  assert.equal((await base.current(A))?.createdAt, contentOf(1).at);
});

test("a file that cannot be read any more has no current text, and its last one stays as an earlier version", async () => {
  const folder = newFolder();
  const base = await withVersions(folder, 1);
  await base.keep(A, contentOf(2), { error: "The file is protected." });
  assert.equal(await base.readText(A), undefined);
  assert.deepEqual(await readdir(join(folder, "knowledge_base/documents/doc_a")), ["metadata.json", "versions"]);
  assert.equal((await base.current(A))?.error, "The file is protected.");
  assert.equal((await base.read(A, "v1"))?.markdown, textOf(A, 1).markdown);
  await base.keep(A, contentOf(3), textOf(A, 3));
  assert.deepEqual(
    (await base.history(A)).map(({ versionId }) => versionId),
    ["v1", "v3"],
  );
});

test("a move changes where the document says it comes from, and nothing else", async () => {
  const base = await withVersions(newFolder(), 2);
  const before = await base.current(A);
  await base.relocate(A, "elsewhere/2.md");
  assert.deepEqual(await base.current(A), { ...before, path: "elsewhere/2.md" });
  assert.equal(await base.readText(A), textOf(A, 2).markdown);
  await base.relocate("doc_unknown" as ItemId, "x.md");
  assert.equal(await base.current("doc_unknown" as ItemId), undefined);
});

test("earlier versions leave by count, and by how long ago they were replaced", async () => {
  const folder = newFolder();
  const base = await withVersions(folder, 12);
  const idsOf = async (): Promise<string[]> => (await base.history(A)).map(({ versionId }) => versionId);
  const dayTwelve = new Date(contentOf(12).at);
  const rules = { ...KEEP_ALL, versions: 8 };
  const dry = new KnowledgeBase(folder, { dryRun: true });
  const outdated = await base.outdated(A, rules, dayTwelve);
  assert.deepEqual([await dry.prune(A, rules, dayTwelve), (await idsOf()).length], [["v1", "v2", "v3"], 12]);
  const before = await dry.remove(A);
  const pruned = await base.prune(A, rules, dayTwelve);
  assert.deepEqual(pruned, outdated.versions);
  assert.equal(before - (await dry.remove(A)), outdated.bytes);
  assert.deepEqual((await idsOf())[0], "v4");
  // v4 was replaced on the fifth day, v5 on the sixth.
  const half = new Date(dayTwelve.getTime() - 3.5 * 86_400_000);
  assert.deepEqual(await base.prune(A, { versions: 8, versionMs: 3 * 86_400_000 }, half), ["v4"]);
  const yearsAhead = new Date("2036-01-01T00:00:00Z");
  const left = await base.prune(A, { versions: 8, versionMs: 86_400_000 }, yearsAhead);
  assert.deepEqual(left, ["v5", "v6", "v7", "v8", "v9"], "a clock that is wrong leaves two");
  assert.deepEqual(await base.prune(A, { versions: 0, versionMs: 0 }, half), ["v10", "v11"]);
  assert.deepEqual(await idsOf(), ["v12"]);
  assert.equal(await base.readText(A), textOf(A, 12).markdown);
});

test("a document that leaves leaves whole, and ids cannot lead anywhere else", async () => {
  const folder = newFolder();
  const base = await withVersions(folder, 3);
  await base.keep("doc_b" as ItemId, contentOf(1), textOf("doc_b" as ItemId, 1));
  await mkdir(join(folder, "knowledge_base/documents/not a document"));
  const listed: string[] = [];
  for await (const docId of base.list()) listed.push(docId);
  assert.deepEqual(listed.sort(), ["doc_a", "doc_b"]);
  const bytes = await new KnowledgeBase(folder, { dryRun: true }).remove(A);
  assert.ok(bytes > 1000);
  assert.equal(await base.remove(A), bytes);
  assert.equal(await base.current(A), undefined);
  assert.equal(await base.remove(A), 0);
  assert.deepEqual((await readdir(join(folder, "knowledge_base/documents"))).sort(), ["doc_b", "not a document"]);
  for (const hostile of ["..", "../../x", "a/b", "", "doc_a.old"] as readonly string[] as readonly ItemId[]) {
    await assert.rejects(async () => await base.remove(hostile), /A document id is/);
    await assert.rejects(base.keep(hostile, contentOf(1), textOf(A, 1)), /A document id is/);
  }
});

test("a text that was edited or damaged is not taken for what was kept, and is made anew without losing a version", async () => {
  const folder = newFolder();
  const base = await withVersions(folder, 2);
  const place = join(folder, "knowledge_base/documents/doc_a");
  await writeFile(join(place, "content.md"), "somebody typed here");
  assert.equal(await base.readText(A), undefined);
  await writeFile(join(place, "metadata.json"), '{"format": 1, "version_id": "../../v');
  assert.equal(await base.current(A), undefined);
  assert.equal((await base.keep(A, contentOf(2), textOf(A, 2))).versionId, "v2");
  assert.equal(await base.readText(A), textOf(A, 2).markdown);
  assert.equal((await base.read(A, "v1"))?.markdown, textOf(A, 1).markdown);
});

test("whoever reads while versions are exchanged finds one of them, whole", async () => {
  const base = await withVersions(newFolder(), 1);
  const reader = new KnowledgeBase(join(root, `s${count}`));
  let isDone = false;
  let reads = 0;
  const reading = (async () => {
    while (!isDone) {
      const found = await reader.read(A);
      assert.equal(found?.markdown, textOf(A, Number(found?.hash.slice(5))).markdown);
      assert.equal((await reader.read(A, "v1"))?.hash, "hash-1");
      reads += 1;
    }
  })();
  for (let n = 2; n <= 60; n++) await base.keep(A, contentOf(n), textOf(A, n));
  isDone = true;
  await reading;
  assert.ok(reads > 0);
});

/** What lies where after each of the moves of an exchange of v2 by v3. `.` is the new version without its metadata. */
const STATES: readonly { readonly current?: string; readonly incoming?: string; readonly outgoing?: string }[] = [
  { current: "v1 v2", incoming: "." },
  { current: "v1 v2", incoming: "v3" },
  { outgoing: "v1 v2", incoming: "v3" },
  { outgoing: "v2", incoming: "v1 v3" },
  { incoming: "v1 v2 v3" },
  { current: "v1 v2 v3", outgoing: "v2" },
];

for (const state of STATES) {
  test(`an exchange that was cut off comes to an end: ${JSON.stringify(state)}`, async () => {
    const folder = newFolder();
    const [from, documents] = [newFolder(), join(folder, "knowledge_base/documents")];
    await withVersions(from, 3);
    const whole = join(from, "knowledge_base/documents/doc_a");
    const pick = async (target: string, versions: string | undefined): Promise<void> => {
      if (versions === undefined) return;
      const earlier = versions.split(" ").slice(0, -1);
      const current = versions.split(" ").at(-1) ?? "";
      await mkdir(target, { recursive: true });
      await cp(current === "v2" ? join(whole, "versions/v2") : whole, target, {
        recursive: true,
        filter: (path) => !path.endsWith("/versions") && !(current === "." && path.endsWith("metadata.json")),
      });
      for (const id of earlier)
        await cp(join(whole, "versions", id), join(target, "versions", id), { recursive: true });
    };
    await pick(join(documents, "doc_a"), state.current);
    await pick(join(folder, ".staging/doc_a"), state.incoming);
    await pick(join(folder, ".staging/doc_a.old"), state.outgoing);
    const base = new KnowledgeBase(folder);
    const expected = state.current === "v1 v2" ? ["v1", "v2"] : ["v1", "v2", "v3"];
    const seen = (await base.read(A))?.versionId ?? "";
    assert.ok(["v2", "v3"].includes(seen), "whoever comes before the recovery finds it");
    assert.equal((await base.read(A, "v1"))?.markdown, textOf(A, 1).markdown);
    await base.recover();
    assert.deepEqual(
      (await base.history(A)).map(({ versionId }) => versionId),
      expected,
    );
    assert.equal(await base.readText(A), textOf(A, expected.length).markdown);
    for (const id of expected) assert.ok(await base.read(A, id));
    assert.deepEqual(await readdir(join(folder, ".staging")), []);
  });
}

test("killed at any moment, documents and versions are whole after recovering", { timeout: 120_000 }, async () => {
  const runs = new KillRuns(newFolder(), 20_261_116);
  for (let i = 0; i < 15; i++) await runs.killOnce();
  assert.ok(runs.kept > 15);
});
