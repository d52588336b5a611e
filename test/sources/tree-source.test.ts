// A tree becomes a source: files without ids get identities that last.
import assert from "node:assert/strict";
import { cp, link, mkdir, rename, rm, stat, symlink, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import type { FileTree } from "../../src/contracts/file-tree.ts";
import type { Fetched, ItemRef } from "../../src/contracts/source.ts";
import { pathsOf, TreeWorld } from "./tree-world.ts";

let world: TreeWorld;
beforeEach(async () => {
  world = await TreeWorld.open();
});
afterEach(() => world.close());

async function textOf(fetched: Fetched): Promise<string> {
  if (fetched.status !== "fetched") return fetched.status;
  const chunks: Uint8Array[] = [];
  for await (const chunk of fetched.body) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

describe("what is not changed", () => {
  beforeEach(async () => {
    await world.write("a.md", "alpha");
    await world.write("b/b.md", "beta");
    await world.write("b/film.mp4", "never read");
    await world.look();
  });

  it("is read once, is nothing new to the feed, and writes nothing", async () => {
    const before = await world.footprint();
    const again = await world.look();
    assert.deepEqual([again.by, again.sightings, again.gone, world.reads], ["feed", [], [], []]);
    assert.deepEqual(await world.footprint(), before);
    const listed = await world.look({ listing: true });
    assert.deepEqual([listed.by, pathsOf(listed), world.reads], ["listing", ["a.md", "b/b.md"], []]);
    assert.deepEqual(world.lines, ["Left out 1 file of types that are not accepted: mp4 1."]);
    assert.deepEqual((await world.entries()).map(({ path }) => path).sort(), ["a.md", "b/b.md"]);
  });

  it("is still there after a look that was not complete, also in a folder that seemed to be", async () => {
    const tree = world.openTree();
    const walk: FileTree["walk"] = async function* (signal) {
      for await (const page of tree.walk(signal)) if (page.folder === "b") yield { ...page, files: [] };
      return "partial";
    };
    const heard = await world.look({ listing: true, tools: { tree: { ...tree, walk } } });
    assert.deepEqual([heard.completeness, pathsOf(heard)], ["partial", ["a.md", "b/b.md"]]);
    assert.deepEqual(new Set((await world.entries()).map(({ status }) => status)), new Set(["active"]));
  });

  it("was seen, which is noted once an hour", async () => {
    for (const [minutes, seenAt] of [
      [30, "2026-01-01T00:00:00.000Z"],
      [61, "2026-01-01T01:01:00.000Z"],
      [90, "2026-01-01T01:01:00.000Z"],
    ] as const) {
      world.now = new Date(Date.parse("2026-01-01T00:00:00.000Z") + minutes * 60_000);
      assert.equal((await world.look()).by, "feed");
      assert.equal((await world.entryAt("a.md")).lastSeenAt, seenAt);
    }
  });

  it("is told of as it was listed, and fetched as the manifest knows it", async () => {
    const { sightings } = await world.look({ listing: true });
    const source = world.openSource();
    const changes = await source.feed?.since(world.mark, async () => true, new AbortController().signal);
    for (const { contentHash: _, ...sighting } of sightings) assert.deepEqual(changes?.recall(sighting), sighting);
    // Of a version that never arrived, the ledger remembers the hash of the one before.
    const [one = assert.fail()] = sightings;
    const stale = { ...one, fingerprint: { ...one.fingerprint, contentVersion: "another" } };
    assert.equal(await textOf(await source.fetch(stale, new AbortController().signal)), "alpha");
    await source.close?.();
  });
});

describe("what is changed", () => {
  it("is followed: edited, touched, moved, copied, gone, back", async () => {
    for (const name of ["edit", "touch", "move", "copy", "gone"]) await world.write(`f/${name}.md`, `text of ${name}`);
    const first = await world.look();
    const idOf = new Map(first.sightings.map(({ path, itemId }) => [path, itemId]));
    const later = new Date("2025-01-01T00:00:00.000Z");
    await world.write("f/edit.md", "edited", later);
    await utimes(join(world.root, "f/touch.md"), later, later);
    await world.move("f/move.md", "g/moved.md");
    await world.write("f/twin.md", "text of copy");
    await world.remove("f/gone.md");
    const second = await world.look();
    assert.deepEqual(pathsOf(second), ["f/edit.md", "f/touch.md", "f/twin.md", "g/moved.md"]);
    assert.deepEqual(second.gone, [idOf.get("f/gone.md")]);
    assert.deepEqual(world.reads.sort(), ["f/edit.md", "f/touch.md", "f/twin.md", "g/moved.md"]);
    const events = new Map(
      (await world.entries()).map(({ path, docId, status, lineage }) => [path, { docId, status, lineage }]),
    );
    const told = (path: string): unknown => [events.get(path)?.docId, events.get(path)?.lineage.at(-1)?.event];
    assert.deepEqual(told("f/edit.md"), [idOf.get("f/edit.md"), "edited"]);
    assert.deepEqual(told("f/touch.md"), [idOf.get("f/touch.md"), "found"]);
    assert.deepEqual(told("g/moved.md"), [idOf.get("f/move.md"), "moved"]);
    assert.equal(events.get("f/twin.md")?.lineage.at(-1)?.event, "copied");
    assert.equal(events.get("f/gone.md")?.status, "missing");
    await world.write("h/back.md", "text of gone");
    const third = await world.look();
    assert.deepEqual([pathsOf(third), third.sightings[0]?.itemId], [["h/back.md"], idOf.get("f/gone.md")]);
    assert.equal((await world.entryAt("h/back.md")).status, "active");
  });

  it("is one document when it was renamed and edited, by its text", async () => {
    const words = Array.from({ length: 80 }, (_, i) => `word${i}`);
    await world.write("old/plan.md", words.join(" "));
    const { sightings } = await world.look();
    await world.remove("old/plan.md");
    await world.write("new/plan of 2026.md", [...words.slice(0, 70), "quite", "another", "end"].join(" "));
    const { sightings: after } = await world.look({ tools: { storedText: async () => words.join(" ") } });
    assert.deepEqual(
      after.map(({ itemId }) => itemId),
      sightings.map(({ itemId }) => itemId),
    );
    const event = (await world.entryAt("new/plan of 2026.md")).lineage.at(-1);
    assert.deepEqual([event?.event, event?.from], ["moved-and-edited", "old/plan.md"]);
    assert.ok(event && event.certainty >= 0.5 && event.certainty < 1);
  });

  it("is read again while it is so young that its time says nothing, and is no news then", async (t) => {
    await world.write("a.md", "alpha", new Date());
    await world.look();
    assert.equal((await world.entryAt("a.md")).stamp, "");
    // Within one step of the clock, and as long as before.
    const { mtime } = await stat(join(world.root, "a.md"));
    await writeFile(join(world.root, "a.md"), "omega");
    await utimes(join(world.root, "a.md"), mtime, mtime);
    const edited = await world.look();
    assert.deepEqual([edited.by, pathsOf(edited)], ["feed", ["a.md"]]);
    t.mock.timers.enable({ apis: ["Date"], now: Date.now() + 10_000 });
    for (const reads of [["a.md"], []]) {
      const again = await world.look();
      assert.deepEqual([again.by, pathsOf(again), world.reads], ["feed", [], reads]);
    }
  });

  it("without another size, time or inode is found by reading everything", async () => {
    await world.write("a.md", "alpha");
    await world.look();
    await world.write("a.md", "omega");
    assert.deepEqual(pathsOf(await world.look()), []);
    const all = await world.look({ tools: { checksum: true } });
    assert.deepEqual([all.by, pathsOf(all)], ["listing", ["a.md"]]);
    assert.equal((await world.entryAt("a.md")).lineage.at(-1)?.event, "edited");
  });

  it("in a folder that a hint names is found, and what is elsewhere waits", async () => {
    for (const path of ["a/1.md", "a/gone/2.md", "a/gone/deep/3.md", "b/4.md"]) await world.write(path, path);
    await world.look();
    await world.remove("a/gone");
    await world.write("a/new/deep/5.md", "five");
    await world.write("b/6.md", "six");
    const part = await world.look({ tools: { onlyFolders: new Set(["a"]) } });
    assert.deepEqual([part.by, pathsOf(part), part.gone.length], ["feed", ["a/new/deep/5.md"], 2]);
    await world.look({ tools: { onlyFolders: new Set(["a"]) } });
    assert.equal((await world.entryAt("a/gone/2.md")).missingRuns, 1, "only looks at everything count");
    const rest = await world.look();
    assert.deepEqual([rest.by, pathsOf(rest)], ["feed", ["b/6.md"]]);
    assert.equal((await world.entryAt("a/gone/2.md")).missingRuns, 2);
    // A known folder that is not there, and nothing about the one it was in: everything is looked at.
    await world.remove("b");
    const doubt = await world.look({ tools: { onlyFolders: new Set(["b"]) } });
    assert.equal(doubt.gone.length, 2);
  });
});

describe("where inodes change at every mount", () => {
  const config = { ignoreInodes: true };
  /** As a share gives them that was mounted anew: copies with the same times, under other inodes. */
  const remount = async (): Promise<void> => {
    const before = `${world.root}-before`;
    await rename(world.root, before);
    await cp(before, world.root, { recursive: true, preserveTimestamps: true });
    await rm(before, { recursive: true });
  };

  it("nothing is read again, and what was replaced without another size and time is found in turn", async () => {
    for (const name of ["a", "b", "c"]) await world.write(`deep/${name}.md`, `text of ${name}`);
    await world.look({ config });
    await remount();
    await world.look({ config });
    assert.ok(world.reads.length <= 1, "at most what has its turn");
    await world.write("deep/b.md", "text of B");
    const isFound = async () => (await world.entryAt("deep/b.md")).lineage.at(-1)?.event === "edited";
    let [runs, reads] = [0, 0];
    for (; runs < 100 && !(await isFound()); runs++) {
      await world.look({ config });
      reads += new Set(world.reads).size;
    }
    assert.ok(await isFound(), "every file has its turn within a hundred runs");
    assert.ok(reads <= 3, `one after the other, not all in every run: ${reads} in ${runs}`);
  });

  it("looks at some folders take no turn from the others", async () => {
    const names = ["a", "b", "c", "d"];
    for (const name of names) await world.write(`deep/${name}.md`, `text of ${name}`);
    await world.write("watched/x.md", "x");
    await world.look({ config });
    for (const name of names) await world.write(`deep/${name}.md`, `TEXT of ${name}`);
    for (let runs = 0; runs < 100; runs++) {
      await world.look({ config });
      await world.look({ config, tools: { onlyFolders: new Set(["watched"]) } });
    }
    const entries = (await world.entries()).filter(({ path }) => path.startsWith("deep/"));
    assert.deepEqual(
      entries.map(({ lineage }) => lineage.at(-1)?.event),
      names.map(() => "edited"),
    );
  });
});

describe("who is who", () => {
  it("is told of a file that was moved out of a folder where nobody looked, and of a hard link", async () => {
    for (const path of ["x/a.md", "x/k.md", "y/b.md"]) await world.write(path, `text of ${path}`);
    await world.look();
    const { docId } = await world.entryAt("x/a.md");
    await world.move("x/a.md", "y/a.md");
    await link(join(world.root, "x/k.md"), join(world.root, "y/k.md"));
    const seenAt = world.now.toISOString();
    world.now = new Date(world.now.getTime() + 7_200_000);
    const heard = await world.look({ tools: { onlyFolders: new Set(["y"]) } });
    assert.deepEqual([heard.by, pathsOf(heard), heard.gone], ["feed", ["y/a.md", "y/k.md"], []]);
    assert.equal((await world.entryAt("y/a.md")).docId, docId);
    assert.equal((await world.entryAt("y/k.md")).lineage.at(-1)?.event, "copied");
    assert.equal((await world.entryAt("x/k.md")).lastSeenAt, seenAt, "nobody looked there");
    const rest = await world.look({ tools: { onlyFolders: new Set(["x"]) } });
    assert.deepEqual([rest.by, rest.gone], ["feed", []]);
    assert.equal((await world.entryAt("y/a.md")).status, "active");
  });

  it("is told of a file that is back at its path, edited", async () => {
    const text = Array.from({ length: 60 }, (_, i) => `word${i}`).join(" ");
    for (const name of ["a", "b", "c"]) await world.write(`${name}.md`, `${name} ${text}`);
    await world.look();
    const { docId } = await world.entryAt("a.md");
    const other = await world.entryAt("b.md");
    await world.remove("a.md");
    await world.remove("b.md");
    await world.look();
    await world.write("a.md", `a ${text} and one line more`);
    await world.write("b.md", "something else altogether");
    const keptText = async (id: string): Promise<string> => `${id === docId ? "a" : "b"} ${text}`;
    await world.look({ tools: { storedText: keptText } });
    const back = await world.entryAt("a.md");
    assert.deepEqual([back.docId, back.status, back.lineage.at(-1)?.event], [docId, "active", "restored"]);
    assert.ok((back.lineage.at(-1)?.certainty ?? 1) < 1);
    const entries = await world.entries();
    assert.equal(entries.find((entry) => entry.docId === other.docId)?.status, "missing");
  });
});

describe("trouble", () => {
  it("with a file makes it an error, known or not, until it can be read again", async () => {
    await world.write("known.md", "known");
    const { sightings } = await world.look();
    await world.write("known.md", "edited, and locked");
    await world.write("new.md", "new, and locked");
    for (const [retryCount, code] of [
      [1, "EBUSY"],
      [2, "EPERM"],
    ] as const) {
      world.locked.set("known.md", code).set("new.md", code);
      const heard = await world.look();
      assert.deepEqual([heard.by, pathsOf(heard)], ["listing", []]);
      const [known, fresh] = heard.unreadable.toSorted((a, b) => (a.path < b.path ? -1 : 1));
      assert.deepEqual([known?.itemId, fresh?.path, fresh?.itemId], [sightings[0]?.itemId, "new.md", undefined]);
      const entry = await world.entryAt("known.md");
      assert.deepEqual([entry.status, entry.retryCount], ["error", retryCount]);
      assert.match(entry.error, /^another program has locked it/);
    }
    await world.write("known.md", "known");
    world.locked.clear();
    const healed = await world.look();
    assert.deepEqual(pathsOf(healed), ["known.md", "new.md"]);
    const { docId, status, retryCount } = await world.entryAt("known.md");
    assert.deepEqual([docId, status, retryCount], [sightings[0]?.itemId, "active", 0]);
  });

  it("with a file that was renamed: it keeps its place, and its document when it can be read", async () => {
    for (const name of ["a", "b", "c"]) await world.write(`${name}.md`, `text of ${name}`);
    await world.look();
    const { docId } = await world.entryAt("b.md");
    await world.move("b.md", "renamed.md");
    await world.remove("c.md");
    world.locked.set("renamed.md", "EBUSY");
    for (const retryCount of [1, 2]) {
      const heard = await world.look();
      assert.ok(heard.unreadable.some(({ itemId }) => itemId === docId));
      const entry = await world.entryAt("b.md");
      assert.deepEqual([entry.status, entry.retryCount], ["error", retryCount]);
      assert.equal((await world.entryAt("c.md")).status, "missing", "what is gone is gone");
    }
    world.locked.clear();
    assert.deepEqual(pathsOf(await world.look()), ["a.md", "renamed.md"]);
    assert.equal((await world.entryAt("renamed.md")).docId, docId);
  });

  it("with a share that is not mounted any more keeps what was on it, also where inodes tell nothing", async () => {
    const config = { ignoreInodes: true };
    for (const path of ["own.md", "share/a.md", "share/b.md"]) await world.write(path, path);
    world.mounted.set("share", "77");
    await world.look({ config });
    await world.remove("share/b.md");
    assert.equal((await world.look({ config })).gone.length, 1);
    await world.move("share", "../aside");
    await mkdir(join(world.root, "share"));
    world.mounted.clear();
    const heard = await world.look({ config });
    assert.deepEqual(
      heard.unreadable.map(({ path }) => path),
      ["share"],
    );
  });

  it("with a share that is not mounted any more: what was on it keeps its place", async () => {
    for (const path of ["own.md", "share/a.md", "share/deep/b.md", "share/deep/c.md"]) await world.write(path, path);
    for (const folder of ["share", "share/deep"]) world.mounted.set(folder, "77");
    await world.look();
    await world.remove("share/deep/c.md");
    assert.equal((await world.look()).gone.length, 1, "on a share that is mounted, a file may go");
    await world.move("share", "../aside");
    await mkdir(join(world.root, "share"));
    world.mounted.clear();
    const heard = await world.look();
    assert.deepEqual([heard.by, pathsOf(heard)], ["listing", ["own.md"]]);
    assert.deepEqual(
      heard.unreadable.map(({ path }) => path),
      ["share"],
    );
    assert.match(heard.unreadable[0]?.reason ?? "", /another file system was mounted here/);
    await world.remove("share");
    await world.move("../aside", "share");
    for (const folder of ["share", "share/deep"]) world.mounted.set(folder, "78");
    assert.deepEqual(pathsOf(await world.look()), ["own.md", "share/a.md", "share/deep/b.md"]);
    assert.deepEqual(world.reads, [], "another number is no other content");
    await world.remove("share/deep/b.md");
    assert.equal((await world.look()).gone.length, 1, "with its new number, too");
  });

  it("with a link, or with a file that is not wanted, is none", async () => {
    await world.write("a.md", "alpha");
    await symlink("loop.md", join(world.root, "loop.md"));
    await writeFile(Buffer.concat([Buffer.from(`${world.root}/caf`), Buffer.from([0xe9]), Buffer.from(".exe")]), "");
    const first = await world.look();
    assert.deepEqual([first.unreadable, pathsOf(first)], [[], ["a.md"]]);
    assert.equal((await world.look()).by, "feed");
    await world.remove("a.md");
    await symlink("a.md", join(world.root, "a.md"));
    const heard = await world.look();
    assert.deepEqual(
      heard.unreadable.map(({ path }) => path),
      ["a.md"],
    );
    assert.equal((await world.entryAt("a.md")).status, "error");
  });

  it("with the place, while it is looked at", async () => {
    await world.write("a.md", "alpha");
    await world.look();
    await world.remove("a.md");
    let asked = 0;
    const identity = async (): Promise<string> => `1:${asked++}`;
    const tree = { ...world.openTree(), identity };
    await assert.rejects(world.look({ tools: { tree }, listing: true }), /the folder was replaced during the scan/);
    assert.equal((await world.entryAt("a.md")).status, "active");
  });

  it("with a folder hides what is below, and nothing else", async () => {
    for (const path of ["shut/a.md", "shut/deep/b.md", "open/c.md"]) await world.write(path, path);
    await world.look();
    world.shut.add("shut");
    await world.remove("shut/a.md");
    await world.remove("open/c.md");
    for (const retryCount of [1, 2, 3]) {
      const heard = await world.look();
      assert.deepEqual([heard.by, heard.completeness, pathsOf(heard)], ["listing", "complete", []]);
      assert.deepEqual(
        heard.unreadable.map(({ path }) => path),
        ["shut"],
      );
      for (const path of ["shut/a.md", "shut/deep/b.md"]) {
        const entry = await world.entryAt(path);
        const expected = ["error", retryCount, "'shut' cannot be read: no right to read it"];
        assert.deepEqual([entry.status, entry.retryCount, entry.error], expected);
      }
      assert.equal((await world.entryAt("open/c.md")).status, "missing");
    }
    world.shut.clear();
    world.reads.length = 0;
    const after = await world.look();
    assert.deepEqual([pathsOf(after), world.reads], [["shut/deep/b.md"], []]);
    const { status, retryCount, error } = await world.entryAt("shut/deep/b.md");
    assert.deepEqual([status, retryCount, error], ["active", 0, ""]);
    assert.equal((await world.entryAt("shut/a.md")).status, "missing");
  });

  it("with the place: another folder without anything that is known is no reason to let anything go", async () => {
    await world.write("a.md", "alpha");
    await world.look();
    await rename(world.root, `${world.root}-aside`);
    await assert.rejects(world.look(), /not there/);
    await mkdir(world.root);
    await world.write("README.md", "not mounted");
    await assert.rejects(world.look(), /it is a different folder than last time, and has none of the 1 known file/);
    assert.equal((await world.entryAt("a.md")).status, "active");
    await world.write("a.md", "restored elsewhere");
    assert.deepEqual(pathsOf(await world.look()), ["README.md", "a.md"]);
    await rm(`${world.root}-aside`, { recursive: true });
  });

  it("halfway leaves what is known, and the next look goes on", async () => {
    for (let i = 0; i < 20; i++) await world.write(`${i}.md`, `text ${i}`);
    const stop = new AbortController();
    const stopping = { log: (): void => undefined, keptText: async () => undefined };
    const source = world.openSource(stopping);
    const listing = source.list(stop.signal);
    const first = listing.next();
    stop.abort(new Error("enough"));
    await assert.rejects(first, /enough/);
    await source.close?.();
    // Identities are written down before anybody hears of them: a run that is cut off afterwards has given them.
    const cut = await world.look({ cut: true });
    const again = await world.look();
    assert.deepEqual(
      again.sightings.map(({ path, itemId }) => [path, itemId]).sort(),
      cut.sightings.map(({ path, itemId }) => [path, itemId]).sort(),
    );
    await world.remove("1.md");
    await world.write("2.md", "another text");
    await world.look({ cut: true });
    assert.equal((await world.entryAt("1.md")).status, "active", "nothing is missing before it left");
    const rest = await world.look();
    assert.deepEqual([rest.by, rest.sightings.length], ["listing", 19]);
    assert.equal((await world.entryAt("1.md")).status, "missing");
    await world.write("3.md", "another text");
    await world.look({ forgotten: true });
    assert.equal((await world.look()).by, "listing", "what the engine did not hear of to its end, it hears again");
  });

  it("with what was found: it changes, or goes, before it is fetched", async () => {
    for (const name of ["a", "b", "c"]) await world.write(`${name}.md`, `text of ${name}`);
    const { sightings } = await world.look();
    const source = world.openSource();
    const fetch = async (path: string): Promise<string> => {
      const item = sightings.find((each) => each.path === path) as ItemRef;
      return await textOf(await source.fetch(item, new AbortController().signal));
    };
    assert.equal(await fetch("a.md"), "text of a");
    await world.write("a.md", "text of x");
    await assert.rejects(fetch("a.md"), /changed since it was listed/);
    await world.write("b.md", "longer than it was");
    await assert.rejects(fetch("b.md"), /changed since it was listed/);
    await world.remove("c.md");
    assert.equal(await fetch("c.md"), "gone");
    await source.close?.();
  });
});

it("what is held stays active, is not listed, and is there again when its file is", async () => {
  await world.write("a/1.md", "one");
  await world.write("2.md", "two");
  const { sightings } = await world.look();
  const held = sightings.map(({ itemId }) => itemId);
  await world.move("a", "../aside");
  await world.remove("2.md");
  const statuses = async (): Promise<string[]> => (await world.entries()).map(({ status }) => status);
  assert.equal((await world.look({ held })).gone.length, 2);
  for (let run = 0; run < 2; run++) {
    const heard = await world.look({ held });
    assert.deepEqual([heard.by, pathsOf(heard), await statuses()], ["listing", [], ["active", "active"]]);
  }
  await world.move("../aside", "a");
  const back = await world.look();
  assert.deepEqual([back.by, pathsOf(back)], ["listing", ["a/1.md"]]);
  assert.deepEqual((await statuses()).sort(), ["active", "missing"]);
});

it("a dry run says what a run would, and writes nothing", async () => {
  await world.write("a.md", "alpha");
  await world.write("b.md", "beta");
  const dryRun = true;
  assert.deepEqual(pathsOf(await world.look({ tools: { dryRun } })), ["a.md", "b.md"]);
  assert.deepEqual(await world.footprint(), []);
  const { sightings } = await world.look();
  const before = await world.footprint();
  await world.move("a.md", "moved.md");
  await world.remove("b.md");
  await world.write("c.md", "gamma");
  const dry = await world.look({ tools: { dryRun } });
  assert.deepEqual([pathsOf(dry), dry.gone.length], [["c.md", "moved.md"], 1]);
  const listed = await world.look({ tools: { dryRun }, listing: true });
  assert.deepEqual(pathsOf(listed), ["c.md", "moved.md"]);
  const moved = sightings.find(({ path }) => path === "a.md")?.itemId;
  assert.equal(listed.sightings.find(({ path }) => path === "moved.md")?.itemId, moved);
  assert.deepEqual(await world.footprint(), before);
});
