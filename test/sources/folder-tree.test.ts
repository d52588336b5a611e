// A folder is walked as a tree: rules, links, odd names and file system identities.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { appendFile, chmod, mkdir, mkdtemp, rename, rm, stat, symlink, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { DEFAULT_LIMITS } from "../../src/contracts/domain.ts";
import { BadInputError, NotFoundError, RemoteError } from "../../src/contracts/errors.ts";
import type { FileTree, TreePage } from "../../src/contracts/file-tree.ts";
import type { Finding } from "../../src/contracts/finding.ts";
import { parseSourceId } from "../../src/contracts/ids.ts";
import { createFolderTree } from "../../src/sources/folder/create-folder-tree.ts";
import type { FolderSourceConfig } from "../../src/sources/folder/folder-source-codec.ts";
import { LocalDevices } from "../../src/sources/folder/local-devices.ts";
import { createStatFiles, mountPointsIn, readMountPoints } from "../../src/sources/folder/walk-folder.ts";
import { ofKind } from "../kinds.ts";

const LONG_AGO = new Date("2024-05-06T07:08:09.123Z");

let place: string;
let root: string;
beforeEach(async () => {
  place = await mkdtemp(join(tmpdir(), "lockstep-tree-"));
  root = join(place, "root");
  await mkdir(root);
});
afterEach(() => rm(place, { recursive: true, force: true }));

function open(
  config: Partial<FolderSourceConfig> = {},
  options: { storagePath?: string; roots?: string[] } = {},
): FileTree {
  const usual = {
    include: [],
    exclude: [],
    gitignore: false,
    hidden: false,
    maxFileBytes: 1000,
    limits: DEFAULT_LIMITS,
  };
  return createFolderTree(
    { ...ofKind("folder_sources"), sourceId: parseSourceId("docs"), root, ...usual, ...config },
    { storagePath: join(place, "storage"), ...options, roots: async () => options.roots ?? "anywhere" },
  );
}

async function put(path: string, text: string | Buffer = path, below = root): Promise<string> {
  const file = join(below, path);
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, text);
  await utimes(file, LONG_AGO, LONG_AGO);
  return file;
}

/** To the superuser no folder is closed. */
const NOBODY = 65534;

async function walk(tree: FileTree, below?: ReadonlySet<string>): Promise<TreePage[]> {
  const pages: TreePage[] = [];
  for await (const page of tree.walk(new AbortController().signal, below)) pages.push(page);
  return pages;
}

function pathsOf(pages: readonly TreePage[]): string[] {
  return pages.flatMap(({ files }) => files.map(({ path }) => path));
}

async function read(tree: FileTree, path: string, stamp?: string): Promise<string> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of tree.read(path, new AbortController().signal, stamp)) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

async function examine(tree: FileTree): Promise<Finding[]> {
  const findings: Finding[] = [];
  const isTaken = (path: string): boolean => !path.endsWith(".zip");
  for await (const finding of tree.diagnose(isTaken, new AbortController().signal)) findings.push(finding);
  return findings;
}

