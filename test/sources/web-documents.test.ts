// Documents and snapshots of web pages are kept under their item.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { existsSync, mkdtempSync, readdirSync, rmSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { BlobServiceClient } from "@azure/storage-blob";
import type { ItemId } from "../../src/contracts/ids.ts";
import { snapshotsInAzure } from "../../src/sources/web/azure-snapshots.ts";
import { createWebDocuments, type SnapshotStore } from "../../src/sources/web/web-documents.ts";
import { startAzurite } from "../azurite.ts";

const root = mkdtempSync(join(tmpdir(), "web-documents-"));
after(() => rmSync(root, { recursive: true }));

const PAGE = `url_${"abcd".repeat(6)}e2` as ItemId;
const OTHER = `file_${"wxyz".repeat(6)}37` as ItemId;
const bytes = (text: string): Uint8Array => Buffer.from(text);
const hash = (text: string): string => `sha256:${createHash("sha256").update(text).digest("hex")}`;

let folders = 0;
function open(keepSnapshotsDays = 0, snapshots?: SnapshotStore) {
  folders += 1;
  const folder = join(root, String(folders));
  return { folder, documents: createWebDocuments({ folder, keepSnapshotsDays, snapshots }) };
}

function filesBelow(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((name) => statSync(join(folder, name)).isFile())
    .sort();
}

test("a document is found under its item and its content only, and replaced by the next", async () => {
  const { folder, documents } = open();
  await documents.put(PAGE, bytes("one"));
  await documents.put(OTHER, bytes("two"));
  assert.deepEqual(await documents.get(PAGE, hash("one")), Buffer.from("one"));
  assert.equal(await documents.get(PAGE, hash("two")), undefined);
  await documents.put(PAGE, bytes("three"));
  assert.equal(await documents.get(PAGE, hash("one")), undefined);
  assert.deepEqual(await documents.get(PAGE, hash("three")), Buffer.from("three"));
  assert.deepEqual(filesBelow(folder), [`ab/cd/${PAGE}`, `wx/yz/${OTHER}`]);
  await documents.delete(PAGE);
  assert.equal(await documents.get(PAGE, hash("three")), undefined);
  assert.deepEqual(await documents.get(OTHER, hash("two")), Buffer.from("two"));
});

test("a document that a power cut left damaged is not here", async () => {
  const { folder, documents } = open();
  await documents.put(PAGE, bytes("a whole document"));
  writeFileSync(join(folder, "ab/cd", PAGE), "a whole");
  assert.equal(await documents.get(PAGE, hash("a whole document")), undefined);
  writeFileSync(join(folder, "ab/cd", PAGE), "");
  assert.equal(await documents.get(PAGE, hash("a whole document")), undefined);
});

