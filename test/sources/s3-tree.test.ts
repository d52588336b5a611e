// A bucket is listed and read as a tree, within limits of time.
import assert from "node:assert/strict";
import { readdir, rm } from "node:fs/promises";
import { after, before, beforeEach, test } from "node:test";
import { NotFoundError, RemoteError } from "../../src/contracts/errors.ts";
import type { FileTree } from "../../src/contracts/file-tree.ts";
import { createS3Tree } from "../../src/sources/s3/create-s3-tree.ts";
import { pathsOf, temporaryFolder, textOf, walk } from "./blob-world.ts";
import { S3Server, send, sendError } from "./s3-server.ts";

let server: S3Server;
let folder: string;
before(async () => {
  server = await S3Server.start();
  folder = await temporaryFolder();
});
after(async () => {
  await server.stop();
  await rm(folder, { recursive: true, force: true });
});

const waits: number[] = [];
beforeEach(() => {
  server.objects.clear();
  server.requests.length = 0;
  server.faults.length = 0;
  waits.length = 0;
});

function treeOf(config: Partial<S3Server["config"]> = {}): FileTree {
  const wait = async (ms: number): Promise<void> => void waits.push(ms);
  return createS3Tree(
    { ...server.config, ...config },
    { variable: () => "KEY:its secret".replace(" ", "-"), folder, timing: { wait, idleMs: 200 } },
  );
}

test("lists what the rules let in, with ETags as stamps; folder marks are none of it", async () => {
  server.put("notes/a.md", "alpha");
  server.put("notes/b.txt", "beta");
  server.put("notes/.hidden/c.md", "gamma");
  server.put("notes/large.md", "x".repeat(2000));
  server.put("notes/sub/", "");
  const config = { prefix: "notes/", maxFileBytes: 1000 };
  const first = await walk(treeOf({ ...config, exclude: ["*.txt"] }));
  assert.deepEqual(pathsOf(first.files), ["a.md"]);
  assert.deepEqual(first.skipped, [
    { path: "large.md", reason: "It has 2000 bytes; the limit is 1000.", isTooLarge: true },
  ]);
  assert.equal(first.files[0]?.modifiedAtMs, Date.parse("2024-05-01T10:00:00Z"));
  assert.match(first.files[0]?.stamp ?? "", /^[0-9a-f]{32}$/);
  server.put("notes/a.md", "ALPHA");
  const second = await walk(treeOf(config));
  assert.deepEqual(pathsOf(second.files), ["a.md", "b.txt"]);
  assert.notEqual(second.files[0]?.stamp, first.files[0]?.stamp);
  assert.deepEqual(server.reads, []);
});

test("any number of keys is listed, page by page", async () => {
  for (let i = 0; i < 2501; i++) server.put(`many/${i}.md`, "x");
  const { files } = await walk(treeOf({ prefix: "many/" }));
  assert.equal(new Set(pathsOf(files)).size, 2501);
  assert.equal(server.requests.length, 3);
});

const ODD = [
  ...["a b.md", "a+b.md", "a%20b.md", "100%.md", "ümlaut/ß.md", "du\u0308.md", "a//b.md", "/root.md", "what?#.md"],
  ...["../up.md", "a/../../up.md", "./a.md", "a/..", "b\\..\\c.md", "\u{1f980} '\"<&>.md", "tab\tand\nline.md"],
  ...["end. ", " begin.md", "(*)!~.md", "&amp;.md", "x".repeat(1024), "bell\u0007.md"],
];

test("keys are taken as they are, and no key leads to another object", async () => {
  server.put("up.md", "the wrong one");
  for (const key of [".", ".."]) server.put(key, "no address");
  for (const key of ODD) server.put(key, `the text of ${key}`);
  const tree = treeOf({ hidden: true });
  assert.deepEqual(pathsOf((await walk(tree)).files).toSorted(), [...ODD, "up.md"].toSorted());
  for (const key of ODD) {
    assert.equal(await textOf(tree, key), `the text of ${key}`);
    const { url } = tree.addressOf(key);
    assert.ok(new URL(url).href.startsWith(`${server.endpoint}/box/`), url);
  }
});

test("what was read to be hashed is given again without asking the service, once", async () => {
  server.put("a.md", "first words");
  const tree = treeOf();
  const [file] = (await walk(tree)).files;
  assert.equal(await textOf(tree, "a.md", file?.stamp), "first words");
  server.objects.clear();
  assert.equal(await textOf(tree, "a.md", file?.stamp), "first words");
  assert.deepEqual(await readdir(folder), []);
  await assert.rejects(textOf(tree, "a.md", file?.stamp), NotFoundError);
});

test("an object that was changed since it was listed is an error of now, not other bytes", async () => {
  server.put("a.md", "before");
  const tree = treeOf();
  const [file] = (await walk(tree)).files;
  server.put("a.md", "after");
  await assert.rejects(textOf(tree, "a.md", file?.stamp), /changed while it was read; the next run reads it again/);
  assert.equal(await textOf(tree, "a.md"), "after");
});

test("a service that does not know the condition gives no other bytes either", async () => {
  server.put("a.md", "before");
  const tree = treeOf();
  const [file] = (await walk(tree)).files;
  server.faults.push((_request, response) => response.writeHead(200, { etag: '"other"' }).end("after"));
  await assert.rejects(textOf(tree, "a.md", file?.stamp), /changed while it was read/);
});

