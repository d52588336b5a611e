// Texts of documents are kept with their versions, once each, also after a kill.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { mkdir, mkdtemp, readdir, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, test } from "node:test";
import { DEFAULT_LIMITS } from "../../src/contracts/domain.ts";
import { type ItemId, type JobId, parseDomainId, parseSourceId } from "../../src/contracts/ids.ts";
import type { Ledger } from "../../src/contracts/ledger.ts";
import type { ManifestEntry } from "../../src/contracts/manifest.ts";
import { type CrawlRequest, crawlRequest, type StepCounts } from "../../src/engine/crawl-request.ts";
import { extractTexts, withStoredText } from "../../src/engine/extract-texts.ts";
import { createExtractor } from "../../src/extract/extractor.ts";
import { SqlPlan } from "../../src/ledger/sql-plan.ts";
import { KnowledgeBase } from "../../src/mirror/knowledge-base.ts";
import { Mirror } from "../../src/mirror/mirror.ts";
import type { FolderSourceConfig } from "../../src/sources/folder/folder-source-codec.ts";
import { makeDocx, paragraph } from "../extract/make-docx.ts";
import { ofKind } from "../kinds.ts";
import { openTestLedgers } from "../ledger/open-test-ledgers.ts";

const crawler = await mkdtemp(join(tmpdir(), "lockstep-keep-"));
const ledgers = openTestLedgers(crawler);
after(async () => {
  await ledgers.close();
  await rm(crawler, { recursive: true, force: true });
});

const D = parseDomainId("D");
let count = 0;

/** The folder of a source as the download step leaves it, and the process step on it. */
class Source {
  readonly config: FolderSourceConfig = {
    ...ofKind("folder_sources"),
    sourceId: parseSourceId(`s${++count}`),
    root: "/nowhere",
    include: [],
    exclude: [],
    gitignore: false,
    hidden: false,
    maxFileBytes: 1e9,
    limits: DEFAULT_LIMITS,
  };
  readonly mirror = new Mirror(crawler, `D/05_folders/${this.config.sourceId}`);
  readonly base = new KnowledgeBase(this.mirror.folder);
  readonly touched = new Map<ItemId, "added" | "changed">();
  revision = createExtractor().revision;
  now = new Date("2026-03-01T00:00:00Z");
  readonly extracted: string[] = [];

  /** The file is at this path now, says this, and was downloaded. */
  async has(
    docId: string,
    path: string,
    text: string | Uint8Array,
    wishes: Partial<ManifestEntry> = {},
  ): Promise<void> {
    const id = docId as ItemId;
    const contentHash = createHash("sha256").update(text).digest("hex");
    const file = this.mirror.embeddedFile(path);
    await mkdir(dirname(this.mirror.absolute(file)), { recursive: true });
    await writeFile(this.mirror.absolute(file), text);
    const ledger = await this.ledger(false);
    const before = await ledger.get(id);
    const fingerprint = { size: 1, modifiedAt: "2026-01-01T00:00:00.000000Z", etag: "", contentVersion: "" };
    const place = { listItemId: 0, name: path, serverPath: path, file };
    const mirrored = { ...place, fingerprint, downloadedAt: "", sourceError: "", processingError: "" };
    ledger.put(id, { mirrored: { ...mirrored, observed: { size: 1, mtimeMs: 1, sha256: contentHash } } });
    this.touched.set(id, before ? "changed" : "added");
    const known = (await ledger.manifest.find([id])).get(id);
    const entry: ManifestEntry = {
      ...{ path, docId: id, contentHash, size: 1, modifiedAt: fingerprint.modifiedAt, stamp: "", node: "" },
      ...{ status: "active", lastSeenAt: "", retryCount: 0, error: "", missingSinceAt: "", missingRuns: 0 },
      ...{ deletedAt: "", versions: known?.versions ?? [], lineage: [] },
    };
    ledger.manifest.put({ ...entry, ...wishes });
    await ledger.close();
  }