test("only the ids of items become paths", async () => {
  const { documents } = open(7);
  for (const id of ["../../etc/passwd", `url_${"a".repeat(25)}/`, "url_", `URL_${"a".repeat(26)}`, `${PAGE}\n`, ""]) {
    await assert.rejects(documents.get(id as ItemId, hash("x")), /An item's id is/, JSON.stringify(id));
    await assert.rejects(documents.put(id as ItemId, bytes("x")), /An item's id is/);
    await assert.rejects(documents.delete(id as ItemId), /An item's id is/);
    await assert.rejects(
      documents.keepSnapshot(id as ItemId, "2026-11-16T09:00:00Z", bytes("x"), "text/html"),
      /An item's id is/,
    );
  }
});

test("snapshots are kept when asked, oldest first, with the ending of their type", async () => {
  const { documents } = open(7);
  await documents.keepSnapshot(PAGE, "2026-11-16T09:13:29.123Z", bytes("<p>2"), "text/html; charset=utf-8");
  await documents.keepSnapshot(PAGE, "2026-11-16T09:13:28Z", bytes("1"), "application/x-odd");
  const kept = await documents.snapshots(PAGE);
  assert.deepEqual(
    kept.map(({ at, bytes: size, path }) => [at, size, path.split("/").at(-1)]),
    [
      ["2026-11-16T09:13:28.000Z", 1, "20261116T091328000.bin"],
      ["2026-11-16T09:13:29.123Z", 4, "20261116T091329123.html"],
    ],
  );
  assert.deepEqual(await documents.snapshots(OTHER), []);
  await assert.rejects(documents.keepSnapshot(PAGE, "../../x", bytes("1"), "text/html"), /no instant/);
  await documents.delete(PAGE);
  assert.deepEqual(await documents.snapshots(PAGE), []);
});

test("in Azure, snapshots are blobs under the same names, and leave as those of a folder do", async () => {
  const azurite = await startAzurite();
  try {
    const snapshots = snapshotsInAzure(azurite.account, "lockstep-snapshots");
    const { folder, documents } = open(7, snapshots);
    assert.deepEqual([await documents.snapshots(PAGE), await documents.removeOld(new Date())], [[], 0]);
    await documents.delete(PAGE);
    for (const [item, at, text] of [
      [PAGE, "2026-11-16T09:13:28Z", "1"],
      [PAGE, "2026-11-16T09:13:29Z", "<p>2"],
      [OTHER, "2026-11-16T09:13:29Z", "3"],
    ] as const)
      await documents.keepSnapshot(item, at, bytes(text), "text/html; charset=utf-8");
    const client = BlobServiceClient.fromConnectionString(azurite.connectionString);
    const kept = await documents.snapshots(PAGE);
    assert.deepEqual(
      kept.map(({ at, bytes: size, path }) => [at, size, path]),
      [
        ["2026-11-16T09:13:28.000Z", 1, `${client.url}/lockstep-snapshots/ab/${PAGE}/20261116T091328000.html`],
        ["2026-11-16T09:13:29.000Z", 4, `${client.url}/lockstep-snapshots/ab/${PAGE}/20261116T091329000.html`],
      ],
    );
    const blob = client.getContainerClient("lockstep-snapshots").getBlobClient(`ab/${PAGE}/20261116T091329000.html`);
    assert.equal((await blob.downloadToBuffer()).toString(), "<p>2");
    assert.ok(!existsSync(join(folder, "snapshots")));
    await documents.delete(PAGE);
    assert.deepEqual([await documents.snapshots(PAGE), (await documents.snapshots(OTHER)).length], [[], 1]);
    assert.equal(await documents.removeOld(new Date(Date.now() + 6 * 86_400_000)), 0);
    assert.equal(await documents.removeOld(new Date(Date.now() + 8 * 86_400_000)), 1);
  } finally {
    await azurite.stop();
  }
});

test("no snapshot is kept by default", async () => {
  const { documents } = open();
  await documents.keepSnapshot(PAGE, "2026-11-16T09:13:29Z", bytes("x"), "text/html");
  assert.deepEqual(await documents.snapshots(PAGE), []);
});

test("what is old leaves: documents after 30 days, snapshots when they were asked to, half-written files too", async () => {
  const { folder, documents } = open(7);
  const now = new Date("2026-11-16T00:00:00Z");
  await documents.put(PAGE, bytes("old"));
  await documents.put(OTHER, bytes("new"));
  await documents.keepSnapshot(PAGE, "2026-11-01T00:00:00Z", bytes("old"), "text/html");
  await documents.keepSnapshot(PAGE, "2026-11-12T00:00:00Z", bytes("new"), "text/html");
  writeFileSync(join(folder, "ab/cd", `${PAGE}.1-ab.tmp`), "half");
  const written = (path: string, day: string): void => utimesSync(path, new Date(day), new Date(day));
  const [older, newer] = await documents.snapshots(PAGE);
  written(join(folder, "ab/cd", PAGE), "2026-10-16");
  written(join(folder, "ab/cd", `${PAGE}.1-ab.tmp`), "2026-10-10");
  written(join(folder, "wx/yz", OTHER), "2026-10-18");
  written(older?.path ?? "", "2026-11-01");
  written(newer?.path ?? "", "2026-11-12");
  assert.equal(await documents.removeOld(now), 3);
  assert.equal(await documents.get(PAGE, hash("old")), undefined);
  assert.deepEqual(await documents.get(OTHER, hash("new")), Buffer.from("new"));
  assert.deepEqual(await documents.snapshots(PAGE), [newer]);
  assert.equal(await documents.removeOld(now), 0);
});

test("nothing kept yet is nothing to remove", async () => {
  assert.equal(await open().documents.removeOld(new Date()), 0);
});
