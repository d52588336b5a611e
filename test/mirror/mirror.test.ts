// Files of the mirror appear whole, move safely and are recovered after a crash.
import assert from "node:assert/strict";
import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join, normalize } from "node:path";
import { after, test } from "node:test";
import fc from "fast-check";
import type { ItemId } from "../../src/contracts/ids.ts";
import { distinctPath, localPath, plainPath } from "../../src/mirror/local-path.ts";
import { Mirror } from "../../src/mirror/mirror.ts";

const crawler = await mkdtemp(join(tmpdir(), "lockstep-mirror-"));
after(() => rm(crawler, { recursive: true, force: true }));

let count = 0;
const newMirror = (): Mirror => new Mirror(crawler, `D/01_files/s${++count}`);
const never = new AbortController().signal;
const id = (text: string) => text as ItemId;

async function* bytes(...parts: string[]): AsyncGenerator<Uint8Array> {
  for (const part of parts) yield Buffer.from(part);
}

async function write(mirror: Mirror, file: string, text: string): Promise<void> {
  await mkdir(dirname(mirror.absolute(file)), { recursive: true });
  await writeFile(mirror.absolute(file), text);
}

test("a download appears whole, with the source's time, its size and its hash", async () => {
  const mirror = newMirror();
  const staged = await mirror.stage(bytes("Hel", "lo"), "2024-01-15T10:30:00.000000Z", never);
  const file = mirror.embeddedFile("Reports/a.txt");
  assert.equal((await mirror.scan()).size, 0);
  const observed = await mirror.place(staged, file);
  assert.equal(await readFile(mirror.absolute(file), "utf8"), "Hello");
  assert.deepEqual(observed, {
    size: 5,
    mtimeMs: Date.parse("2024-01-15T10:30:00Z"),
    sha256: "185f8db32271fe25f561a6fc938b2e264306ec304eda518007d1764826381969",
  });
  const scanned = await mirror.scan();
  assert.deepEqual([...scanned.keys()], [file]);
  assert.deepEqual([scanned.get(file)?.size, scanned.get(file)?.mtimeMs], [5, observed.mtimeMs]);
  assert.ok(
    (scanned.get(file)?.placedAtMs ?? 0) > observed.mtimeMs,
    "when it came here, not when it was written there",
  );
});

test("a body that breaks leaves nothing behind, not even the half", async () => {
  const mirror = newMirror();
  const broken = async function* (): AsyncGenerator<Uint8Array> {
    yield Buffer.from("half");
    throw new Error("connection lost");
  };
  await assert.rejects(mirror.stage(broken(), "", never), /connection lost/);
  assert.deepEqual(await readdir(join(crawler, mirror.root, ".lockstep/staging")).catch(() => []), []);
});

test("files that swap names arrive with their own content", async () => {
  const mirror = newMirror();
  const [a, b] = [mirror.embeddedFile("a.txt"), mirror.embeddedFile("sub/b.txt")];
  await write(mirror, a, "A");
  await write(mirror, b, "B");
  await mirror.moveOut(id("1"), a);
  await mirror.moveOut(id("2"), b);
  await mirror.moveIn(id("1"), b);
  await mirror.moveIn(id("2"), a);
  assert.equal(await readFile(mirror.absolute(a), "utf8"), "B");
  assert.equal(await readFile(mirror.absolute(b), "utf8"), "A");
});

test("killed between the halves of a move, the file goes where the ledger has it", async () => {
  const mirror = newMirror();
  const [from, to] = [mirror.embeddedFile("a.txt"), mirror.embeddedFile("new/a.txt")];
  await write(mirror, from, "A");
  await mirror.moveOut(id("guid/with slash"), from);
  await mirror.recover(async (item) => (item === "guid/with slash" ? to : ""));
  assert.equal(await readFile(mirror.absolute(to), "utf8"), "A");
  assert.equal((await mirror.scan()).size, 1);
});

test("a file that cannot be returned after a crash is dropped, and recovery goes on with the next", async () => {
  const mirror = newMirror();
  const [blocked, fine] = [mirror.embeddedFile("a.txt"), mirror.embeddedFile("b.txt")];
  await write(mirror, blocked, "A");
  await write(mirror, fine, "B");
  await mirror.moveOut(id("1"), blocked);
  await mirror.moveOut(id("2"), fine);
  await write(mirror, mirror.embeddedFile("wall"), "a file where a folder is needed");
  await mirror.recover(async (item) => (item === "1" ? mirror.embeddedFile("wall/a.txt") : fine));
  assert.equal(await readFile(mirror.absolute(fine), "utf8"), "B");
  assert.deepEqual(await readdir(join(crawler, mirror.root, ".lockstep/moving")), []);
});

