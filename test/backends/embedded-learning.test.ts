// A store filled over the wire alone trains its vectors, too.
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { setImmediate as nextRound } from "node:timers/promises";
import type { VectorStoreId } from "../../src/contracts/ids.ts";
import { createLearntModel, LEARNT_MODEL } from "../../src/index/embedding/learnt-model.ts";
import { openSqliteStores } from "../../src/index/sqlite/open-sqlite-stores.ts";
import { clientOf, openBackend, upload } from "./embedded-fixture.ts";
import { serveWire } from "./embedded-serve.ts";

test("a store that is filled over the wire alone learns its vectors too", async (t) => {
  const folder = await mkdtemp(join(tmpdir(), "embedded-learning-"));
  const provider = openSqliteStores(join(folder, "index"), { model: createLearntModel() });
  const backend = await openBackend(provider, join(folder, "index"));
  const served = await serveWire(backend.wire);
  t.after(async () => {
    await served.close();
    await backend.close();
    await rm(folder, { recursive: true, force: true });
  });
  const client = clientOf(served);
  const store = await client.vectorStores.create({});
  const { db } = await provider.open(store.id as VectorStoreId);
  const activeModel = async (): Promise<string | undefined> =>
    (await db.get<{ model: string }>("SELECT model FROM spaces WHERE active = 1"))?.model;
  const topics = ["hotel night price", "train class ticket", "invoice payment bank", "holiday leave days"];
  const sections = Array.from(
    { length: 160 },
    (_, i) => `## Part ${i}\n\n${`${topics[i % 4]} number ${i}. `.repeat(12)}`,
  );
  const id = await upload(client, "a.md", sections.join("\n\n"));
  const fine = { type: "static", static: { max_chunk_size_tokens: 100, chunk_overlap_tokens: 0 } } as const;
  await client.vectorStores.files.createAndPoll(store.id, { file_id: id, chunking_strategy: fine });
  while ((await activeModel()) !== LEARNT_MODEL) await nextRound();
  const { data } = await client.vectorStores.search(store.id, { query: "ticket for the train" });
  assert.match(data[0]?.content[0]?.text ?? "", /train class ticket/);
});
