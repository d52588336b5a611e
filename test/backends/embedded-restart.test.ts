// Processing and uploads go on after a kill, and large uploads need little memory.
import assert from "node:assert/strict";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, test } from "node:test";
import { BadRequestError, toFile } from "openai";
import { clientOf, upload } from "./embedded-fixture.ts";
import { beginForm, type EmbeddedProcess, sendForm, startEmbeddedProcess } from "./embedded-process.ts";

const MB = 1024 * 1024;

describe("the embedded backend, killed and measured", () => {
  let folder: string;
  let running: EmbeddedProcess;
  const start = async (): Promise<EmbeddedProcess> => {
    running = await startEmbeddedProcess(join(folder, "index"));
    return running;
  };
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "embedded-restart-"));
  });
  afterEach(async () => {
    await running.kill();
    await rm(folder, { recursive: true, force: true });
  });

  test("what was being processed is taken up again by the next process", async () => {
    const first = clientOf(await start());
    const store = await first.vectorStores.create({ name: "kept" });
    const names = Array.from({ length: 12 }, (_, i) => `f${i}.md`);
    const ids = await Promise.all(names.map((name, i) => upload(first, name, `The zyzzomat number${i} hums.`)));
    const batch = await first.vectorStores.fileBatches.create(store.id, { file_ids: ids });
    await running.kill();
    const second = clientOf(await start());
    const done = await second.vectorStores.fileBatches.poll(store.id, batch.id);
    assert.deepEqual([done.status, done.file_counts.completed, done.file_counts.total], ["completed", 12, 12]);
    const { data } = await second.vectorStores.search(store.id, { query: "zyzzomat hums", max_num_results: 50 });
    assert.deepEqual(data.map(({ filename }) => filename).sort(), names.sort());
    assert.deepEqual((await second.vectorStores.retrieve(store.id)).file_counts, done.file_counts);
  });

  test("an upload in parts goes on after a kill; what was half sent is not there", async () => {
    const first = clientOf(await start());
    const upload = await first.uploads.create({
      filename: "a.md",
      purpose: "assistants",
      mime_type: "text/plain",
      bytes: 6,
    });
    const abc = await first.uploads.parts.create(upload.id, { data: await toFile(Buffer.from("abc"), "data") });
    const half = [
      beginForm(`${running.url}/v1/uploads/${upload.id}/parts`, "data"),
      beginForm(`${running.url}/v1/files`, "file"),
    ];
    while ((await readdir(join(folder, "index", "uploads", upload.id))).length < 2) await first.files.list();
    await running.kill();
    await Promise.all(half.map(({ broken }) => broken));
    const second = clientOf(await start());
    assert.deepEqual((await second.files.list()).data, []);
    const early = second.uploads.complete(upload.id, { part_ids: [abc.id] });
    await assert.rejects(early, BadRequestError);
    const def = await second.uploads.parts.create(upload.id, { data: await toFile(Buffer.from("def"), "data") });
    const { file } = await second.uploads.complete(upload.id, { part_ids: [abc.id, def.id] });
    assert.equal(await (await second.files.content(file?.id ?? "")).text(), "abcdef");
    assert.deepEqual(await readdir(join(folder, "index", "uploads")), []);
  });

  test("large uploads pass through without filling the memory", async () => {
    const { url } = await start();
    const client = clientOf(running);
    const fields = { purpose: "assistants" };
    await sendForm(`${url}/v1/files`, { field: "file", bytes: MB, fields });
    const before = await running.mostMemory();
    for (let i = 0; i < 2; i++) await sendForm(`${url}/v1/files`, { field: "file", bytes: 64 * MB, fields });
    const grown = (await running.mostMemory()) - before;
    assert.ok(grown < 100 * MB, `128 MB of uploads took ${Math.round(grown / MB)} MB`);
    assert.deepEqual(
      (await client.files.list()).data.map(({ bytes }) => bytes / MB),
      [64, 64, 1],
    );
  });

  test("a part that is too large, or that nobody waits for, is refused and leaves nothing", async () => {
    const { url } = await start();
    const client = clientOf(running);
    const wanted = { filename: "a", purpose: "assistants", mime_type: "text/plain", bytes: 100 * MB } as const;
    const upload = await client.uploads.create(wanted);
    const tooLarge = await sendForm(`${url}/v1/uploads/${upload.id}/parts`, { field: "data", bytes: 64 * MB + 1 });
    assert.match(tooLarge, /File is too large/);
    assert.deepEqual(await readdir(join(folder, "index", "uploads", upload.id)), []);
    const nobody = await sendForm(`${url}/v1/uploads/upload_nope/parts`, { field: "data", bytes: 10 * MB });
    assert.match(nobody, /No upload found/);
  });
});
