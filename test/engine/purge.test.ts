// A file that stays away is hidden, kept through its grace period, and then purged everywhere.
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, describe, test } from "node:test";
import type { ItemId } from "../../src/contracts/ids.ts";
import { DOCS, FOLDERS, FolderStage } from "./folder-stage.ts";

const WHALE = "The whaleword swims.";

describe("a file that stays away", () => {
  let stage: FolderStage;
  beforeEach(async () => {
    stage = await FolderStage.open();
    await stage.write("a.md", "The aword stands.");
    await stage.write("b.md", "The bword stands.");
    await stage.write("whale.md", WHALE);
    await stage.crawl();
  });
  afterEach(() => stage.close());

  const statusOf = async (docId: ItemId): Promise<string> =>
    (await stage.manifest()).find((entry) => entry.docId === docId)?.status ?? "none";
  /** Rows of the vector store that still say something of the document. */
  const traces = async (docId: ItemId): Promise<Record<string, number>> => {
    const { vectorStoreId } = await stage.app.domains.get(FOLDERS);
    const db = new DatabaseSync(join(stage.storage, "index", `${vectorStoreId}.sqlite`), { readOnly: true });
    const count = (sql: string): number => Number(db.prepare(`SELECT count(*) AS n FROM ${sql}`).get()?.["n"]);
    try {
      return {
        documents: count(`documents WHERE item_id = '${docId}'`),
        kept: count(`kept_documents WHERE item_id = '${docId}'`),
        chunks: count("chunks WHERE text LIKE '%whaleword%'"),
        sections: count("sections WHERE content LIKE '%whaleword%'"),
        orphanVectors: count("vectors WHERE chunk_id NOT IN (SELECT id FROM chunks)"),
        orphanTexts: count("chunks_text") - count("chunks"),
      };
    } finally {
      db.close();
    }
  };
  const GONE = { documents: 0, kept: 0, chunks: 0, sections: 0, orphanVectors: 0, orphanTexts: 0 };

  test("is hidden at once, kept through its grace and while a generation shows it, and then leaves the index", async () => {
    const { docId } = await stage.document("whale.md");
    await stage.remove("whale.md");
    await stage.crawl();
    assert.deepEqual(await stage.found("whaleword"), []);
    assert.equal(await statusOf(docId), "missing");
    assert.equal((await stage.kept(docId))?.text.includes("whaleword"), true);

    for (const hours of [1, 1]) {
      stage.later(hours);
      await stage.crawl();
    }
    assert.equal(await statusOf(docId), "missing", "three looks, but not a day yet");
    stage.later(23);
    const { log } = await stage.crawl();
    assert.match(log, /1 document that has been missing for too long waits until no kept generation shows it\./);
    assert.equal(await statusOf(docId), "missing");
    const [hit] = await stage.index((index) => index.search({ text: "whaleword", limit: 5, generation: 1 }));
    assert.match(hit?.text ?? "", /whaleword/, "kept means kept");
    await stage.expireGenerations();
    const entry = (await stage.manifest()).find((one) => one.docId === docId);
    assert.deepEqual([entry?.status, entry?.versions.length], ["deleted", 1]);
    assert.match((await stage.kept(docId))?.text ?? "", /whaleword/, "versions stay as long as the entry");
    assert.deepEqual(await traces(docId), GONE);
    assert.deepEqual(await stage.found("aword"), ["a.md"]);

    await stage.write("elsewhere.md", WHALE);
    await stage.crawl();
    assert.equal((await stage.document("elsewhere.md")).docId, docId, "its identity was remembered");
    assert.deepEqual(await stage.found("whaleword"), ["elsewhere.md"]);
  });

  test("a day without looks is not enough, and neither are looks that saw it", async () => {
    const { docId } = await stage.document("whale.md");
    await stage.remove("whale.md");
    await stage.crawl();
    stage.later(48);
    await stage.crawl();
    assert.equal(await statusOf(docId), "missing");
    await stage.write("whale.md", WHALE);
    await stage.crawl();
    await stage.crawl();
    assert.equal(await statusOf(docId), "active");
    assert.deepEqual(await stage.found("whaleword"), ["whale.md"]);
  });

  test("nothing is purged that the index still shows, also without any grace", async () => {
    await stage.close();
    stage = await FolderStage.open({ settings: { MISSING_GRACE_RUNS: "0", MISSING_GRACE_HOURS: "0" } });
    await stage.write("a.md", "The aword stands.");
    await stage.write("whale.md", WHALE);
    await stage.write("second/b.md", "The bword stands.");
    const domain = await stage.app.domains.get(FOLDERS);
    const second = { ...stage.config, sourceId: "second" as typeof DOCS, root: stage.at("second") };
    await stage.app.domains.update({ ...domain, sources: [...domain.sources, second] }, domain);
    await stage.crawl();
    const { docId } = await stage.document("whale.md");
    await stage.remove("whale.md");
    await stage.crawl();
    assert.deepEqual(await stage.found("whaleword"), []);
    assert.deepEqual([await statusOf(docId), (await traces(docId)).kept], ["missing", 1]);
    await stage.crawl();
    assert.equal(await statusOf(docId), "missing", "the first generation shows it");
    await stage.expireGenerations();
    assert.equal(await statusOf(docId), "deleted");
    assert.deepEqual(await traces(docId), GONE);
  });

  test("a source that is taken out of its domain takes along all that may return, and stays in the generations that had it", async () => {
    const { docId } = await stage.document("whale.md");
    await stage.remove("whale.md");
    await stage.crawl();
    assert.equal((await traces(docId)).kept, 1);
    const domain = await stage.app.domains.get(FOLDERS);
    await stage.app.domains.update({ ...domain, sources: [] }, domain);
    await stage.crawl();
    assert.ok(!existsSync(stage.folder));
    assert.equal((await traces(docId)).kept, 0);
    assert.deepEqual(await stage.index(async (index) => (await index.count()).bySource?.get(DOCS) ?? 0), 0);
    await stage.app.rollback(FOLDERS, 1, { dryRun: false });
    assert.deepEqual([await stage.found("aword"), await stage.found("whaleword")], [["a.md"], ["whale.md"]]);
    await stage.app.release(FOLDERS, { dryRun: false });
    assert.deepEqual([await stage.found("aword"), await stage.found("whaleword")], [[], []]);
    assert.equal((await traces(docId)).kept, 0);
    assert.ok(!existsSync(stage.folder));
  });

  test("a domain that is deleted while its store stays leaves what a kept generation shows, and retains nothing for a return", async () => {
    const { docId } = await stage.document("whale.md");
    const { vectorStoreId } = await stage.app.domains.get(FOLDERS);
    await stage.remove("whale.md");
    await stage.crawl();
    await (await stage.app.planDeletion(FOLDERS, { withVectorStore: false })).apply(() => undefined);
    const db = new DatabaseSync(join(stage.storage, "index", `${vectorStoreId}.sqlite`), { readOnly: true });
    const ofDocuments = db.prepare("SELECT item_id, died FROM documents").all();
    const retained = db.prepare("SELECT item_id FROM kept_documents").all();
    db.close();
    assert.deepEqual([ofDocuments.length, retained], [3, []]);
    assert.notEqual(ofDocuments.find(({ item_id }) => item_id === docId)?.["died"], null);
  });
});
