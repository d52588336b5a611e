// Changes anywhere below a watched folder are reported, through renames and replacements.
import assert from "node:assert/strict";
import { mkdir, mkdtemp, rename, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, test } from "node:test";
import { setTimeout } from "node:timers/promises";
import {
  type FolderTreeWatch,
  type TreeWatchOptions,
  type WatchFolder,
  watchFolderTree,
} from "../../src/lib/watch-folder-tree.ts";

const LONGEST_MS = 600_000;

let place: string;
let root: string;
let tree: FolderTreeWatch | undefined;
let touched: Set<string>;
let lost: string[];

beforeEach(async () => {
  place = await mkdtemp(join(tmpdir(), "lockstep-watch-"));
  root = join(place, "root");
  await mkdir(join(root, "a", "deep"), { recursive: true });
  [touched, lost, tree] = [new Set(), [], undefined];
});

afterEach(async () => {
  tree?.close();
  await rm(place, { recursive: true, force: true });
});

async function open(options: Partial<TreeWatchOptions> = {}): Promise<void> {
  const notices = { touched: (folder: string) => void touched.add(folder), lost: (why: string) => void lost.push(why) };
  tree = await watchFolderTree(root, notices, { enters: (folder) => !folder.startsWith("."), ...options });
  touched.clear();
}

async function until(isSo: () => boolean): Promise<void> {
  const givenUpAtMs = performance.now() + LONGEST_MS;
  while (!isSo()) {
    assert.ok(performance.now() < givenUpAtMs, `only ${[...touched].join(", ")} and ${lost.join()} were heard of`);
    await setTimeout(5);
  }
}

const heardOf = (...folders: string[]): Promise<void> => until(() => folders.every((folder) => touched.has(folder)));

test("a file that is made, edited, renamed or removed is heard of in its folder", async () => {
  await open();
  await writeFile(join(root, "a", "deep", "one.txt"), "one");
  await heardOf("a/deep");
  touched.clear();
  await rename(join(root, "a", "deep", "one.txt"), join(root, "two.txt"));
  await heardOf("a/deep", "");
  touched.clear();
  await writeFile(join(root, "two.txt"), "two");
  await heardOf("");
  touched.clear();
  await rm(join(root, "two.txt"));
  await heardOf("");
  assert.deepEqual([...touched], [""]);
});

test("a folder that is moved in is told of with all that is below it, and watched from then on", async () => {
  await mkdir(join(place, "outside", "x", "y"), { recursive: true });
  await open();
  await rename(join(place, "outside"), join(root, "in"));
  await heardOf("", "in", "in/x", "in/x/y");
  touched.clear();
  await writeFile(join(root, "in", "x", "y", "later.txt"), "later");
  await heardOf("in/x/y");
});

test("a folder that is renamed is told of at both places, and the watch goes by its new name", async () => {
  await open();
  await rename(join(root, "a"), join(root, "b"));
  await heardOf("", "a", "a/deep", "b", "b/deep");
  touched.clear();
  await writeFile(join(root, "b", "deep", "one.txt"), "one");
  await heardOf("b/deep");
  assert.equal(touched.has("a/deep"), false);
});

test("a folder that is replaced by another one of the same name is watched anew", async () => {
  await open();
  await rm(join(root, "a"), { recursive: true });
  await mkdir(join(root, "a"));
  await heardOf("", "a");
  touched.clear();
  // Each try is another file: the watch may stand only after the first ones.
  for (let i = 0; !touched.has("a") && i < 500; i++) {
    await writeFile(join(root, "a", `${i}.txt`), "new");
    await setTimeout(5);
  }
  assert.ok(touched.has("a"));
});

test("neither links nor what is of no interest is entered", async () => {
  await mkdir(join(root, ".git"));
  await mkdir(join(place, "elsewhere"));
  await symlink(join(place, "elsewhere"), join(root, "link"));
  await open();
  await writeFile(join(root, ".git", "index"), "");
  await writeFile(join(place, "elsewhere", "one.txt"), "one");
  await writeFile(join(root, "a", "seen.txt"), "seen");
  await heardOf("a");
  assert.deepEqual([...touched], ["a"]);
});

test("a root that is moved away is a loss, told once", async () => {
  await open();
  await rename(root, join(place, "away"));
  await until(() => lost.length > 0);
  assert.deepEqual(lost, ["the folder was moved, removed or replaced"]);
});

test("a watch that fails later is a loss; one that cannot be had at all throws", async () => {
  let fail: (error: unknown) => void = () => undefined;
  await open({
    watchFolder(_path, _options, heard) {
      fail = heard.error;
      return { close: () => undefined };
    },
  });
  fail(new Error("EMFILE: too many open files"));
  fail(new Error("again"));
  assert.deepEqual(lost, ["EMFILE: too many open files"]);
  let watches = 0;
  let closed = 0;
  const noSpace: WatchFolder = () => {
    watches += 1;
    if (watches === 3) throw Object.assign(new Error("ENOSPC: no space for watches"), { code: "ENOSPC" });
    return {
      close() {
        closed += 1;
      },
    };
  };
  await assert.rejects(open({ watchFolder: noSpace }), /ENOSPC/);
  assert.equal(closed, 2, "what was watched already is given back");
  lost = [];
  const diesAtOnce: WatchFolder = (path, _options, heard) => {
    if (path === root) setImmediate(() => heard.error(new Error("EMFILE: too many open files")));
    return { close: () => undefined };
  };
  for (let i = 0; i < 50; i++) await mkdir(join(root, `b${i}`));
  await assert.rejects(open({ watchFolder: diesAtOnce }), /EMFILE/, "a watch that died while others were opened");
  assert.deepEqual(lost, [], "and whoever is told so by the error is not told twice");
  await assert.rejects(open({ fileSystemOf: async () => 0x6969 }), /network file system/);
});

test("where one watch hears everything, folders are told from the path that is heard", async () => {
  let say: (kind: string, name: string | null) => void = () => undefined;
  await open({
    recursive: true,
    watchFolder(path, { recursive }, heard) {
      assert.deepEqual([path, recursive], [root, true]);
      say = heard.event;
      return { close: () => undefined };
    },
  });
  say("change", join(".git", "index"));
  say("change", join("a", "deep", "one.txt"));
  assert.deepEqual([...touched], ["a/deep"]);
  say("rename", "a");
  await heardOf("", "a", "a/deep");
});
