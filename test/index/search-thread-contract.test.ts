import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createFixedModel } from "../../src/index/embed/vector-model.ts";
import { openSqliteHouse } from "../../src/index/sqlite/open-sqlite-house.ts";
import { createSearchThreads } from "../../src/index/threads/search-threads.ts";
import { filterSuite } from "../contracts/filter-suite.ts";
import { generationsSuite } from "../contracts/generations-suite.ts";
import { indexSuite } from "../contracts/index-suite.ts";
import { searchSuite } from "../contracts/search-suite.ts";
import { defaultParts, type OwnStoreUnderTest, type Parts, storeInHouse } from "../contracts/store-under-test.ts";
import { STORE } from "./index-fixture.ts";

/** As the product has it: written here, searched by another thread. */
async function open(parts: Parts = defaultParts()): Promise<OwnStoreUnderTest> {
  const folder = await mkdtemp(join(tmpdir(), "search-thread-"));
  const inside = join(folder, "index");
  const threads = createSearchThreads({ folder: inside, model: { kind: "built-in" } });
  const house = openSqliteHouse(inside, { model: createFixedModel(parts.embedder), threads });
  return storeInHouse(house, STORE, parts, async () => {
    await house.close();
    await rm(folder, { recursive: true, force: true });
  });
}

searchSuite("SQLite, searched by another thread", () => open());
filterSuite("SQLite, searched by another thread", () => open());
indexSuite("the embedded index, searched by another thread", () => open());
generationsSuite("the embedded index, searched by another thread", open);