  async keep(wishes: Partial<CrawlRequest> & { readonly dryRun?: boolean } = {}): Promise<{
    readonly counts: Partial<StepCounts>;
    readonly problems: readonly string[];
    readonly itemProblem: string;
    readonly log: string;
  }> {
    const { dryRun = false, ...request } = wishes;
    const lines: string[] = [];
    const extractor = createExtractor();
    const ledger = await this.ledger(dryRun);
    const plan = SqlPlan.temporary();
    for (const [itemId, change] of this.touched) plan.add({ step: "download", itemId, change, reason: "" });
    const job = {
      jobId: "jb_1" as JobId,
      dryRun,
      signal: new AbortController().signal,
      log: (line: string) => lines.push(line),
      checkpoint: async () => undefined,
    };
    const run = { domainId: D, config: this.config };
    const step = { run, request: crawlRequest(D, request), ledger, mirror: this.mirror, job };
    const { counts, problems, itemProblem } = await extractTexts(
      step,
      { plan },
      {
        acceptedTypes: new Set(["md", "txt", "docx", "png"]),
        extractor: {
          ...extractor,
          revision: this.revision,
          extract: (path, fileType, signal, sha256) => {
            this.extracted.push(path.slice(this.mirror.folder.length + 1));
            return extractor.extract(path, fileType, signal, sha256);
          },
        },
        retention: { graceRuns: 1, graceMs: 1, deletedMs: 1, versions: 2, versionMs: 90 * 86_400_000 },
        now: () => this.now,
        openKnowledge: () => new KnowledgeBase(this.mirror.folder, { dryRun }),
      },
    );
    await ledger.close();
    this.touched.clear();
    const told = Object.entries(counts).filter(([, each]) => each > 0);
    return { counts: Object.fromEntries(told), problems, itemProblem, log: lines.join("\n") };
  }

  async entry(docId: string): Promise<ManifestEntry> {
    const { manifest } = await this.ledger(true);
    return (await manifest.find([docId as ItemId])).get(docId as ItemId) ?? assert.fail(`the manifest has no ${docId}`);
  }

  async versions(docId: string): Promise<string[]> {
    return (await this.entry(docId)).versions.map(({ versionId }) => versionId);
  }

  text(docId: string, versionId?: string): Promise<string | undefined> {
    return this.base.read(docId as ItemId, versionId).then((kept) => kept?.markdown);
  }

  ledger(readOnly: boolean): Promise<Ledger> {
    return ledgers.open({ domainId: D, config: this.config }, { readOnly });
  }
}

test("a new file has its text, an edited one its earlier text too, and the manifest says which", async () => {
  const source = new Source();
  await source.has("doc_a", "notes/a.md", "# Alpha\n\nfirst words");
  await source.has("doc_b", "b.txt", "only words");
  await source.has("doc_c", "picture.png", "no words");
  assert.deepEqual((await source.keep()).counts, { added: 2 });
  assert.equal(await source.text("doc_a"), "# Alpha\n\nfirst words");
  assert.equal((await source.base.current("doc_a" as ItemId))?.title, "Alpha");
  await source.has("doc_a", "notes/a.md", "# Alpha\n\nsecond words");
  assert.deepEqual((await source.keep()).counts, { changed: 1 });
  assert.equal(await source.text("doc_a"), "# Alpha\n\nsecond words");
  assert.equal(await source.text("doc_a", "v1"), "# Alpha\n\nfirst words");
  const { versions, contentHash } = await source.entry("doc_a");
  assert.deepEqual(
    versions.map(({ versionId, at }) => `${versionId} ${at}`),
    ["v1 2026-03-01T00:00:00.000000Z", "v2 2026-03-01T00:00:00.000000Z"],
  );
  assert.equal(versions.at(-1)?.hash, contentHash);
  for (const n of [3, 4, 5]) {
    await source.has("doc_a", "notes/a.md", `words ${n}`);
    await source.keep();
  }
  assert.deepEqual(await source.versions("doc_a"), ["v3", "v4", "v5"], "as many earlier ones as the rules let stay");
  assert.equal(await source.text("doc_a", "v2"), undefined);
});

