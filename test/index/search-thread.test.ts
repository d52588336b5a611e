// A store searched in another thread answers and fails as it would in this one.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdir, readlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { BadInputError, DamagedError, NotFoundError, RemoteError } from "../../src/contracts/errors.ts";
import { searchStore } from "../../src/index/search/search-store.ts";
import { answer, startEmbeddings } from "./embeddings-service.ts";
import { found, STORE } from "./index-fixture.ts";
import { type SearchThreadFixture, searchThreadFixture } from "./search-thread-fixture.ts";

const QUERY = { text: "otter", limit: 10 };

describe("a store that another thread searches", () => {
  let at: SearchThreadFixture;
  beforeEach(async () => {
    at = await searchThreadFixture();
  });
  afterEach(() => at.close());

  test("answers with what is committed by then, from one thread that is started when it is needed", async () => {
    await at.commit({ a: "The otter sleeps." });
    assert.equal(at.workers.length, 0, "writing needs none");
    assert.deepEqual(await found(at.index, "otter"), ["a.md"]);
    await at.commit({ a: null, b: "Another otter swims." });
    assert.deepEqual(await found(at.index, "otter"), ["b.md"]);
    await at.index.generations.rollback(1);
    assert.deepEqual(await found(at.index, "otter"), ["a.md"]);
    assert.equal(at.workers.length, 1);
  });

  test("fails as it would here: what was asked wrongly, what is damaged, each in its own words", async () => {
    await at.commit({ a: "The otter sleeps." });
    await assert.rejects(at.index.search({ ...QUERY, generation: 7 }), (error) => {
      assert.ok(error instanceof BadInputError);
      assert.equal(error.message, "generation 7 is not kept; kept are 1");
      return true;
    });
    const { db } = await at.provider.open(STORE);
    await db.run("DROP TABLE chunks_text");
    await assert.rejects(at.index.search(QUERY), /no such fts5 table: main.chunks_text/);
  });

  test("one whose file is damaged says what to do", async () => {
    await at.commit({ a: "The otter sleeps." });
    const store = await at.provider.open(STORE);
    await store.db.close();
    await writeFile(join(at.indexFolder, `${STORE}.sqlite`), "This is no database.".repeat(1000));
    await assert.rejects(searchStore(store, QUERY), (error) => {
      assert.ok(error instanceof DamagedError && error instanceof RemoteError);
      assert.match(error.problem, /'vs_test' is damaged: file is not a database/);
      assert.match(error.remedy, /^Stop lockstep, delete index\/vs_test.sqlite/);
      return true;
    });
  });

  test("one that was deleted meanwhile is not found, and not made again", async () => {
    await at.commit({ a: "The otter sleeps." });
    const store = await at.provider.open(STORE);
    await searchStore(store, QUERY);
    const asked = Promise.allSettled([searchStore(store, QUERY), searchStore(store, QUERY)]);
    await at.provider.drop(STORE);
    for (const outcome of await asked) {
      if (outcome.status === "rejected") assert.ok(outcome.reason instanceof NotFoundError, String(outcome.reason));
      else assert.equal(outcome.value[0]?.name, "a.md");
    }
    await assert.rejects(searchStore(store, QUERY), NotFoundError);
    assert.deepEqual(await readdir(at.indexFolder), []);
    assert.deepEqual(await openFiles(at.indexFolder), [], "the disk has its space back");
  });

  test("when the thread dies, those who wait are told, and the next one to ask has another", async () => {
    await at.commit({ a: "The otter sleeps." });
    await at.index.search(QUERY);
    const store = await at.provider.open(STORE);
    const waiting = Promise.allSettled(Array.from({ length: 20 }, () => searchStore(store, QUERY)));
    await at.workers[0]?.terminate();
    const refused = (await waiting).flatMap((outcome) => (outcome.status === "rejected" ? [outcome.reason] : []));
    assert.ok(refused.length > 0);
    for (const error of refused) {
      assert.ok(error instanceof RemoteError);
      assert.match(error.message, /the thread that searches has ended\. Ask again/);
    }
    assert.deepEqual(await found(at.index, "otter"), ["a.md"]);
    assert.equal(at.workers.length, 2);
  });

  test("after the provider was closed nothing is searched, and no thread is left", async () => {
    await at.commit({ a: "The otter sleeps." });
    const store = await at.provider.open(STORE);
    await searchStore(store, QUERY);
    await at.provider.close();
    assert.equal(at.workers[0]?.threadId, -1);
    await assert.rejects(searchStore(store, QUERY), /the index is closed/);
    assert.equal(at.workers.length, 1);
  });
});

