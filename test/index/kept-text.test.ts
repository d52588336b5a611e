// A text that the process step kept is indexed without reading the file again.
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import type { DocumentFile, Index } from "../../src/contracts/search-index.ts";
import { defaultParts, type StoreUnderTest, storeInHouse } from "../contracts/store-under-test.ts";
import { DEMO, found, LIBRARY, never, openStores, STORE, writeDocument } from "./index-fixture.ts";

const parts = defaultParts();
const extracted: string[] = [];
const extractor = {
  ...parts.extractor,
  extract: (path: string, fileType: string, signal: AbortSignal, sha256?: string) => {
    extracted.push(path);
    return parts.extractor.extract(path, fileType, signal, sha256);
  },
};
let folder = "";
let under: StoreUnderTest;
let index: Index;

before(async () => {
  folder = await mkdtemp(join(tmpdir(), "kept-text-"));
  const provider = openStores(join(folder, "index"), parts.embedder);
  under = storeInHouse(provider, STORE, { ...parts, extractor }, () => provider.close());
  index = await under.openIndex(DEMO);
});
after(async () => {
  await under.close();
  await rm(folder, { recursive: true, force: true });
});

async function put(item: string, text: string, cachedText: NonNullable<DocumentFile["cachedText"]>): Promise<void> {
  const draft = await index.draft(LIBRARY);
  await draft.put({ ...(await writeDocument(folder, item, text)), cachedText }, never);
  const { failed } = await draft.commit(never);
  assert.deepEqual(failed, []);
}

test("a text that was kept is indexed as it is, and asked for by the revision of the extractor", async () => {
  const asked: string[] = [];
  await put("a", "The word of the file.", async (revision) => {
    asked.push(revision);
    return { title: "Kept", markdown: "The keptword stands.", language: "en" };
  });
  assert.deepEqual([asked, extracted], [[extractor.revision], []]);
  assert.deepEqual(await found(index, "keptword"), ["a.md"]);
  await put("b", "The word of the file.", async () => assert.fail("its body is there already"));
  assert.deepEqual(await found(index, "keptword"), ["a.md", "b.md"]);
});

test("without one, or when it cannot be read, the text is made from the file", async () => {
  await put("c", "The absentword stands.", async () => undefined);
  await put("d", "The brokenword stands.", async () => {
    throw new Error("the disk failed");
  });
  assert.deepEqual([await found(index, "absentword"), await found(index, "brokenword")], [["c.md"], ["d.md"]]);
  assert.equal(extracted.length, 2);
});
