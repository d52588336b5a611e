// A scan of the mirror follows everything that is done to files meanwhile.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, test } from "node:test";
import { promisify } from "node:util";
import type { Worker } from "node:worker_threads";
import type { ItemId } from "../../src/contracts/ids.ts";
import { Mirror } from "../../src/mirror/mirror.ts";
import type { FileOnDisk } from "../../src/mirror/scan-files.ts";

const crawler = await mkdtemp(join(tmpdir(), "lockstep-scan-"));
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

/** A mirror of some files in all its folders, and a scan that goes along. */
async function followed(): Promise<{ mirror: Mirror; disk: ReadonlyMap<string, FileOnDisk> }> {
  const mirror = newMirror();
  for (const path of ["a.txt", "x/b.txt", "x/y/c.txt", "x/y/größe.txt"]) {
    await write(mirror, mirror.embeddedFile(path), path);
  }
  await write(mirror, mirror.originalFile("x/b.aspx"), "b");
  await write(mirror, mirror.embeddedFile("x/y/c.txt").replace("02_embedded", "03_failed"), "failed");
  const disk = await mirror.scan();
  mirror.follow(disk);
  return { mirror, disk };
}

function inOrder(disk: ReadonlyMap<string, FileOnDisk>): [string, FileOnDisk][] {
  return [...disk].sort(([a], [b]) => (a < b ? -1 : 1));
}

test("a scan goes along with all that is done to files, also when nothing comes of it", async () => {
  const { mirror, disk } = await followed();
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
    assert.deepEqual(inOrder(disk), inOrder(await mirror.scan()), title);
  }
});

const many = (signal: AbortSignal = never) => ({ expected: 20_000, signal });

test("another thread finds the same", async (t) => {
  const { mirror, disk } = await followed();
  await mkdir(mirror.absolute(mirror.embeddedFile("only/folders")), { recursive: true });
  await symlink(tmpdir(), mirror.absolute(mirror.embeddedFile("x/link")));
  const now = await mirror.scan();
  assert.equal(now.size, disk.size + 1, "a link is a file of its own, wherever it leads");
  const threads: Worker[] = [];
  const note = (worker: Worker): void => void threads.push(worker);
  process.on("worker", note);
  t.after(() => process.off("worker", note));
  assert.deepEqual(inOrder(await mirror.scan(many())), inOrder(now));
  assert.equal(threads.length, 1);
  assert.deepEqual(inOrder(await mirror.scan({ expected: 19_999, signal: never })), inOrder(now));
  assert.equal(threads.length, 1, "a small one is not worth it");
  assert.equal((await newMirror().scan(many())).size, 0);
});

test("where a thread dies or may not be started, the files are looked at here; whoever is cancelled is told", async () => {
  const { mirror, disk } = await followed();
  process.once("worker", (worker: Worker) => void worker.terminate());
  assert.deepEqual(inOrder(await mirror.scan(many())), inOrder(disk));
  await assert.rejects(mirror.scan(many(AbortSignal.abort())), { name: "AbortError" });
  await mkdir(join(crawler, newMirror().root), { recursive: true });
  const odd = new Mirror(crawler, `D/01_files/s${count}`);
  await writeFile(join(odd.folder, "02_embedded"), "a file where a folder should be");
  await assert.rejects(odd.scan(many()), /ENOTDIR/);
  const module = new URL("../../src/mirror/scan-files.ts", import.meta.url).href;
  const script = `const { scanInThread } = await import("${module}");
    console.log(await scanInThread({ top: "/", folders: [] }, new AbortController().signal));`;
  const flags = ["--permission", "--allow-fs-read=*", "--input-type=module", "--eval"];
  const { stdout } = await promisify(execFile)(process.execPath, [...flags, script]);
  assert.match(stdout, /undefined/);
});
