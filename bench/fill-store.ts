import { randomUUID } from "node:crypto";
import { insertBodies } from "../src/index/bodies.ts";
import { insertDocuments } from "../src/index/documents.ts";
import { activateGeneration, ensureDraft } from "../src/index/generations.ts";
import type { PreparedBody } from "../src/index/prepare-body.ts";
import type { Store } from "../src/index/store.ts";
import { writeLocked } from "../src/index/store-state.ts";
import { embedTogether } from "../src/index/write-body.ts";
import { bulkDocument } from "./bulk-document.ts";

/** Documents per transaction, as a draft writes them. */
const BATCH = 20;
const never = new AbortController().signal;

export interface Filling {
  readonly chunks: number;
  readonly chunksPerBody: number;
  /** The seed makes every body another. */
  bodyOf(seed: number): PreparedBody;
}

/** Analyse, embed and write, as the draft of a crawl does it. */
export async function fillStore(store: Store, { chunks, chunksPerBody, bodyOf }: Filling): Promise<void> {
  const generation = await writeLocked(store.db, (sql) =>
    ensureDraft(sql, { domainId: "BENCH", sourceId: "bulk", generationId: randomUUID(), crawl: "", createdAt: 1 }),
  );
  for (let done = 0; done < chunks; done += chunksPerBody * BATCH) {
    const bodies = Array.from({ length: BATCH }, (_, at) => bodyOf(done + at));
    const space = await store.spaces.active(store.db);
    const embedded = await embedTogether(space, bodies, never);
    await writeLocked(store.db, async (sql) => {
      const stored = await insertBodies(sql, store, embedded, space.id);
      await insertDocuments(
        sql,
        store,
        stored.map(({ id, title }, at) => bulkDocument(id, title, bodies[at]?.key.sha256 ?? "", generation)),
      );
    });
  }
  await writeLocked(store.db, (sql) => activateGeneration(sql, generation, 2));
}