test("removing the last file of a folder removes the folder, but not 02_embedded itself", async () => {
  const mirror = newMirror();
  const file = mirror.embeddedFile("x/y/z.txt");
  await write(mirror, file, "Z");
  await mirror.remove(file);
  await mirror.remove(file);
  assert.deepEqual(await readdir(join(crawler, mirror.root, "02_embedded")), []);
  assert.ok((await stat(join(crawler, mirror.root, "02_embedded"))).isDirectory());
});

test("others get their turn while a mirror of nothing but folders is looked through", async () => {
  const mirror = newMirror();
  for (let i = 0; i < 20; i++) await mkdir(mirror.absolute(mirror.embeddedFile(`a/${i}`)), { recursive: true });
  let turns = 0;
  const others = setImmediate(() => {
    turns += 1;
  });
  await mirror.visit(() => assert.fail("there is no file"));
  clearImmediate(others);
  assert.ok(turns > 0);
});

test("others get their turn while many files are moved and removed", async () => {
  const mirror = newMirror();
  const [here, there] = [mirror.embeddedFile("a.txt"), mirror.embeddedFile("f/a.txt")];
  await write(mirror, here, "A");
  let turns = 0;
  const others = setInterval(() => {
    turns += 1;
  }, 1);
  for (const endsAtMs = performance.now() + 50; performance.now() < endsAtMs; ) {
    await mirror.moveOut(id("1"), here);
    await mirror.moveIn(id("1"), there);
    await mirror.shift(there, here);
    await mirror.remove(there);
  }
  clearInterval(others);
  assert.ok(turns > 0);
  assert.deepEqual([...(await mirror.scan()).keys()], [here]);
});

const names: [title: string, path: string, expected: string][] = [
  ["an ordinary path", "Reports/Q1 final.docx", "Reports/Q1 final.docx"],
  ["percent signs are not decoded", "50%25 off/a%20b.txt", "50%25 off/a%20b.txt"],
  ["dots that would climb", "../../../../etc/passwd", "__/__/__/__/etc/passwd"],
  ["a single dot", "./a.txt", "_/a.txt"],
  ["backslashes and colons", "a\\b:c.txt", "a_b_c.txt"],
  ["control characters", "a\u0000b\nc.txt", "a_b_c.txt"],
  ["reserved on Windows", "CON/aux.txt", "_CON/_aux.txt"],
  ["trailing dots and spaces", "folder. /a.txt", "folder__/a.txt"],
  ["emoji, quotes, right-to-left", "It's #1 & 100% + 😀/שלום.docx", "It's #1 & 100% + 😀/שלום.docx"],
];
for (const [title, path, expected] of names) {
  test(`local path: ${title}`, () => assert.equal(localPath(path, "id"), expected));
}

test("a name too long for the disk is cut at a character and marked with the id", () => {
  const guid = "9cdb4661-6e4c-4380-b6ff-5ed7308be13c";
  const cut = localPath(`${"😀".repeat(100)}.docx`, guid);
  assert.ok(Buffer.byteLength(cut) <= 240);
  assert.match(cut, /^(😀)+~9cdb4661\.docx$/u);
  assert.equal(distinctPath("a/b.txt", guid), "a/b~9cdb4661.txt");
  assert.equal(plainPath("a/b~9cdb4661.txt", guid), "a/b.txt");
  assert.equal(plainPath("a~9cdb4661/b.txt", guid), "a/b.txt");
  assert.equal(plainPath("a/b~9cdb4662.txt", guid), undefined);
  assert.equal(plainPath(cut, guid), undefined);
});

test("property: whatever the name, the place is inside the folder and writable", async () => {
  const mirror = newMirror();
  const segment = fc.oneof(
    fc.string({ unit: "binary", maxLength: 300 }),
    fc.constantFrom("..", ".", "", "~", "nul.txt", " ", "a/b"),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(segment, { minLength: 1, maxLength: 3 }), async (segments) => {
      const path = localPath(segments.join("/"), segments.join());
      assert.equal(normalize(path), path);
      assert.ok(path !== "" && !path.startsWith("/") && !path.split("/").includes(".."));
      const file = mirror.embeddedFile(path);
      await mirror.place(await mirror.stage(bytes("x"), "", never), file);
      await mirror.remove(file);
    }),
    { numRuns: 60 },
  );
});
