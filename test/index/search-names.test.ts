// A search finds one document among many alike by its name.
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import type { VectorStoreId } from "../../src/contracts/ids.ts";
import { createFixedModel } from "../../src/index/embedding/vector-model.ts";
import { openSqliteStores } from "../../src/index/sqlite/open-sqlite-stores.ts";
import { type SearchFixture, searchFixture } from "../contracts/search-fixture.ts";
import { defaultParts, storeInHouse } from "../contracts/store-under-test.ts";

const INVOICES = 150;

/** Texts that all say the same, and names that tell them apart. */
describe("a document among many alike", () => {
  let folder = "";
  let at: SearchFixture;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), "names-"));
    const parts = defaultParts();
    const provider = openSqliteStores(folder, { model: createFixedModel(parts.embedder) });
    at = await searchFixture(async () =>
      storeInHouse(provider, "vs_1" as VectorStoreId, parts, () => provider.close()),
    );
    const items: Record<string, string> = {};
    for (let i = 0; i < INVOICES; i++) {
      const number = String(i).padStart(4, "0");
      items[`INV-2026-${number}`] = `Invoice for Miller. We delivered ${i % 7} pumps; pay ${i * 3} euros soon.`;
      items[`part${number.slice(1)}`] = `Sheet number ${i}: material steel, tolerance ${i % 9}.`;
    }
    await at.commit({ ...items, maths: "The number 3.14159 is in System32." });
  });
  after(async () => {
    await at.close();
    await rm(folder, { recursive: true, force: true });
  });

  for (const [question, wanted] of [
    ["INV-2026-0123", "INV-2026-0123"],
    ["INV-2026-0123.md", "INV-2026-0123"],
    ["invoice INV-2026-0123", "INV-2026-0123"],
    ["INV-2026-0123 euros pay", "INV-2026-0123"],
    ['"INV-2026-0123" invoice', "INV-2026-0123"],
    ["part017 material", "part017"],
    ["System32", "maths"],
    ["3.14159", "maths"],
  ] as const) {
    test(`'${question}' finds ${wanted} first, and clearly`, async () => {
      const hits = await at.search(question);
      assert.equal(hits[0]?.name, `${wanted}.md`);
      assert.ok((hits[0]?.score ?? 0) > 0.5, `score ${hits[0]?.score}`);
      assert.ok((hits[1]?.score ?? 0) < (hits[0]?.score ?? 0), `${hits[1]?.name} is as good: ${hits[1]?.score}`);
    });
  }
});
