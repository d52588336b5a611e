import assert from "node:assert/strict";
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import fc from "fast-check";
import type { FileId, ItemId, SourceId } from "../../src/contracts/ids.ts";
import { updateFilesMetadata } from "../../src/domains/files-metadata.ts";
import { type MetadataEntry, STANDARD_FIELDS } from "../../src/domains/files-metadata-codec.ts";
import { createFilesMetadataReader } from "../../src/domains/files-metadata-reader.ts";

type Json = Record<string, unknown>;

test("an embedded version becomes an entry with exactly the standard fields", async (t) => {
  const path = await metadataPath(t);
  assert.deepEqual(await embed(path, entry("file-1", "item-a")), []);
  const [written] = await readEntries(path);
  assert.deepEqual(written, {
    sharepoint_listitem_id: 123,
    sharepoint_unique_file_id: "item-a",
    openai_file_id: "file-1",
    file_relative_path: "DOMAIN01\\01_files\\source01\\02_embedded\\Reports\\Document.docx",
    url: "https://contoso.sharepoint.com/sites/Example/Shared%20Documents/Reports/Document.docx",
    raw_url: "https://contoso.sharepoint.com/sites/Example/Shared Documents/Reports/Document.docx",
    server_relative_url: "/sites/Example/Shared Documents/Reports/Document.docx",
    filename: "Document.docx",
    file_type: "docx",
    file_size: 864368,
    last_modified_utc: "2024-01-15T10:30:00.000000Z",
    last_modified_timestamp: 1705314600,
    embedded_utc: "2024-01-16T14:20:00.000000Z",
    source_id: "source01",
    source_type: "file_sources",
  });
  assert.deepEqual(new Set(Object.keys(written ?? {})), STANDARD_FIELDS);
});

test("custom properties follow the item from its newest earlier version, and the history stays", async (t) => {
  const path = await metadataPath(t);
  const old = { ...(await firstEntry(path)), topic: "old", only_old: 1, embedded_utc: "2024-01-01T00:00:00.000000Z" };
  const newer = { ...old, openai_file_id: "file-0", topic: "newer", embedded_utc: "2024-02-01T00:00:00.000000Z" };
  const { only_old: _dropped, ...newest } = newer;
  await writeFile(path, JSON.stringify([newest, old, { ...old, sharepoint_unique_file_id: "item-b", topic: "b" }]));
  await embed(path, { ...entry("file-2", "item-a"), size: 9 }, entry("file-3", "item-c"));
  const entries = await readEntries(path);
  assert.deepEqual(entries.slice(0, 2), [newest, old]);
  const second = entries.find((candidate) => candidate["openai_file_id"] === "file-2");
  assert.deepEqual([second?.["topic"], second?.["only_old"], second?.["file_size"]], ["newer", undefined, 9]);
  assert.equal(entries.find((candidate) => candidate["openai_file_id"] === "file-3")?.["topic"], undefined);
  assert.equal(entries.length, 5);
});

test("a known file id is not recorded twice, and without a change nothing is written", async (t) => {
  const path = await metadataPath(t);
  await embed(path, entry("file-1", "item-a"));
  const before = await stat(path);
  await embed(path, entry("file-1", "item-a"));
  await updateFilesMetadata(path, []);
  assert.equal((await stat(path)).ino, before.ino);
  assert.equal((await readEntries(path)).length, 1);
});

