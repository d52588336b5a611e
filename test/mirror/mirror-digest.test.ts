import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdir, mkdtemp, rename, rm, symlink, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, test } from "node:test";
import { promisify } from "node:util";
import type { Worker } from "node:worker_threads";
import fc from "fast-check";
import type { ItemId } from "../../src/contracts/ids.ts";
import { Mirror } from "../../src/mirror/mirror.ts";
import { type DigestSums, MirrorDigest } from "../../src/mirror/mirror-digest.ts";
import type { FileOnDisk } from "../../src/mirror/visit-files.ts";

const crawler = await mkdtemp(join(tmpdir(), "lockstep-digest-"));
after(() => rm(crawler, { recursive: true, force: true }));

let count = 0;
const newMirror = (): Mirror => new Mirror(crawler, `D/01_files/s${++count}`);
const never = new AbortController().signal;
const id = (text: string) => text as ItemId;

async function* bytes(text: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(text);
}

async function write(mirror: Mirror, file: string, text: string): Promise<void> {
  await mkdir(dirname(mirror.absolute(file)), { recursive: true });
  await writeFile(mirror.absolute(file), text);
}

async function place(mirror: Mirror, file: string, text: string): Promise<void> {
  await mirror.place(await mirror.stage(bytes(text), "2024-01-15T10:30:00.000000Z", never), file);
}

/** A mirror of some files in all its folders, and a digest that goes along. */
async function followed(): Promise<{ mirror: Mirror; digest: MirrorDigest }> {
  const mirror = newMirror();
  for (const path of ["a.txt", "x/b.txt", "x/y/c.txt", "x/y/größe.txt"]) {
    await write(mirror, mirror.embeddedFile(path), path);
  }
  await write(mirror, mirror.originalFile("x/b.aspx"), "b");
  await write(mirror, mirror.embeddedFile("x/y/c.txt").replace("02_embedded", "03_failed"), "failed");
  const digest = await mirror.digest();
  mirror.follow(digest);
  return { mirror, digest };
}

const TIMES: readonly number[] = [0, 1_700_000_000_000, 1_700_000_000_000.25];
const files = fc.uniqueArray(
  fc.record({
    path: fc.string({ unit: "grapheme", maxLength: 12 }),
    size: fc.nat({ max: 3 }),
    mtimeMs: fc.constantFrom(...TIMES),
  }),
  { selector: ({ path }) => path, minLength: 1, maxLength: 8 },
);

function digestOf(all: readonly { path: string; size: number; mtimeMs: number }[]): string {
  return String(MirrorDigest.of(new Map(all.map(({ path, ...file }) => [path, { ...file, placedAtMs: 0 }]))));
}

test("in another order the digest is the same; with another name, size or time it is not", () => {
  fc.assert(
    fc.property(files, fc.nat(), (all, at) => {
      const before = digestOf(all);
      assert.equal(digestOf(all.toReversed()), before);
      const index = at % all.length;
      const one = all[index] ?? assert.fail();
      assert.notEqual(
        digestOf(all.with(index, { ...one, path: `${one.path}${all.map(({ path }) => path)}!` })),
        before,
      );
      assert.notEqual(digestOf(all.with(index, { ...one, size: one.size + 1 })), before);
      assert.notEqual(digestOf(all.with(index, { ...one, mtimeMs: one.mtimeMs + 1 })), before);
      assert.notEqual(digestOf(all.toSpliced(index, 1)), before);
    }),
  );
});

test("two files that exchange their times make another digest, in either half of it", () => {
  const file = (mtimeMs: number): FileOnDisk => ({ size: 5, mtimeMs, placedAtMs: 0 });
  const [early, late] = [file(2 ** 40), file(1.5 * 2 ** 40)];
  const sums = (...files: [string, FileOnDisk][]): DigestSums => MirrorDigest.of(new Map(files)).sums;
  for (let i = 0; i < 20_000; i++) {
    const before = sums([`a${i}`, early], [`b${i}`, late]);
    const now = sums([`a${i}`, late], [`b${i}`, early]);
    assert.ok(before.a !== now.a && before.b !== now.b, String(i));
  }
});

