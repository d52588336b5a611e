// Many vector stores share few file descriptors, and deleting a file reaches all of them.
import assert from "node:assert/strict";
import { readdirSync, readlinkSync } from "node:fs";
import { afterEach, beforeEach, describe, test } from "node:test";
import { LIBRARY, never, OTHER } from "../index/index-fixture.ts";
import { type EmbeddedFixture, embeddedFixture, openIndex } from "./embedded-fixture.ts";

/** More than a backend keeps open. */
const MANY = 80;
/** Two connections with a database and a log each, and the memory they share. */
const DESCRIPTORS_PER_STORE = 5;

let at: EmbeddedFixture;
beforeEach(async () => {
  at = await embeddedFixture();
});
afterEach(() => at.close());

describe("many vector stores", () => {
  test("take a bounded number of file descriptors", { skip: noDescriptors() }, async () => {
    await makeStores(MANY);
    const listed = await at.client.vectorStores.list({ limit: 100 });
    assert.equal(listed.data.length, MANY + 1);
    assert.ok(descriptors().length <= 32 * DESCRIPTORS_PER_STORE, `${descriptors().length} are open`);
  });

  test("are not opened for a file that nobody knows", { skip: noDescriptors() }, async () => {
    await makeStores(MANY);
    await at.commit({ a: "# Alpha" });
    const before = openStores();
    assert.ok(before.size < MANY);
    const { wire } = await at.second();
    for (const method of ["GET", "DELETE"]) {
      assert.equal((await wire(new Request("http://backend/files/file-nobody", { method }))).status, 404);
    }
    assert.equal((await at.client.files.list()).data.length, 1, "the crawled one");
    assert.deepEqual(openStores(), before);
  });

  test("lose a file that is deleted, whichever of them hold it", async () => {
    const ids = await makeStores(40);
    const file = await at.upload("a.md", "# Albatross");
    for (const id of ids) await at.client.vectorStores.files.createAndPoll(id, { file_id: file });
    await at.client.files.delete(file);
    for (const id of ids) assert.equal((await at.client.vectorStores.files.list(id)).data.length, 0);
    assert.equal((await at.ask("GET", `/files/${file}`)).status, 404);
  });

  test("find a crawled file, and lose it when it is deleted", async () => {
    await makeStores(40);
    await at.commit({ a: "# Albatross" });
    const [file] = (await at.client.files.list()).data;
    assert.equal((await at.client.files.retrieve(file?.id ?? "")).filename, "a.md");
    await at.client.files.delete(file?.id ?? "");
    assert.deepEqual(await at.search(at.store, { query: "albatross" }), []);
  });

  test("leave a draft and a listing alone while the others are used", async () => {
    await at.commit({ b: "# Buzzard" }, OTHER);
    const draft = await at.index.draft(LIBRARY);
    await draft.put(await at.makeFile("a", "# Albatross"), never);
    const listing = at.index.holdings(OTHER)[Symbol.asyncIterator]();
    assert.equal((await listing.next()).value?.length, 1);
    await makeStores(40);
    assert.equal((await listing.next()).done, true);
    await draft.put(await at.makeFile("c", "# Cormorant"), never);
    await draft.commit(never, { allowEmpty: true });
    for (const bird of ["albatross", "buzzard", "cormorant"]) {
      assert.equal((await at.search(at.store, { query: bird })).length, 1, bird);
    }
  });

  test("answer all at once", async () => {
    const ids = await makeStores(40);
    const file = await at.upload("a.md", "# Albatross");
    for (const id of ids) await at.client.vectorStores.files.createAndPoll(id, { file_id: file });
    const rounds = [...ids, ...ids.toReversed(), ...ids];
    const found = await Promise.all(rounds.map((id) => at.search(id, { query: "albatross" })));
    assert.ok(found.every(([name]) => name === "a.md"));
  });

  test("are searched in another process's view, and not made anew when it deleted them", async () => {
    const other = await at.second();
    const { id } = await at.client.vectorStores.create({});
    const index = await openIndex(other, id as typeof at.store, undefined);
    assert.deepEqual(await index.search({ text: "albatross", limit: 1 }), []);
    await at.client.vectorStores.delete(id);
    await assert.rejects(index.search({ text: "albatross", limit: 1 }), /No vector store found/);
    assert.ok(!readdirSync(`${at.folder}/index`).some((name) => name.startsWith(id)));
  });
});

async function makeStores(count: number): Promise<string[]> {
  const ids: string[] = [];
  for (let i = 0; i < count; i++) ids.push((await at.client.vectorStores.create({ name: `store ${i}` })).id);
  return ids;
}

/** Paths of the files of stores that this process has open. */
function descriptors(): string[] {
  return readdirSync("/proc/self/fd").flatMap((fd) => {
    try {
      const path = readlinkSync(`/proc/self/fd/${fd}`);
      return path.startsWith(at.folder) && path.includes("/vs_") ? [path] : [];
    } catch {
      // The one that listed the folder is closed by now.
      return [];
    }
  });
}

function openStores(): Set<string> {
  return new Set(descriptors().filter((path) => path.endsWith(".sqlite")));
}

function noDescriptors(): string | false {
  return process.platform === "linux" ? false : "only Linux tells what is open";
}