test("nothing to do makes no text; another revision makes all texts anew, in place", async () => {
  const source = new Source();
  for (const id of ["doc_a", "doc_b"]) await source.has(id, `${id}.md`, id);
  await source.keep();
  const extracted = source.extracted.length;
  assert.deepEqual((await source.keep()).counts, {});
  assert.equal(source.extracted.length, extracted);
  assert.deepEqual((await source.keep({ mode: "full" })).counts, {}, "a full crawl looks, and finds them made");
  assert.equal(source.extracted.length, extracted);
  source.revision = "another";
  assert.deepEqual((await source.keep()).counts, { changed: 2 });
  assert.deepEqual(await source.versions("doc_a"), ["v1"]);
  assert.equal((await source.base.current("doc_b" as ItemId))?.extractor, "another");
  await rm(join(source.mirror.folder, "knowledge_base"), { recursive: true });
  assert.deepEqual((await source.keep()).counts, { added: 2 }, "what somebody took away is made again");
});

test("a file that only moved keeps its text, and its metadata say where it is; a changed ending makes the text anew", async () => {
  const source = new Source();
  await source.has("doc_a", "a.md", "# Alpha");
  await source.keep();
  await source.has("doc_a", "archive/b.md", "# Alpha");
  assert.deepEqual((await source.keep()).counts, { moved: 1 });
  const kept = await source.base.current("doc_a" as ItemId);
  assert.deepEqual([kept?.path, kept?.versionId, source.extracted.length], ["archive/b.md", "v1", 1]);
  await source.has("doc_a", "archive/b.txt", "# Alpha");
  await source.keep();
  assert.equal(source.extracted.at(-1), "02_embedded/archive/b.txt");
  assert.deepEqual(await source.versions("doc_a"), ["v1"]);
});

test("a file that cannot be read any more has no text, is not tried again and again, and comes back", async () => {
  const source = new Source();
  await source.has("doc_a", "a.docx", makeDocx({ body: paragraph("Words of a letter") }));
  await source.has("doc_b", "b.md", "words");
  await source.keep();
  const before = await source.text("doc_a");
  await source.has("doc_a", "a.docx", "no document at all");
  await source.has("doc_b", "b.md", "other words");
  const { counts, itemProblem, log } = await source.keep();
  assert.deepEqual(counts, { changed: 1, failed: 1 });
  assert.match(itemProblem, /^1 file could not be read as a document/);
  assert.match(log, /ERROR: read 'a.docx': /);
  assert.equal(await source.text("doc_a"), undefined);
  assert.equal(await source.text("doc_a", "v1"), before);
  assert.match((await source.base.current("doc_a" as ItemId))?.error ?? "", /./);
  assert.deepEqual((await source.keep()).counts, {});
  assert.deepEqual((await source.keep({ retryFailed: true })).counts, { failed: 1 });
  await source.has("doc_a", "a.docx", makeDocx({ body: paragraph("Words of a letter") }));
  assert.deepEqual((await source.keep()).counts, { changed: 1 });
  assert.deepEqual(await source.versions("doc_a"), ["v1", "v3"]);
});

test("what is not there as it was seen waits, and stops nobody", async () => {
  const source = new Source();
  await source.has("doc_a", "a.md", "as seen", { contentHash: "0".repeat(64) });
  await source.has("doc_b", "b.md", "whole");
  await source.has("doc_c", "c.md", "touched later");
  await source.has("doc_d", "d.md", "gone from the mirror");
  await writeFile(join(source.mirror.folder, "02_embedded/c.md"), "by somebody");
  await rename(join(source.mirror.folder, "02_embedded/d.md"), join(source.mirror.folder, "02_embedded/e.md"));
  const { counts, problems } = await source.keep();
  assert.deepEqual(counts, { added: 1, skipped: 1, failed: 2 });
  assert.deepEqual(problems, ["2 texts could not be kept; the next run tries again"]);
  assert.equal(await source.text("doc_b"), "whole");
  await writeFile(join(source.mirror.folder, "02_embedded/c.md"), "touched later");
  await rename(join(source.mirror.folder, "02_embedded/e.md"), join(source.mirror.folder, "02_embedded/d.md"));
  assert.deepEqual((await source.keep()).counts, { added: 2, skipped: 1 });
});

