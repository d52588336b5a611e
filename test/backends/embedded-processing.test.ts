// Files are processed in the background a few at a time, and changes during processing take effect.
import assert from "node:assert/strict";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, describe, test } from "node:test";
import type OpenAI from "openai";
import type { EmbeddedBackend } from "../../src/backends/embedded/embedded-backend.ts";
import type { Extractor } from "../../src/contracts/document.ts";
import { createExtractor } from "../../src/extract/extractor.ts";
import { openStores } from "../index/index-fixture.ts";
import { clientOf, openBackend, upload } from "./embedded-fixture.ts";
import { type ServedWire, serveWire } from "./embedded-serve.ts";

describe("processing in the background", () => {
  let folder: string;
  let index: string;
  let gate: Gate;
  let backend: EmbeddedBackend;
  let served: ServedWire;
  let client: OpenAI;
  let store: string;

  const start = async (extractor: Extractor): Promise<void> => {
    backend = await openBackend(openStores(index), index, { extractor });
    served = await serveWire(backend.wire);
    client = clientOf(served);
  };
  const stop = async (): Promise<void> => {
    await served.close();
    await backend.close();
  };
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "embedded-processing-"));
    index = join(folder, "index");
    gate = createGate();
    await start(gate.extractor);
    store = (await client.vectorStores.create({})).id;
  });
  afterEach(async () => {
    gate.open();
    await stop();
    await rm(folder, { recursive: true, force: true });
  });

  const found = async (word: string): Promise<string[]> => {
    const { data } = await client.vectorStores.search(store, { query: word });
    return data.filter((hit) => hit.content[0]?.text.includes(word)).map((hit) => hit.filename);
  };
  const statusOf = async (id: string): Promise<string> =>
    (await client.vectorStores.files.retrieve(id, { vector_store_id: store })).status;
  /** Processed after everything that is under way. */
  const processAnother = async (): Promise<void> => {
    const id = await upload(client, "another.md", "Something else.");
    await client.vectorStores.files.createAndPoll(store, { file_id: id });
  };

  test("no more than a few files at once", async () => {
    const ids = await Promise.all(Array.from({ length: 9 }, (_, i) => upload(client, `f${i}.md`, `Text ${i}.`)));
    const batch = await client.vectorStores.fileBatches.create(store, { file_ids: ids });
    await gate.waiting(4);
    gate.open();
    const done = await client.vectorStores.fileBatches.poll(store, batch.id);
    assert.equal(done.file_counts.completed, 9);
    assert.equal(gate.most(), 4);
  });

  test("cancelled while its text is being read, it is not found", async () => {
    const id = await upload(client, "a.md", "The zyzzomat hums.");
    const batch = await client.vectorStores.fileBatches.create(store, { file_ids: [id] });
    await gate.waiting(1);
    await client.vectorStores.fileBatches.cancel(batch.id, { vector_store_id: store });
    gate.open();
    await processAnother();
    assert.equal(await statusOf(id), "cancelled");
    assert.deepEqual(await found("zyzzomat"), []);
  });

  test("detached and attached again while its text is being read, it is found once", async () => {
    const id = await upload(client, "a.md", "The zyzzomat hums.");
    await client.vectorStores.files.create(store, { file_id: id });
    await gate.waiting(1);
    await client.vectorStores.files.delete(id, { vector_store_id: store });
    await client.vectorStores.files.create(store, { file_id: id });
    gate.open();
    await client.vectorStores.files.poll(store, id);
    assert.deepEqual(await found("zyzzomat"), ["a.md"]);
    assert.equal((await client.vectorStores.retrieve(store)).file_counts.total, 1);
  });

  test("attached with another chunking while its text is being read, it is cut as asked last", async () => {
    const id = await upload(client, "a.md", "The zyzzomat hums along the road. ".repeat(100));
    await client.vectorStores.files.create(store, { file_id: id });
    await gate.waiting(1);
    const fine = { type: "static", static: { max_chunk_size_tokens: 100, chunk_overlap_tokens: 0 } } as const;
    await client.vectorStores.files.create(store, { file_id: id, chunking_strategy: fine });
    gate.open();
    const done = await client.vectorStores.files.poll(store, id);
    assert.deepEqual([done.status, done.chunking_strategy], ["completed", fine]);
    const { data } = await client.vectorStores.search(store, { query: "zyzzomat" });
    assert.ok((data[0]?.content[0]?.text.length ?? 0) < 1000);
  });

  test("a file in progress that nobody was told to process is processed when somebody looks", async () => {
    const id = await upload(client, "a.md", "The zyzzomat hums.");
    await client.vectorStores.files.create(store, { file_id: id });
    await gate.waiting(1);
    await stop();
    const catalog = new DatabaseSync(join(index, "catalog.sqlite"));
    catalog.exec("DELETE FROM attach_tasks");
    catalog.close();
    await start(createExtractor());
    assert.equal((await client.vectorStores.files.poll(store, id)).status, "completed");
  });

  test("a deletion that was cut short is completed by the next process, before anything is shown", async () => {
    gate.open();
    const id = await upload(client, "a.md", "The zyzzomat hums.");
    await client.vectorStores.files.createAndPoll(store, { file_id: id });
    await stop();
    const catalog = new DatabaseSync(join(index, "catalog.sqlite"));
    catalog.exec(`DELETE FROM files; INSERT INTO deleted_files VALUES ('${id}', unixepoch(), 0)`);
    catalog.close();
    await start(createExtractor());
    assert.deepEqual(await found("zyzzomat"), []);
    assert.deepEqual((await client.vectorStores.files.list(store)).data, []);
    assert.deepEqual(await readdir(join(index, "files")), []);
  });

  test("closed half-way, the work is handed back; begun too often, it has failed until it is attached anew", async () => {
    const id = await upload(client, "a.md", "The zyzzomat hums.");
    await client.vectorStores.files.create(store, { file_id: id });
    await gate.waiting(1);
    await stop();
    const catalog = new DatabaseSync(join(index, "catalog.sqlite"));
    const tasks = catalog.prepare("SELECT owner, interruptions FROM attach_tasks").all();
    assert.deepEqual(
      tasks.map((task) => ({ ...task })),
      [{ owner: "", interruptions: 0 }],
    );
    catalog.exec("UPDATE attach_tasks SET interruptions = 3");
    catalog.close();
    await start(createExtractor());
    const failed = await client.vectorStores.files.poll(store, id);
    assert.deepEqual([failed.status, failed.last_error?.code], ["failed", "server_error"]);
    assert.match(failed.last_error?.message ?? "", /interrupted/);
    const again = await client.vectorStores.files.createAndPoll(store, { file_id: id });
    assert.equal(again.status, "completed");
    assert.deepEqual(await found("zyzzomat"), ["a.md"]);
  });
});

/** An extractor that waits before it answers. */
interface Gate {
  readonly extractor: Extractor;
  open(): void;
  /** Until so many wait. */
  waiting(count: number): Promise<void>;
  /** The most that waited together. */
  most(): number;
}

function createGate(): Gate {
  const inner = createExtractor();
  const opened = Promise.withResolvers<void>();
  let now = 0;
  let most = 0;
  let noticed = (): void => undefined;
  return {
    extractor: {
      revision: inner.revision,
      types: inner.types,
      async extract(path, fileType, signal, sha256) {
        now++;
        most = Math.max(most, now);
        noticed();
        const aborted = new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
        await Promise.race([opened.promise, aborted]);
        now--;
        return inner.extract(path, fileType, signal, sha256);
      },
    },
    open: () => opened.resolve(),
    waiting: (count) =>
      new Promise((resolve) => {
        noticed = () => {
          if (now >= count) resolve();
        };
        noticed();
      }),
    most: () => most,
  };
}