describe("a folder as a tree", () => {
  it("is walked folder by folder, in the order of names, and tells what a file system knows", async () => {
    for (const path of ["z.md", "b/2.md", "b/1.md", "b/c/3.md", "a.md", "empty/x.md"]) await put(path);
    await rm(join(root, "empty/x.md"));
    const pages = await walk(open());
    assert.deepEqual(
      pages.map(({ folder, files }) => [folder, files.map(({ path }) => path)]),
      [
        ["", ["a.md", "z.md"]],
        ["b", ["b/1.md", "b/2.md"]],
        ["b/c", ["b/c/3.md"]],
        ["empty", []],
      ],
    );
    assert.deepEqual(pages[0]?.whole?.folders, ["b", "empty"]);
    const { dev, ino } = await stat(join(root, "a.md"));
    const [file] = pages[0]?.files ?? [];
    assert.deepEqual(file, {
      path: "a.md",
      size: 4,
      modifiedAtMs: LONG_AGO.getTime(),
      stamp: `4-${LONG_AGO.getTime()}-${ino}`,
      node: `${dev}:${ino}`,
    });
  });

  it("is let in by its rules: globs, hidden names, sizes, .gitignore in every folder", async () => {
    const paths = [
      ".secret.md",
      ".git/config.md",
      "docs/a.md",
      "docs/old/b.md",
      "docs/build/c.md",
      "docs/build/keep.md",
    ];
    for (const path of [...paths, "docs/a.tmp", "other/d.md"]) await put(path);
    await put("docs/huge.md", "x".repeat(1001));
    await put(".gitignore", "*.tmp\n**/build/*\n");
    await put("docs/.gitignore", "!build/keep.md\n/old\n");
    assert.deepEqual(pathsOf(await walk(open({ include: ["docs/**"], exclude: ["old", "build"] }))), [
      "docs/a.md",
      "docs/a.tmp",
    ]);
    const all = await walk(open({ hidden: true, gitignore: true }));
    assert.deepEqual(pathsOf(all), [
      ".gitignore",
      ".secret.md",
      "docs/.gitignore",
      "docs/a.md",
      "docs/build/keep.md",
      "other/d.md",
    ]);
    assert.deepEqual(
      all.flatMap(({ skipped }) => skipped),
      [{ path: "docs/huge.md", reason: "It has 1001 bytes; the limit is 1000.", isTooLarge: true }],
    );
  });

  it("never follows a link, waits for no pipe, and does not enter its own storage", async () => {
    await put("outside.md", "outside", place);
    await put("real/a.md");
    await put("storage/s.md");
    await symlink(place, join(root, "out"));
    await symlink("real", join(root, "in"));
    await symlink("nowhere", join(root, "dangling"));
    await symlink("circle", join(root, "circle"));
    await symlink("..", join(root, "real/up"));
    execFileSync("mkfifo", [join(root, "pipe")]);
    const pages = await walk(open({}, { storagePath: join(root, "storage") }));
    assert.deepEqual(pathsOf(pages), ["real/a.md"]);
    const left = pages
      .flatMap(({ skipped }) => skipped)
      .map(({ path, reason }) => [path, /link|neither/.exec(reason)?.[0]]);
    assert.deepEqual(left.sort(), [
      ["dangling", "link"],
      ["in", "link"],
      ["out", "link"],
      ["pipe", "neither"],
      ["real/up", "link"],
    ]);
    assert.deepEqual(
      pages.flatMap(({ unreadable }) => unreadable.map(({ path }) => path)),
      ["circle"],
    );
    for (const path of ["out/outside.md", "../outside.md", "in/a.md", "pipe"]) {
      await assert.rejects(read(open(), path), /link|no longer a file/, path);
    }
  });

  it("keeps odd names as they are, and never makes a path of one that is no UTF-8", async () => {
    const odd = [
      "back\\slash.md",
      "line\nfeed.md",
      "dots..",
      "space ",
      "caf\u00e9.md",
      "cafe\u0301.md",
      "a\ufffdb.md",
      "100%#?.md",
      `${"x".repeat(252)}.md`,
    ];
    for (const name of odd) await put(name);
    await writeFile(Buffer.concat([Buffer.from(`${root}/`), Buffer.from([0x61, 0xff, 0x2e, 0x6d, 0x64])]), "latin");
    await mkdir(Buffer.concat([Buffer.from(`${root}/`), Buffer.from([0xfe])]));
    const tree = open();
    const pages = await walk(tree);
    assert.deepEqual(pathsOf(pages).sort(), odd.toSorted());
    const unreadable = pages.flatMap(({ unreadable }) => unreadable);
    assert.deepEqual(unreadable.map(({ path }) => path).sort(), ["a\ufffd.md", "\ufffd"]);
    for (const { reason } of unreadable) assert.match(reason, /not valid UTF-8/);
    for (const name of odd) {
      assert.equal(await read(tree, name), name);
      assert.equal(fileURLToPath(tree.addressOf(name).url), join(root, name));
    }
  });

  it("says of a file that was written this moment that nobody can tell", async () => {
    await put("b/2.md");
    // It may be written again without another time.
    await writeFile(join(root, "b/2.md"), "4");
    assert.equal((await walk(open())).find(({ folder }) => folder === "b")?.files[0]?.stamp, "");
  });

  it("looks at some folders only, as far as they are there and let in", async () => {
    for (const path of ["a/1.md", "a/b/2.md", "c/3.md", "no/4.md", ".h/5.md"]) await put(path);
    const tree = open({ exclude: ["no"] });
    assert.deepEqual(pathsOf(await walk(tree, new Set(["a", "gone", "no", ".h", "a/1.md"]))), ["a/1.md"]);
    assert.deepEqual(pathsOf(await walk(tree, new Set(["", "c"]))), ["c/3.md"]);
  });

  it("tells of a folder that is none any more, and of files that vanish under its eyes", async () => {
    for (let i = 1; i <= 9; i++) await put(`f${i}/a.md`);
    const pages: TreePage[] = [];
    for await (const page of open().walk(new AbortController().signal)) {
      pages.push(page);
      if (page.folder !== "") continue;
      await rm(join(root, "f9"), { recursive: true });
      await put("f9");
      await rm(join(root, "f8"), { recursive: true });
      await rm(join(root, "f7"), { recursive: true });
      await symlink(join(root, "f1"), join(root, "f7"));
    }
    assert.deepEqual(
      pages.flatMap(({ unreadable }) => unreadable.map(({ path, reason }) => [path, reason])),
      [
        ["f7", "it is no longer a folder"],
        ["f8", "it vanished during the scan"],
        ["f9", "it is no longer a folder"],
      ],
    );
    const heard: unknown[] = [];
    const { dev } = await stat(root);
    for (const device of [dev, -1]) {
      await createStatFiles(new LocalDevices())(join(root, "f1"), device, ["gone.md", "a.md"], (name, found) =>
        heard.push([name, typeof found === "string" ? found : found.size]),
      );
    }
    const expected = [
      ["gone.md", "it vanished during the scan"],
      ["a.md", 7],
    ];
    assert.deepEqual(heard, [...expected, ...expected]);
  });
});

