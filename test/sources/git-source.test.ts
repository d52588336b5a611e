// Documents of a repository keep their identity through commits, renames and force-pushes.
import assert from "node:assert/strict";
import { rename, rm } from "node:fs/promises";
import { afterEach, beforeEach, describe, test } from "node:test";
import type { FileTree } from "../../src/contracts/file-tree.ts";
import { GitWorld, WITHOUT_GIT } from "./git-world.ts";
import { type Heard, pathsOf, TreeWorld, type Wishes } from "./tree-world.ts";

const LONG = Array.from({ length: 60 }, (_, i) => `Otters swim in river number ${i}.`).join("\n");

describe("a repository as a source", { skip: WITHOUT_GIT }, () => {
  let repository: GitWorld;
  let world: TreeWorld;
  let reads: string[];
  beforeEach(async () => {
    repository = await GitWorld.open();
    world = await TreeWorld.open();
  });
  afterEach(async () => {
    await world.close();
    await repository.close();
  });

  function look(config: Parameters<GitWorld["tree"]>[0] = {}, wishes: Wishes = {}): Promise<Heard> {
    const tree = repository.tree(config);
    reads = [];
    const watched: FileTree = {
      ...tree,
      read(path, signal, stamp) {
        reads.push(path);
        return tree.read(path, signal, stamp);
      },
    };
    return world.look({ ...wishes, tools: { tree: watched, storedText: async () => LONG, ...wishes.tools } });
  }

  test("a file that was not touched is neither read nor dated anew, however many commits there are", async () => {
    await repository.publish({ "a.md": "One", "b.md": "Two" });
    await look();
    const before = await world.entryAt("a.md");
    assert.equal(before.modifiedAt, "2026-01-01T00:00:00.000000Z");
    await repository.publish({ "b.md": "Two, edited" });
    const heard = await look();
    assert.deepEqual([heard.by, pathsOf(heard), reads], ["feed", ["b.md"], ["b.md"]]);
    assert.deepEqual(await world.entryAt("a.md"), before);
    assert.equal((await world.entryAt("b.md")).modifiedAt, "2026-01-02T00:00:00.000000Z");
    await look({}, { tools: { checksum: true } });
    assert.equal((await world.entryAt("a.md")).modifiedAt, before.modifiedAt);
  });

  test("renamed, renamed and edited: the same documents", async () => {
    await repository.publish({ "a.md": "One", "b.md": LONG });
    await look();
    const [a, b] = [await world.entryAt("a.md"), await world.entryAt("b.md")];
    await repository.move("a.md", "docs/moved.md");
    await repository.move("b.md", "docs/edited.md");
    await repository.publish({ "docs/edited.md": `${LONG}\nAnd in lakes.` });
    await look();
    const moved = await world.entryAt("docs/moved.md");
    assert.deepEqual([moved.docId, moved.contentHash], [a.docId, a.contentHash]);
    assert.equal((await world.entryAt("docs/edited.md")).docId, b.docId);
  });

  test("a force-push and another branch keep the documents that both have", async () => {
    await repository.publish({ "a.md": "One", "b.md": "Two" });
    await look();
    const a = await world.entryAt("a.md");
    await repository.inWork("checkout", "--quiet", "--orphan", "fresh");
    await repository.remove("b.md");
    await repository.push();
    await repository.inWork("push", "--quiet", "--force", "origin", "fresh:main");
    const heard = await look();
    assert.equal(heard.gone.length, 1);
    await repository.publish({ "c.md": "Three" });
    await look({ branch: "fresh" });
    assert.deepEqual(await world.entryAt("a.md"), a);
    assert.deepEqual((await world.entries()).map(({ path, status }) => `${path} ${status}`).sort(), [
      "a.md active",
      "b.md missing",
      "c.md active",
    ]);
  });

  test("a repository or branch that is gone takes nothing with it", async () => {
    await repository.publish({ "a.md": "One" });
    await look();
    const before = await world.entries();
    await assert.rejects(look({ branch: "gone" }), /has no branch 'gone'/);
    await rename(repository.bare, `${repository.bare}.away`);
    await assert.rejects(look(), /it is not there/);
    assert.deepEqual(await world.entries(), before);
    await rename(`${repository.bare}.away`, repository.bare);
    assert.deepEqual(pathsOf(await look({}, { listing: true })), ["a.md"]);
  });

  test("a document whose place a pointer of LFS took is gone; an object lost at the server changes nothing", async () => {
    await repository.publish({ "a.md": "One", "b.md": "Two" });
    await look();
    const pointer = `version https://git-lfs.github.com/spec/v1\noid sha256:${"a".repeat(64)}\nsize 12345\n`;
    await repository.publish({ "a.md": pointer });
    assert.equal((await look()).gone.length, 1);
    assert.match(world.lines.join("\n"), /Left out 'a\.md': It is a pointer of Git LFS/);
    await repository.publish({ "c.md": "Three" });
    const id = (await repository.inWork("rev-parse", "HEAD:c.md")).trim();
    await rm(`${repository.bare}/objects/${id.slice(0, 2)}/${id.slice(2)}`);
    const before = await world.entries();
    await assert.rejects(look(), /Cannot read the repository/);
    assert.deepEqual(await world.entries(), before);
  });
});
