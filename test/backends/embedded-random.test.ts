// After random operations at the same time, lists, counts, search and disk agree.
import assert from "node:assert/strict";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { APIError } from "openai";
import type { VectorStoreFile } from "openai/resources/vector-stores/files";
import { Random } from "../stories/random.ts";
import { type EmbeddedFixture, embeddedFixture } from "./embedded-fixture.ts";

const ROUNDS = 3;
const AT_ONCE = 20;

test("whatever is done at the same time, lists, counts, search and disk agree afterwards", async (t) => {
  const seed = Number(process.env["SEED"] ?? Date.now() % 100_000);
  t.diagnostic(`SEED=${seed} plays it again`);
  const at = await embeddedFixture();
  t.after(() => at.close());
  const stores = [at.store, (await at.client.vectorStores.create({})).id];
  const world: World = { at, random: new Random(seed), stores, words: new Map() };
  for (let round = 0; round < ROUNDS; round++) {
    await Promise.all(Array.from({ length: AT_ONCE }, () => act(world).catch(refusedOnly)));
    await checkAgreement(world);
  }
});

interface World {
  readonly at: EmbeddedFixture;
  readonly random: Random;
  readonly stores: readonly string[];
  /** Of every file that was ever uploaded: the word that only it has. */
  readonly words: Map<string, string>;
}

async function act({ at, random, stores, words }: World): Promise<void> {
  const { files, fileBatches } = at.client.vectorStores;
  const store = random.pick(stores) ?? at.store;
  const known = [...words.keys()];
  const some = (): string => random.pick(known) ?? "file-none";
  const size = 100 + 100 * random.below(2);
  const chunking = { type: "static", static: { max_chunk_size_tokens: size, chunk_overlap_tokens: 0 } } as const;
  const actions = [
    async () => {
      const word = `word${random.below(1_000_000_000)}x`;
      words.set(await at.upload(random.chance(0.8) ? "a.md" : "a.xyz", `The ${word} hums in the garden.`), word);
    },
    () => files.create(store, { file_id: some(), attributes: { size } }),
    () => files.create(store, { file_id: some(), chunking_strategy: chunking }),
    () => fileBatches.create(store, { file_ids: [some(), some()] }),
    async () => {
      const batch = await fileBatches.create(store, { file_ids: [some()] });
      await fileBatches.cancel(batch.id, { vector_store_id: store });
    },
    () => files.delete(some(), { vector_store_id: store }),
    () => at.client.files.delete(some()),
  ];
  await random.pick([actions[0], actions[0], ...actions])?.();
}

/** Somebody else was faster with the same file: 404. Anything else is a fault of ours. */
function refusedOnly(error: unknown): void {
  if (!(error instanceof APIError) || error.status !== 404) throw error;
}

async function checkAgreement({ at, stores, words }: World): Promise<void> {
  const uploaded = new Set<string>();
  for await (const { id } of at.client.files.list()) uploaded.add(id);
  assert.deepEqual((await readdir(join(at.folder, "index", "files"))).sort(), [...uploaded].sort());
  for (const store of stores) {
    const rows = await settledFiles(at, store);
    const { file_counts } = await at.client.vectorStores.retrieve(store);
    assert.deepEqual([file_counts.total, file_counts.in_progress], [rows.length, 0]);
    const byId = new Map(rows.map((row) => [row.id, row]));
    assert.equal(byId.size, rows.length, "a file is listed once");
    assert.deepEqual(
      rows.filter(({ id }) => !uploaded.has(id)),
      [],
      "what was deleted is in no store",
    );
    for (const [id, word] of words) {
      const status = byId.get(id)?.status;
      const found = await at.search(store, { query: word });
      assert.equal(found.length > 0, status === "completed", `${id} is ${status} and found ${found.length} times`);
    }
  }
}

async function settledFiles({ client }: EmbeddedFixture, store: string): Promise<VectorStoreFile[]> {
  for (;;) {
    const rows: VectorStoreFile[] = [];
    for await (const row of client.vectorStores.files.list(store, { limit: 100 })) rows.push(row);
    if (rows.every(({ status }) => status !== "in_progress")) return rows;
  }
}