test("beyond so many that wait, the next one is refused, and those who wait are answered", async () => {
  const at = await searchThreadFixture({ maxWaiting: 2 });
  try {
    await at.commit({ a: "The otter sleeps." });
    const store = await at.provider.open(STORE);
    const outcomes = await Promise.allSettled([1, 2, 3].map(() => searchStore(store, QUERY)));
    assert.deepEqual(
      outcomes.map((outcome) => (outcome.status === "fulfilled" ? outcome.value.length : String(outcome.reason))),
      [1, 1, "RemoteError: 2 searches are waiting for their answer already. Ask again in a few seconds."],
    );
    assert.equal((await searchStore(store, QUERY)).length, 1, "there is room again");
  } finally {
    await at.close();
  }
});

test("questions are embedded by the endpoint of the settings, and what whoever asked should know comes back", async () => {
  let down = false;
  const service = await startEmbeddings((_asked, _n, response) => (down ? answer(response, 401, "no") : undefined));
  const model = {
    kind: "endpoint",
    baseUrl: service.baseUrl,
    apiKey: "k-123",
    model: "m",
    apiVersion: "",
    dimensions: 3,
  } as const;
  const at = await searchThreadFixture({ model });
  try {
    await at.commit({ a: "The otter sleeps." });
    const notes: string[] = [];
    const tell = (note: string): unknown => notes.push(note);
    await at.index.search({ ...QUERY, tell });
    assert.deepEqual(service.asked.at(-1)?.body.input, ["otter"]);
    assert.equal(service.asked.at(-1)?.headers.authorization, "Bearer k-123");
    assert.deepEqual(notes, []);
    down = true;
    await assert.rejects(at.index.search({ ...QUERY, using: "vectors" }), (error) => {
      assert.ok(error instanceof RemoteError && error.cause instanceof RemoteError);
      assert.match(error.message, /the question could not be embedded/);
      assert.doesNotMatch(`${error.stack} ${error.cause.stack}`, /k-123/);
      return true;
    });
    assert.equal((await at.index.search({ ...QUERY, tell })).length, 1);
    assert.match(notes.join(), /could not be embedded, so only its words were searched for/);
  } finally {
    await at.close();
    await service.close();
  }
});

test("a process that has nothing else to do ends, whether or not it closed its threads", async () => {
  const at = await searchThreadFixture();
  try {
    await at.commit({ a: "The otter sleeps." });
    const script = fileURLToPath(new URL("./search-thread-child.ts", import.meta.url));
    const child = spawn(process.execPath, [script, at.indexFolder], { stdio: ["ignore", "pipe", "inherit"] });
    let output = "";
    child.stdout.on("data", (bytes: Buffer) => {
      output += bytes.toString();
    });
    const [code] = await once(child, "close");
    assert.deepEqual([code, output], [0, "a.md\n"]);
  } finally {
    await at.close();
  }
});

/** What this process has open below the folder, deleted or not; other systems than Linux do not tell. */
async function openFiles(folder: string): Promise<string[]> {
  if (process.platform !== "linux") return [];
  const links = await Promise.all(
    (await readdir("/proc/self/fd")).map((fd) => readlink(`/proc/self/fd/${fd}`).catch(() => "")),
  );
  return links.filter((link) => link.startsWith(folder));
}