test("the digest goes along with all that is done to files, also when nothing comes of it", async () => {
  const { mirror, digest } = await followed();
  const at = (path: string): string => mirror.embeddedFile(path);
  const steps: [title: string, step: () => Promise<unknown>][] = [
    ["a new file in a new folder", () => place(mirror, at("new/n.txt"), "new")],
    ["a file over another", () => place(mirror, at("x/b.txt"), "another size")],
    ["out", () => mirror.moveOut(id("1"), at("a.txt"))],
    ["out, and its folder vanishes", () => mirror.moveOut(id("2"), at("new/n.txt"))],
    ["in, where the other was", () => mirror.moveIn(id("1"), at("new/n.txt"))],
    ["in, over one that is there", () => mirror.moveIn(id("2"), at("x/b.txt"))],
    ["shifted", () => mirror.shift(mirror.originalFile("x/b.aspx"), mirror.originalFile("z/b.aspx"))],
    ["shifted to a place that is taken", () => mirror.shift(at("new/n.txt"), at("x/b.txt"))],
    ["shifted from nowhere", () => mirror.shift(at("nowhere.txt"), at("somewhere.txt"))],
    ["removed", () => mirror.remove(at("x/y/c.txt"))],
    ["removed with its folder", () => mirror.remove(at("x/y/größe.txt"))],
    ["removed again", () => mirror.remove(at("x/y/größe.txt"))],
    ["out from nowhere", () => assert.rejects(mirror.moveOut(id("3"), at("nowhere.txt")), /ENOENT/)],
    ["below a file", () => assert.rejects(place(mirror, at("x/b.txt/d.txt"), "d"), /ENOTDIR|EEXIST/)],
    ["where there is an empty folder", () => mkdir(mirror.absolute(at("empty")))],
    ["which makes way", () => place(mirror, at("empty"), "a file")],
  ];
  for (const [title, step] of steps) {
    await step();
    assert.equal(String(digest), String(await mirror.digest()), title);
    assert.equal(digest.files, (await mirror.scan()).size, title);
  }
});

test("what somebody else does is not in it, wherever this run was busy meanwhile", async () => {
  const deeds: ((mirror: Mirror) => Promise<void>)[] = [
    (mirror) => rm(mirror.absolute(mirror.embeddedFile("x/y/c.txt"))),
    (mirror) => writeFile(mirror.absolute(mirror.embeddedFile("x/y/c.txt")), "altered by a stranger"),
    (mirror) => utimes(mirror.absolute(mirror.embeddedFile("x/y/c.txt")), 1, 1),
    (mirror) => writeFile(mirror.absolute(mirror.embeddedFile("x/y/stranger.txt")), "x"),
    (mirror) => rename(mirror.absolute(mirror.embeddedFile("x/y")), mirror.absolute(mirror.embeddedFile("x/z"))),
  ];
  for (const deed of deeds) {
    const { mirror, digest } = await followed();
    await place(mirror, mirror.embeddedFile("x/y/new.txt"), "new");
    await deed(mirror);
    await place(mirror, mirror.embeddedFile("x/y/newer.txt"), "newer");
    assert.notEqual(String(digest), String(await mirror.digest()));
  }
});

test("another thread finds the same, and the same as a scan", async () => {
  const { mirror, digest } = await followed();
  await mkdir(mirror.absolute(mirror.embeddedFile("only/folders")), { recursive: true });
  await symlink(tmpdir(), mirror.absolute(mirror.embeddedFile("x/link")));
  const now = await mirror.digest();
  assert.equal(now.files, digest.files + 1, "a link is a file of its own, wherever it leads");
  assert.equal(String(await mirror.digestMeanwhile(never)), String(now));
  assert.equal(String(MirrorDigest.of(await mirror.scan())), String(now));
  assert.equal(String(await newMirror().digestMeanwhile(never)), String(new MirrorDigest()));
});

test("a thread that dies, is ended or stands before a riddle answers nothing", async () => {
  const { mirror } = await followed();
  const kill = (worker: Worker): void => void worker.terminate();
  process.once("worker", kill);
  assert.equal(await mirror.digestMeanwhile(never), undefined);
  assert.equal(await mirror.digestMeanwhile(AbortSignal.abort()), undefined);
  const cancelled = new AbortController();
  const asked = mirror.digestMeanwhile(cancelled.signal);
  cancelled.abort();
  assert.equal(await asked, undefined);
  await mkdir(join(crawler, newMirror().root), { recursive: true });
  const odd = new Mirror(crawler, `D/01_files/s${count}`);
  await writeFile(join(odd.folder, "02_embedded"), "a file where a folder should be");
  assert.equal(await odd.digestMeanwhile(never), undefined);
  await assert.rejects(odd.digest(), /ENOTDIR/, "whoever looks himself is told");
});

test("where no thread may be started, none is, and nothing fails", async () => {
  const module = new URL("../../src/mirror/digest-in-thread.ts", import.meta.url).href;
  const script = `const { digestInThread } = await import("${module}");
    console.log(await digestInThread({ top: "/", folders: [] }, new AbortController().signal));`;
  const flags = ["--permission", "--allow-fs-read=*", "--input-type=module", "--eval"];
  const { stdout } = await promisify(execFile)(process.execPath, [...flags, script]);
  assert.equal(stdout.trim(), "undefined");
});