test("a rename or touch changes what the label says of the entry and nothing else", async (t) => {
  const path = await metadataPath(t);
  const first = { ...(await firstEntry(path)), topic: "kept" };
  await writeFile(path, JSON.stringify([first]));
  const moved = {
    ...entry("file-1", "item-a"),
    name: "New.docx",
    file: "DOMAIN01/01_files/source01/02_embedded/New.docx",
    url: "https://x/New.docx",
    rawUrl: "https://x/New.docx",
    serverPath: "/New.docx",
    size: 1,
    embeddedAt: "2030-01-01T00:00:00.000000Z",
  };
  await updateFilesMetadata(path, [moved, { ...moved, fileId: "file-9" as FileId }]);
  const [renamed, unknown, ...rest] = await readEntries(path);
  assert.deepEqual(renamed, {
    ...first,
    filename: "New.docx",
    file_relative_path: "DOMAIN01\\01_files\\source01\\02_embedded\\New.docx",
    url: "https://x/New.docx",
    raw_url: "https://x/New.docx",
    server_relative_url: "/New.docx",
    file_size: 1,
  });
  assert.deepEqual([unknown?.["openai_file_id"], unknown?.["topic"]], ["file-9", "kept"]);
  assert.equal(rest.length, 0);
});

test("files of other writers are read: marks, UTF-16, empty", async (t) => {
  const text = JSON.stringify([{ openai_file_id: "file-0\t", title: "Übersicht" }]);
  const bigEndian = Buffer.from(`\ufeff${text}`, "utf16le").swap16();
  for (const bytes of [
    Buffer.from(`\ufeff${text}`),
    Buffer.from(`\ufeff${text}`, "utf16le"),
    Buffer.from(text, "utf16le"),
    bigEndian,
  ]) {
    const path = await metadataPath(t);
    await writeFile(path, bytes);
    assert.equal((await createFilesMetadataReader().find(path, ["file-0"])).get("file-0")?.["title"], "Übersicht");
    assert.deepEqual(await embed(path, entry("file-1", "item-a")), []);
    assert.deepEqual(
      (await readEntries(path)).map(({ title }) => title),
      ["Übersicht", undefined],
    );
  }
  for (const empty of ["", " \n", "\ufeff", "[]"]) {
    const path = await metadataPath(t);
    await writeFile(path, empty);
    assert.deepEqual(await embed(path, entry("file-1", "item-a")), []);
    assert.equal((await readEntries(path)).length, 1);
  }
});

test("a damaged file is moved aside with a warning, never overwritten", async (t) => {
  for (const damaged of [
    Buffer.from('[{"openai_file_id": "file-0"'),
    Buffer.from("{}"),
    Buffer.from([0x5b, 0xff, 0x5d]),
  ]) {
    const path = await metadataPath(t);
    await writeFile(path, damaged);
    assert.equal((await createFilesMetadataReader().find(path, ["file-0"])).size, 0);
    const warnings = await embed(path, entry("file-1", "item-a"));
    assert.equal(warnings.length, 1);
    const aside = (await readdir(join(path, ".."))).filter((name) => name.includes(".corrupt-"));
    assert.equal(aside.length, 1);
    assert.ok(warnings[0]?.includes(aside[0] ?? "?"));
    assert.deepEqual(await readFile(join(path, "..", aside[0] ?? "")), damaged);
    assert.equal((await readEntries(path)).length, 1);
  }
});

test("many updates at once lose nothing", async (t) => {
  const path = await metadataPath(t);
  await Promise.all(Array.from({ length: 20 }, (_, i) => embed(path, entry(`file-${i}`, `item-${i}`))));
  const ids = (await readEntries(path)).map((written) => written["openai_file_id"]);
  assert.deepEqual(new Set(ids).size, 20);
});

test("whatever custom properties there are, they arrive at the next version", async (t) => {
  const path = await metadataPath(t);
  const keys = fc.oneof(fc.string(), fc.constantFrom("__proto__", "constructor", "toString"));
  const custom = fc.dictionary(
    keys.filter((key) => !STANDARD_FIELDS.has(key)),
    fc.jsonValue(),
  );
  await fc.assert(
    fc.asyncProperty(custom, async (properties) => {
      const old = Object.entries({ ...properties, sharepoint_unique_file_id: "item-a", openai_file_id: "file-0" });
      await writeFile(
        path,
        `[{${old.map(([key, value]) => `${JSON.stringify(key)}:${JSON.stringify(value)}`).join()}}]`,
      );
      await embed(path, entry("file-1", "item-a"));
      const [before, after] = await readEntries(path);
      for (const key of Object.keys(before ?? {})) {
        if (!STANDARD_FIELDS.has(key)) assert.deepEqual(after?.[key], before?.[key]);
        assert.ok(Object.hasOwn(after ?? {}, key));
      }
    }),
    { numRuns: 60 },
  );
});

