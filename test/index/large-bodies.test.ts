// A large document is written in slices and becomes visible as a whole.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { test } from "node:test";
import { createExtractor } from "../../src/extract/extractor.ts";
import { noteLooseBodies } from "../../src/index/bodies.ts";
import { DEFAULT_CHUNKING } from "../../src/index/chunk-sections.ts";
import { createNgramEmbedder } from "../../src/index/embedding/ngram-embedder.ts";
import { dropLooseBodies } from "../../src/index/retention.ts";
import { writeLocked } from "../../src/index/store-state.ts";
import { withBody } from "../../src/index/write-body.ts";
import { apply, found, type IndexFixture, indexFixture, LIBRARY, never, openStores, STORE } from "./index-fixture.ts";
import { largeText } from "./large-text.ts";

const CHUNKS = "SELECT count(*) AS n FROM chunks";
const LARGE = 1700;
const SLICE = 500;
/** Rows whose key is not that of any content. */
const PARTIAL = "SELECT count(*) AS n FROM bodies WHERE length(sha256) <> 64";

/** What is on disk at each embedding, as another connection sees it. */
async function watchedFixture(seen: number[]): Promise<IndexFixture & { fail: boolean }> {
  const ngrams = createNgramEmbedder();
  const state = { fail: false };
  const at: IndexFixture = await indexFixture({
    embedder: {
      ...ngrams,
      async embed(texts, signal) {
        const other = openStores(at.indexFolder);
        seen.push(Number((await (await other.open(STORE)).db.get<{ n: number }>(CHUNKS))?.n));
        await other.close();
        if (state.fail && seen.length === 3) throw new Error("embed texts: the service is away");
        return ngrams.embed(texts, signal);
      },
    },
  });
  return Object.assign(state, at);
}

test("a large document is written in slices, and seen as a whole when it is committed", async (t) => {
  const seen: number[] = [];
  const at = await watchedFixture(seen);
  t.after(() => at.close());
  const draft = await at.index.draft(LIBRARY);
  await apply(draft, { large: largeText(LARGE), small: "The smallword stands." }, at.makeFile);
  const { failed, ready } = await draft.commit(never);
  assert.deepEqual(failed, []);
  assert.equal(ready.length, 2);
  assert.deepEqual(seen.slice(0, 4), [0, SLICE, 2 * SLICE, 3 * SLICE]);
  assert.equal(await at.count(CHUNKS), LARGE + 1);
  assert.equal(await at.count("SELECT count(*) AS n FROM sections"), LARGE + 2);
  assert.equal(await at.count("SELECT count(*) AS n FROM vectors"), LARGE + 1);
  assert.equal(await at.count(PARTIAL), 0);
  assert.ok((await found(at.index, "largeword")).includes("large.md"));
  assert.deepEqual(await found(at.index, "smallword"), ["small.md"]);

  await at.commit({ copy: largeText(LARGE) });
  assert.equal(await at.count(CHUNKS), LARGE + 1, "the same content under another name shares it");
});

test("when a slice of a large document cannot be embedded, only that document fails, and nothing of it stays", async (t) => {
  const seen: number[] = [];
  const at = await watchedFixture(seen);
  t.after(() => at.close());
  at.fail = true;
  const draft = await at.index.draft(LIBRARY);
  await apply(draft, { large: largeText(LARGE), small: "The smallword stands." }, at.makeFile);
  const { failed } = await draft.commit(never);
  assert.deepEqual(
    failed.map(({ itemId, reason, permanent }) => ({ itemId, reason, permanent })),
    [{ itemId: "large", reason: "embed texts: the service is away", permanent: false }],
  );
  assert.deepEqual(await found(at.index, "smallword"), ["small.md"]);
  assert.equal(await at.count(PARTIAL), 0);
  assert.equal(await at.count(CHUNKS), 1);
});

test("what a killed process wrote of a large document is never found, and goes when it has not grown for long", async (t) => {
  const at = await indexFixture();
  t.after(() => at.close());
  await at.commit({ first: "The firstword stands." });
  const args = [join(import.meta.dirname, "large-child.ts"), at.indexFolder, at.folder];
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
  const ended = once(child, "exit");
  await once(child.stdout, "data");
  child.kill("SIGKILL");
  await ended;
  assert.equal(await at.count(CHUNKS), 1 + 2 * SLICE);
  assert.deepEqual(await found(at.index, "largeword"), []);

  await at.commit({ second: "The secondword stands." });
  assert.equal(await at.count(CHUNKS), 2 + 2 * SLICE, "another process may still be at it");
  await at.commit({ large: largeText(LARGE) });
  assert.equal(await at.count(CHUNKS), 2 + 2 * SLICE + LARGE);
  const { db } = await at.provider.open(STORE);
  await db.run("UPDATE bodies SET extractor = '1000' WHERE sha256 = 'unfinished'");
  await at.commit({ third: "The thirdword stands." });
  assert.equal(await at.count(CHUNKS), 3 + LARGE);
  assert.equal(await at.count(PARTIAL), 0);
  assert.ok((await found(at.index, "largeword")).includes("large.md"));
});

test("a large file attached over the wire is written in slices, and goes in slices", async (t) => {
  const seen: number[] = [];
  const at = await watchedFixture(seen);
  t.after(() => at.close());
  const store = await at.provider.open(STORE);
  const { path, sha256 } = await at.makeFile("large", largeText(LARGE));
  const source = { path, sha256, fileType: "md", chunking: DEFAULT_CHUNKING };
  const ids: number[] = [];
  for (let times = 0; times < 2; times++) {
    await withBody(store, createExtractor(), source, never, async (_, { id }) => ids.push(id));
  }
  assert.deepEqual(seen, [0, SLICE, 2 * SLICE, 3 * SLICE]);
  assert.equal(ids[0], ids[1]);
  assert.equal(await at.count(CHUNKS), LARGE);

  await writeLocked(store.db, (sql) => noteLooseBodies(sql, ids));
  await dropLooseBodies(store, { budget: 1 });
  assert.equal(await at.count(CHUNKS), LARGE - 1000);
  // Half of it is no answer to somebody who brings the same content.
  await withBody(store, createExtractor(), source, never, async (_, { id }) => ids.push(id));
  assert.notEqual(ids[2], ids[0]);
  await dropLooseBodies(store, { budget: 10 });
  assert.equal(await at.count(CHUNKS), LARGE);
  assert.equal(await at.count("SELECT count(*) AS n FROM bodies"), 1);
});
