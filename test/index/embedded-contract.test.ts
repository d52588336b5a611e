// The embedded index keeps the contract of a search index, in SQLite.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { forceSuite } from "../contracts/force-suite.ts";
import { generationsSuite } from "../contracts/generations-suite.ts";
import { indexSuite } from "../contracts/index-suite.ts";
import { keptSuite } from "../contracts/kept-suite.ts";
import { ownerSuite } from "../contracts/owner-suite.ts";
import { previewSuite } from "../contracts/preview-suite.ts";
import { defaultParts, type OwnStoreUnderTest, type Parts, storeInHouse } from "../contracts/store-under-test.ts";
import { openStores, STORE } from "./index-fixture.ts";

async function open(parts: Parts): Promise<OwnStoreUnderTest> {
  const folder = await mkdtemp(join(tmpdir(), "contract-"));
  const provider = openStores(join(folder, "index"), parts.embedder);
  return storeInHouse(provider, STORE, parts, async () => {
    await provider.close();
    await rm(folder, { recursive: true, force: true });
  });
}

indexSuite("the embedded index", () => open(defaultParts()));
generationsSuite("the embedded index", open);
keptSuite("the embedded index", open);
ownerSuite("the embedded index", () => open(defaultParts()));
forceSuite("the embedded index", open);
previewSuite("the embedded index", open);