test("archived objects cannot be read, and are not gone; restored ones can", async () => {
  server.put("a.md", "frozen", { storageClass: "GLACIER" });
  server.put("b.md", "deep frozen", { storageClass: "DEEP_ARCHIVE" });
  const thawing = "<IsRestoreInProgress>true</IsRestoreInProgress>";
  server.put("c.md", "thawing", { storageClass: "GLACIER", restore: thawing });
  const thawed = `<IsRestoreInProgress>false</IsRestoreInProgress><RestoreExpiryDate>2999-01-01T00:00:00.000Z</RestoreExpiryDate>`;
  server.put("d.md", "thawed", { storageClass: "GLACIER", restore: thawed });
  const { files, unreadable } = await walk(treeOf());
  assert.deepEqual(pathsOf(files), ["d.md"]);
  assert.deepEqual(
    unreadable.map(({ path, reason }) => [path, /before it is restored/.test(reason) ? "archived" : reason]),
    [
      ["a.md", "archived"],
      ["b.md", "archived"],
      ["c.md", "It is being restored from an archive class (Glacier), and cannot be read yet."],
    ],
  );
  assert.equal(await textOf(treeOf(), "d.md"), "thawed");
  await assert.rejects(
    textOf(treeOf(), "a.md"),
    (error) => error instanceof RemoteError && /before it is restored/.test(error.message),
  );
});

test("is read up to the limit, whatever the list said", async () => {
  server.put("a.md", "x".repeat(1001));
  await assert.rejects(textOf(treeOf({ maxFileBytes: 1000 }), "a.md"), /larger than the limit of 1000 bytes/);
});

test("a list that is cut is asked for again; one that never comes whole makes no complete look", async () => {
  for (let i = 0; i < 1001; i++) server.put(`${i}.md`, "x");
  const half = "<ListBucketResult><IsTruncated>false</IsTruncated><Contents><Key>a.md</Key>";
  server.faults.push(undefined, (_request, response) => {
    response.writeHead(200, { "content-length": 5000 }).write(half, () => response.destroy());
  });
  assert.equal((await walk(treeOf())).files.length, 1001);
  // Ends like one that is whole: only what it says tells.
  const cut = (): number => server.faults.push((_request, response) => send(response, 200, half));
  server.faults.push(undefined);
  for (let i = 0; i < 4; i++) cut();
  await assert.rejects(walk(treeOf()), /^RemoteError: Cannot read the bucket .*: S3 answered no list of objects$/);
});

test("a list that does not go on ends", async () => {
  const page =
    "<ListBucketResult><IsTruncated>true</IsTruncated><NextContinuationToken>same</NextContinuationToken></ListBucketResult>";
  for (let i = 0; i < 3; i++) server.faults.push((_request, response) => send(response, 200, page));
  await assert.rejects(walk(treeOf()), /its listing repeats a page/);
});

test("a body that is cut is asked for from there; one that never comes whole is no file, and none is kept", async () => {
  server.put("a.md", "ten bytes.");
  const tree = treeOf();
  const [file] = (await walk(tree)).files;
  const cut = (from: number, bytes: number): void => {
    server.faults.push((request, response) => {
      assert.equal(request.headers.range, from > 0 ? `bytes=${from}-` : undefined);
      assert.equal(request.headers["if-match"], `"${file?.stamp}"`);
      response.writeHead(from > 0 ? 206 : 200, { etag: `"${file?.stamp}"`, "content-length": 10 - from });
      response.write("ten bytes.".slice(from, from + bytes), () => setImmediate(() => response.destroy()));
    });
  };
  cut(0, 4);
  assert.equal(await textOf(tree, "a.md", file?.stamp), "ten bytes.");
  assert.equal(await textOf(tree, "a.md", file?.stamp), "ten bytes.");
  for (const from of [0, 1, 2, 3]) cut(from, 1);
  await assert.rejects(textOf(tree, "a.md", file?.stamp), /'a.md' was not received completely/);
  assert.deepEqual(await readdir(folder), []);
});

test("a service that is busy is asked again, when it says", async () => {
  server.put("a.md", "alpha");
  server.faults.push(
    (_request, response) => sendError(response, 503, "SlowDown", { "retry-after": "7" }),
    (_request, response) => sendError(response, 500, "InternalError"),
  );
  assert.deepEqual(pathsOf((await walk(treeOf())).files), ["a.md"]);
  assert.equal(waits[0], 7000);
  assert.ok((waits[1] ?? 0) >= 500 && (waits[1] ?? 0) <= 1000, String(waits[1]));
  for (let i = 0; i < 4; i++) server.faults.push((_request, response) => sendError(response, 503, "SlowDown"));
  await assert.rejects(walk(treeOf()), /Cannot read the bucket .*: S3 answered 503 SlowDown/);
  server.faults.push((_request, response) => sendError(response, 503, "SlowDown", { "retry-after": "3600" }));
  await assert.rejects(walk(treeOf()), /S3 answered 503 SlowDown/);
});

test("silence has an end", async () => {
  for (let i = 0; i < 4; i++) server.faults.push(() => undefined);
  await assert.rejects(walk(treeOf()), /Cannot read the bucket .*: no (answer|connection) within the time limit/);
});

test("what is cancelled ends at once, with the reason it was cancelled for", async () => {
  server.put("a.md", "alpha");
  const cancel = new AbortController();
  server.faults.push(() => cancel.abort(new Error("enough")));
  await assert.rejects(treeOf().walk(cancel.signal).next(), /enough/);
  const second = new AbortController();
  server.faults.push((_request, response) => {
    response.writeHead(200, { etag: '"1"', "content-length": 10 }).write("ten", () => second.abort(new Error("stop")));
  });
  const reading = async (): Promise<void> => {
    for await (const _ of treeOf().read("a.md", second.signal));
  };
  await assert.rejects(reading(), /stop/);
  assert.deepEqual(waits, []);
});