test("killed after a text was kept and before the manifest said so: it is not made twice", async () => {
  const source = new Source();
  await source.has("doc_a", "a.md", "first");
  await source.keep();
  const noted = await source.entry("doc_a");
  await source.has("doc_a", "a.md", "second");
  await source.keep();
  const ledger = await source.ledger(false);
  ledger.manifest.put({ ...(await source.entry("doc_a")), versions: noted.versions });
  await ledger.close();
  const made = source.extracted.length;
  assert.deepEqual((await source.keep()).counts, { unchanged: 1 });
  assert.deepEqual([await source.versions("doc_a"), source.extracted.length], [["v1", "v2"], made]);
});

test("a dry run tells, and leaves nothing", async () => {
  const source = new Source();
  await source.has("doc_a", "a.md", "first");
  await source.keep();
  await source.has("doc_a", "a.md", "second");
  await source.has("doc_b", "b.md", "other");
  await source.has("doc_c", "c.png", "picture");
  const before = (await readdir(source.mirror.folder, { recursive: true })).sort();
  const { counts, log } = await source.keep({ dryRun: true });
  assert.deepEqual(counts, { added: 1, changed: 1 });
  assert.match(log, /Texts to be kept: 1 added, 1 changed\./);
  assert.deepEqual((await readdir(source.mirror.folder, { recursive: true })).sort(), before);
  assert.equal(await source.text("doc_a"), "first");
});

test("a dry run tells of texts that are to be made again, and of files that only move", async () => {
  const source = new Source();
  for (const id of ["doc_a", "doc_b", "doc_c"]) await source.has(id, `${id}.md`, id);
  await source.keep();
  await source.has("doc_b", "elsewhere.md", "doc_b");
  source.revision = "another";
  const { counts } = await source.keep({ dryRun: true });
  assert.deepEqual(counts, { changed: 3 });
  assert.deepEqual((await source.keep()).counts, counts);
  await source.has("doc_b", "back.md", "doc_b");
  assert.deepEqual((await source.keep({ dryRun: true })).counts, { moved: 1 });
});

test("a full crawl makes a text again that is damaged or gone, and no other", async () => {
  const source = new Source();
  for (const id of ["doc_a", "doc_b", "doc_c"]) await source.has(id, `${id}.md`, `# ${id}`);
  await source.keep();
  const documents = join(source.mirror.folder, "knowledge_base/documents");
  await writeFile(join(documents, "doc_a/content.md"), "tampered");
  await rm(join(documents, "doc_b/content.md"));
  assert.deepEqual((await source.keep({ mode: "full", dryRun: true })).counts, { changed: 2 });
  assert.deepEqual((await source.keep({ mode: "full" })).counts, { changed: 2 });
  assert.deepEqual([await source.text("doc_a"), await source.text("doc_b")], ["# doc_a", "# doc_b"]);
  assert.deepEqual(await source.versions("doc_a"), ["v1"]);
});

test("the embed step takes a text that is of these bytes, this type and this revision, and no other", async () => {
  const source = new Source();
  await source.has("doc_a", "a.md", "# Alpha\n\nwords");
  await source.keep();
  const { contentHash: sha256 } = await source.entry("doc_a");
  const label = { name: "a.md", path: "a.md", url: "", fileType: "md", modifiedAt: "", attributes: {} };
  const file = { itemId: "doc_a" as ItemId, path: "/gone", sha256, bytes: 1, label };
  const run = { domainId: D, config: source.config };
  const ask = (wishes: Partial<typeof file>, revision = source.revision) =>
    withStoredText({ ...file, ...wishes }, run, source.mirror).cachedText?.(revision);
  assert.equal((await ask({}))?.markdown, "# Alpha\n\nwords");
  assert.equal((await ask({}))?.title, "Alpha");
  assert.equal(await ask({}, "another"), undefined);
  assert.equal(await ask({ sha256: "0".repeat(64) }), undefined);
  assert.equal(await ask({ label: { ...label, fileType: "txt" } }), undefined);
  await writeFile(join(source.mirror.folder, "knowledge_base/documents/doc_a/content.md"), "edited by hand");
  assert.equal(await ask({}), undefined);
});