describe("where other file systems are mounted", () => {
  it("is what the kernel lists, with its escapes undone", async () => {
    const lines = [
      "22 27 0:21 / /proc rw,nosuid shared:12 - proc proc rw",
      "28 27 0:25 /sub /srv/my\\040share\\011x\\134y rw - nfs server:/export rw",
    ];
    assert.deepEqual([...mountPointsIn(`${lines.join("\n")}\n`)], ["/proc", "/srv/my share\tx\\y"]);
    const here = await readMountPoints();
    assert.equal(here?.has("/proc") ?? false, process.platform === "linux");
  });
});

describe("the root of a folder", () => {
  it("must be there, be a folder, be allowed, and not be our own storage", async () => {
    await put("file.md");
    await symlink(place, join(place, "way-out"));
    const refused: [FileTree, typeof RemoteError | typeof BadInputError, RegExp][] = [
      [open({ root: join(place, "none") }), RemoteError, /not there.*mounted/],
      [open({ root: join(root, "file.md") }), BadInputError, /is a file/],
      [
        open({ root: join(place, "way-out") }, { roots: [root] }),
        BadInputError,
        /only '.*' and what is below may. Set FOLDER_ROOTS/,
      ],
      [
        open({ root: join(place, "none") }, { roots: [root] }),
        BadInputError,
        /only '.*' and what is below may. Set FOLDER_ROOTS/,
      ],
      [open({}, { roots: [] }), BadInputError, /there are keys.*Set FOLDER_ROOTS/],
      [open({}, { storagePath: place }), BadInputError, /storage of lockstep/],
    ];
    for (const [tree, kind, message] of refused) {
      const isRefused = (error: unknown): boolean => error instanceof kind && message.test(error.message);
      await assert.rejects(walk(tree), isRefused);
      await assert.rejects(tree.identity(new AbortController().signal), isRefused);
      const findings = await examine(tree);
      assert.deepEqual([findings.length, findings[0]?.outcome], [1, "problem"]);
      assert.match(findings[0]?.detail ?? "", message);
    }
    const allowed = open({}, { roots: [join(place, "none"), place] });
    assert.deepEqual(pathsOf(await walk(allowed)), ["file.md"]);
    const [finding] = await examine(allowed);
    assert.deepEqual([finding?.outcome, finding?.detail], ["ok", "Has 1 file that the source takes."]);
    await put("backup.zip");
    const [both] = await examine(allowed);
    assert.equal(both?.detail, "Has 1 file that the source takes. 1 file of other types is left out.");
    const [neither] = await examine(open({ include: ["*.zip"] }));
    assert.deepEqual([neither?.outcome, /^No file in it is of a type/.test(neither?.detail ?? "")], ["problem", true]);
    const [nothing] = await examine(open({ include: ["*.txt"] }));
    assert.match(nothing?.detail ?? "", /Nothing in it matches include and exclude/);
  });

  it("names the folders below it that may not be read, and what else there is to do", async () => {
    await chmod(place, 0o755);
    for (const path of ["a.md", "b/inner.md", "c/e/inner.md", "c/f.md"]) await put(path);
    for (const path of ["b", "c/e"]) await chmod(join(root, path), 0o000);
    const isAllMighty = process.geteuid?.() === 0;
    if (isAllMighty) process.seteuid?.(NOBODY);
    try {
      const [finding] = await examine(open());
      assert.equal(
        finding?.detail,
        "Cannot be read, so what is known there is kept: 'b' (no right to read it); 'c/e' (no right to read it).",
      );
      assert.match(finding?.remedy ?? "", /right to read it, rename .*, or exclude it/);
    } finally {
      if (isAllMighty) process.seteuid?.(0);
      for (const path of ["b", "c/e"]) await chmod(join(root, path), 0o755);
    }
  });

  it("says in words that it may not be read", async () => {
    await chmod(place, 0o755);
    await chmod(root, 0o000);
    const isAllMighty = process.geteuid?.() === 0;
    if (isAllMighty) process.seteuid?.(NOBODY);
    try {
      await assert.rejects(walk(open()), { message: `read the folder '${root}': no right to read it` });
      assert.equal((await examine(open()))[0]?.detail, "No right to read it");
    } finally {
      if (isAllMighty) process.seteuid?.(0);
      await chmod(root, 0o755);
    }
  });

  it("is another one when the folder is replaced", async () => {
    const { signal } = new AbortController();
    const before = await open().identity(signal);
    assert.equal(await open().identity(signal), before);
    await rename(root, join(place, "aside"));
    await mkdir(root);
    assert.notEqual(await open().identity(signal), before);
  });
});