test("what is not changed stays as it was written, to the last digit", async (t) => {
  const path = await metadataPath(t);
  const theirs = '{ "openai_file_id":"file-0", "sharepoint_unique_file_id":"item-z", "big": 12345678901234567890 }';
  await writeFile(path, `[${theirs}]`);
  await embed(path, entry("file-1", "item-a"));
  const written = await readFile(path, "utf8");
  assert.ok(written.startsWith(`[\n  ${theirs},\n  {\n    "sharepoint_listitem_id": 123,\n`), written);
  assert.ok(written.endsWith("\n  }\n]\n"), written);
});

test("the reader follows the file", async (t) => {
  const path = await metadataPath(t);
  const reader = createFilesMetadataReader();
  const find = async (fileId: string): Promise<Readonly<Json> | undefined> =>
    (await reader.find(path, [fileId])).get(fileId);
  assert.equal(await find("file-1"), undefined);
  await embed(path, entry("file-1", "item-a"));
  assert.equal((await find("file-1"))?.["filename"], "Document.docx");
  assert.deepEqual(await Promise.all([find("file-1"), find("file-1")]), await twice(path));
  await updateFilesMetadata(path, [{ ...entry("file-1", "item-a"), name: "Documenz.docx" }]);
  assert.equal((await find("file-1"))?.["filename"], "Documenz.docx");
  await embed(path, entry("file-2", "item-b"), entry("file-3", "item-c"));
  const several = await reader.find(path, ["file-3", "nobody", "file-1", "file-3"]);
  assert.deepEqual(
    [...several].map(([fileId, found]) => [fileId, found["sharepoint_unique_file_id"]]),
    [
      ["file-3", "item-c"],
      ["file-1", "item-a"],
    ],
  );
  await rm(path);
  assert.equal(await find("file-1"), undefined);
});

async function twice(path: string): Promise<Json[]> {
  const [first] = await readEntries(path);
  return first ? [first, first] : [];
}

function entry(fileId: string, itemId: string): MetadataEntry {
  return {
    itemId: itemId as ItemId,
    fileId: fileId as FileId,
    listItemId: 123,
    file: "DOMAIN01/01_files/source01/02_embedded/Reports/Document.docx",
    url: "https://contoso.sharepoint.com/sites/Example/Shared%20Documents/Reports/Document.docx",
    rawUrl: "https://contoso.sharepoint.com/sites/Example/Shared Documents/Reports/Document.docx",
    serverPath: "/sites/Example/Shared Documents/Reports/Document.docx",
    name: "Document.docx",
    fileType: "docx",
    size: 864368,
    modifiedAt: "2024-01-15T10:30:00.000000Z",
    embeddedAt: "2024-01-16T14:20:00.000000Z",
    sourceId: "source01" as SourceId,
    sourceType: "file_sources",
  };
}

function embed(path: string, ...embedded: MetadataEntry[]): Promise<readonly string[]> {
  return updateFilesMetadata(path, embedded);
}

async function firstEntry(path: string): Promise<Json> {
  await embed(path, entry("file-1", "item-a"));
  return (await readEntries(path))[0] ?? assert.fail("nothing was written");
}

async function readEntries(path: string): Promise<Json[]> {
  return JSON.parse(await readFile(path, "utf8")) as Json[];
}

async function metadataPath(t: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "lockstep-metadata-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  return join(folder, "files_metadata.json");
}