describe("a file that is read", () => {
  it("is refused when it is gone, changed since it was listed, or changes meanwhile", async () => {
    const file = await put("a.md", "x".repeat(400_000));
    const tree = open({ maxFileBytes: 1_000_000 });
    const stamp = (await walk(tree))[0]?.files[0]?.stamp ?? assert.fail();
    assert.equal((await read(tree, "a.md", stamp)).length, 400_000);
    await assert.rejects(read(tree, "b.md"), NotFoundError);
    const chunks = tree.read("a.md", new AbortController().signal)[Symbol.asyncIterator]();
    await chunks.next();
    await appendFile(file, "more");
    await assert.rejects(async () => {
      while (!(await chunks.next()).done);
    }, /changed while it was read/);
    await assert.rejects(read(tree, "a.md", stamp), /changed since it was listed/);
    assert.equal((await read(tree, "a.md")).length, 400_004);
    await assert.rejects(read(open({ maxFileBytes: 400_003 }), "a.md"), /larger than the limit of 400003 bytes/);
  });

  it("is not what a link leads to that took the place of its folder", async () => {
    await put("f/a.md", "mine");
    await put("a.md", "secret", join(place, "elsewhere"));
    const tree = open();
    await walk(tree);
    await rm(join(root, "f"), { recursive: true });
    await symlink(join(place, "elsewhere"), join(root, "f"));
    await assert.rejects(read(tree, "f/a.md"), /links are not followed/);
    await rm(join(root, "f"));
    await mkdir(join(root, "f"));
    await symlink(join(place, "elsewhere/a.md"), join(root, "f/a.md"));
    await assert.rejects(read(tree, "f/a.md"), /links are not followed/);
  });
});
