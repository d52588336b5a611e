import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import fc from "fast-check";
import type { FileId, ItemId, SourceId, VectorStoreId } from "../../src/contracts/ids.ts";
import type { Indexed, LedgerEntry, Mirrored, Seen } from "../../src/contracts/ledger.ts";
import { CsvLedger } from "../../src/ledgers/csv-maps/csv-ledger.ts";
import { heldBytes } from "../../src/ledgers/csv-maps/table-bytes.ts";

const folders: string[] = [];
after(async () => {
  for (const folder of folders) await rm(folder, { recursive: true, force: true });
});

async function newFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "lockstep-ledger-"));
  folders.push(folder);
  return folder;
}

const open = (folder: string, step: "download" | "embed" = "download") =>
  CsvLedger.open({ folder, sourceId: "s" as SourceId, step });

async function filesOf(ledger: CsvLedger): Promise<Map<ItemId, string>> {
  const files = new Map<ItemId, string>();
  for await (const page of ledger.files()) for (const { itemId, file } of page) files.set(itemId, file);
  return files;
}

const id = (text: string) => text as ItemId;
const at = "2024-01-15T10:30:00.000000Z";
const seen: Seen = {
  listItemId: 7,
  name: "Q1, final.docx",
  serverPath: "/sites/demo/Shared Documents/Reports/Q1, final.docx",
  url: "https://contoso.sharepoint.com/sites/demo/Shared%20Documents/Reports/Q1,%20final.docx",
  rawUrl: "https://contoso.sharepoint.com/sites/demo/Shared Documents/Reports/Q1, final.docx",
  size: 864368,
  modifiedAt: at,
};
const mirrored: Mirrored = {
  listItemId: 7,
  name: "Q1, final.docx",
  serverPath: seen.serverPath,
  file: "DEMO/01_files/docs/02_embedded/Reports/Q1, final.docx",
  fingerprint: { size: 864368, modifiedAt: at, etag: '"{AB},3"', contentVersion: "2" },
  downloadedAt: at,
  sourceError: "",
  processingError: "",
  observed: { size: 864370, mtimeMs: 1705314600000, sha256: "ab".repeat(32) },
};
const indexed: Indexed = {
  fileId: "file-1" as FileId,
  vectorStoreId: "vs_1" as VectorStoreId,
  file: mirrored.file,
  listItemId: 7,
  name: "Q1, final.docx",
  size: 864368,
  modifiedAt: at,
  downloadedAt: at,
  uploadedAt: at,
  embeddedAt: at,
  sourceError: "",
  processingError: "",
  embeddingError: "",
  sha256: "ab".repeat(32),
};

async function all(ledger: CsvLedger): Promise<Map<string, LedgerEntry>> {
  const found = new Map<string, LedgerEntry>();
  for await (const page of ledger.entries()) for (const entry of page) found.set(entry.itemId, entry);
  return found;
}

test("the files have exactly the specified columns, 10, 13 and 19, and backslashes in paths", async () => {
  const folder = await newFolder();
  const ledger = await open(folder);
  ledger.put(id("a"), { seen, mirrored, indexed });
  await ledger.close();
  const lines = async (name: string) => (await readFile(join(folder, name), "utf8")).split("\r\n");
  const [seenHeader = "", seenRow] = await lines("sharepoint_map.csv");
  assert.equal(seenHeader.split(",").length, 10);
  assert.equal(
    seenRow,
    '7,a,"Q1, final.docx",docx,864368,"https://contoso.sharepoint.com/sites/demo/Shared%20Documents/Reports/Q1,%20final.docx","https://contoso.sharepoint.com/sites/demo/Shared Documents/Reports/Q1, final.docx","/sites/demo/Shared Documents/Reports/Q1, final.docx",2024-01-15T10:30:00.000000Z,1705314600',
  );
  const [filesHeader = "", filesRow = ""] = await lines("files_map.csv");
  assert.equal(filesHeader.split(",").length, 13);
  assert.ok(filesRow.includes("DEMO\\01_files\\docs\\02_embedded\\Reports\\Q1, final.docx"));
  const [storeHeader = ""] = await lines("vectorstore_map.csv");
  assert.equal(storeHeader.split(",").length, 19);
});

test("what was put is read again, and an unchanged ledger writes nothing", async () => {
  const folder = await newFolder();
  const ledger = await open(folder);
  ledger.put(id("a"), { seen, mirrored, indexed });
  ledger.put(id("b"), { seen: { ...seen, name: "x.zip" } });
  await ledger.close();
  const again = await open(folder, "embed");
  const entry = await again.get(id("a"));
  assert.deepEqual([entry?.seen, entry?.mirrored, entry?.indexed], [seen, mirrored, indexed]);
  assert.deepEqual([...(await all(again)).keys()].sort(), ["a", "b"]);
  const inodes = async () =>
    Promise.all(
      ["sharepoint_map.csv", "files_map.csv", "vectorstore_map.csv"].map(
        async (name) => (await stat(join(folder, name))).ino,
      ),
    );
  const before = await inodes();
  again.put(id("a"), { seen, mirrored, indexed });
  await again.close();
  assert.deepEqual(await inodes(), before);
});

test("an entry is what it was when it was asked for, whatever is put later", async () => {
  const ledger = await open(await newFolder());
  ledger.put(id("a"), { seen, mirrored });
  const before = await ledger.get(id("a"));
  ledger.put(id("a"), { seen: null, mirrored: { ...mirrored, file: "" } });
  assert.deepEqual([before?.seen, before?.mirrored], [seen, mirrored]);
  await ledger.close();
});

test("flushed rows survive a run that never closed; unflushed ones may not", async () => {
  const folder = await newFolder();
  const first = await open(folder);
  first.put(id("a"), { seen, mirrored });
  await first.close();
  const killed = await open(folder);
  killed.put(id("b"), { seen, mirrored });
  killed.put(id("a"), { mirrored: { ...mirrored, sourceError: "timeout" } });
  await killed.flush();
  assert.ok(existsSync(join(folder, ".lockstep", "journal-download.jsonl")));
  const next = await open(folder);
  const entries = await all(next);
  assert.deepEqual([...entries.keys()].sort(), ["a", "b"]);
  assert.equal(entries.get("a")?.mirrored?.sourceError, "timeout");
  assert.ok(!existsSync(join(folder, ".lockstep", "journal-download.jsonl")), "recovered into the map files at once");
});

test("a journal line cut by a crash is ignored, the lines before it count", async () => {
  const folder = await newFolder();
  const killed = await open(folder);
  killed.put(id("a"), { seen });
  await killed.flush();
  const path = join(folder, ".lockstep", "journal-download.jsonl");
  await writeFile(path, `${await readFile(path, "utf8")}{"table":"seen","key":"b","bef`);
  const next = await open(folder);
  assert.deepEqual([...(await all(next)).keys()], ["a"]);
  next.put(id("c"), { seen });
  await next.flush();
  assert.deepEqual([...(await all(await open(folder))).keys()].sort(), ["a", "c"]);
});

test("a row that somebody edited or deleted in the CSV overrides a journal left behind", async () => {
  const folder = await newFolder();
  const first = await open(folder);
  first.put(id("a"), { seen });
  first.put(id("b"), { seen });
  await first.close();
  const killed = await open(folder);
  killed.put(id("a"), { seen: { ...seen, name: "ours.docx" } });
  killed.put(id("b"), { seen: { ...seen, name: "ours.docx" } });
  await killed.flush();
  const path = join(folder, "sharepoint_map.csv");
  const [header = "", a = ""] = (await readFile(path, "utf8")).split("\r\n");
  await writeFile(path, `${header}\r\n${a.replace('"Q1, final.docx"', "theirs.docx")}\r\n`);
  const entries = await all(await open(folder));
  assert.equal(entries.get("a")?.seen?.name, "theirs.docx");
  assert.equal(entries.get("b"), undefined);
});

test("two steps at once: each keeps its own columns", async () => {
  const folder = await newFolder();
  const first = await open(folder);
  first.put(id("a"), { seen, mirrored });
  await first.close();
  const download = await open(folder, "download");
  const embed = await open(folder, "embed");
  embed.put(id("a"), { indexed, mirrored: { ...mirrored, processingError: "from embed" } });
  await embed.close();
  download.put(id("a"), { mirrored: { ...mirrored, sourceError: "from download" } });
  download.put(id("b"), { seen });
  await download.close();
  const entry = await (await open(folder)).get(id("a"));
  assert.equal(entry?.mirrored?.sourceError, "from download");
  assert.equal(entry?.mirrored?.processingError, "from embed");
  assert.equal(entry?.indexed?.fileId, "file-1");
  assert.equal(entry?.indexed?.sha256, indexed.sha256);
});

test("rows put while the map files are being written are not lost", async () => {
  const folder = await newFolder();
  const ledger = await open(folder);
  ledger.put(id("a"), { seen });
  const closing = ledger.close();
  ledger.put(id("b"), { seen });
  await closing;
  ledger.put(id("c"), { seen });
  await ledger.close();
  assert.deepEqual([...(await all(await open(folder))).keys()].sort(), ["a", "b", "c"]);
});

for (const [title, content] of [
  ["another header", "corrupted,data\r\n1,2\r\n"],
  ["a row with too few fields", undefined],
  ["a row cut in the middle", null],
] as const) {
  test(`B7 corrupt map: ${title} is set aside with a warning, never read as blank rows`, async () => {
    const folder = await newFolder();
    const ledger = await open(folder);
    ledger.put(id("a"), { seen, mirrored });
    await ledger.close();
    const path = join(folder, "files_map.csv");
    const good = await readFile(path, "utf8");
    await writeFile(path, content ?? (content === null ? good.slice(0, -30) : `${good}1,2,3\r\n`));
    const next = await open(folder);
    assert.equal((await next.get(id("a")))?.mirrored, null);
    assert.match(next.problems.join(), /files_map.csv cannot be used/);
    assert.equal((await readdir(folder)).filter((name) => name.startsWith("files_map.csv.corrupt-")).length, 1);
  });
}

test("reading only: a dry run leaves no trace", async () => {
  const folder = join(await newFolder(), "not", "there");
  const ledger = await CsvLedger.open({ folder, sourceId: "s" as SourceId, step: "download", readOnly: true });
  assert.deepEqual(await all(ledger), new Map());
  assert.throws(() => ledger.put(id("a"), { seen }), /reading only/);
  await ledger.close();
  assert.ok(!existsSync(folder));
});

test("files with a BOM, LF line ends and quoted keys are read", async () => {
  const folder = await newFolder();
  const ledger = await open(folder);
  ledger.put(id('odd "id", really'), { seen });
  ledger.put(id("b"), { seen });
  await ledger.close();
  const path = join(folder, "sharepoint_map.csv");
  await writeFile(path, `\uFEFF${(await readFile(path, "utf8")).replaceAll("\r\n", "\n")}`);
  assert.deepEqual([...(await all(await open(folder))).keys()].sort(), ["b", 'odd "id", really']);
});

test("property: any history of puts, kills and reopenings ends with what was flushed last", async () => {
  const text = fc.string({ unit: "grapheme", maxLength: 8 });
  const step = fc.oneof(
    fc.record({ kind: fc.constant("put" as const), key: fc.constantFrom("k1", "k2", "k3"), name: text, error: text }),
    fc.record({ kind: fc.constant("drop" as const), key: fc.constantFrom("k1", "k2", "k3") }),
    fc.record({ kind: fc.constantFrom("kill" as const, "close" as const) }),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 12 }), async (history) => {
      const folder = await newFolder();
      const expected = new Map<string, string>();
      let ledger = await open(folder);
      for (const event of history) {
        if (event.kind === "put") {
          ledger.put(id(event.key), {
            seen: { ...seen, name: event.name },
            mirrored: { ...mirrored, sourceError: event.error },
          });
          expected.set(event.key, `${event.name}|${event.error}`);
        } else if (event.kind === "drop") {
          ledger.put(id(event.key), { seen: null, mirrored: null });
          expected.delete(event.key);
        } else {
          await (event.kind === "kill" ? ledger.flush() : ledger.close());
          ledger = await open(folder);
        }
      }
      await ledger.close();
      const entries = await all(await open(folder));
      const found = new Map(
        [...entries].map(([key, entry]) => [key, `${entry.seen?.name}|${entry.mirrored?.sourceError}`]),
      );
      assert.deepEqual(new Map([...found].sort()), new Map([...expected].sort()));
    }),
    { numRuns: 40 },
  );
});

test("a file too large to be held in memory is read where it lies, and changed like any other", async () => {
  const folder = await newFolder();
  const name = (i: number): string => `Q${i}, "final"\nüß ${"x".repeat(i % 90)}.docx`;
  const file = (i: number): string => `DEMO/01_files/docs/02_embedded/${name(i)}`;
  const first = await open(folder);
  for (let i = 0; i < 6000; i++) first.put(id(`i${i}`), { seen, mirrored: { ...mirrored, file: file(i) } });
  await first.close();
  const { atMost } = heldBytes;
  heldBytes.atMost = 0;
  try {
    const large = await CsvLedger.open({ folder, sourceId: "s" as SourceId, step: "embed" });
    const at = async (i: number): Promise<string | undefined> => (await large.get(id(`i${i}`)))?.mirrored?.file;
    // Here and there, then one after the other.
    for (const i of [5999, 0, 1500, 1501, 7, 5998]) assert.equal(await at(i), file(i));
    assert.equal((await filesOf(large)).size, 6000);
    for (let i = 0; i < 6000; i += 500) large.put(id(`i${i}`), { mirrored: { ...mirrored, file: `changed/${i}` } });
    large.put(id("i1"), { seen: null, mirrored: null });
    large.put(id("new"), { seen });
    await large.settle();
    assert.deepEqual([await at(500), await at(501), await at(1)], ["changed/500", file(501), undefined]);
    await large.close();
    const again = await CsvLedger.open({ folder, sourceId: "s" as SourceId, step: "embed", readOnly: true });
    const files = await filesOf(again);
    assert.equal(files.size, 5999);
    for (let i = 2; i < 6000; i++) assert.equal(files.get(id(`i${i}`)), i % 500 === 0 ? `changed/${i}` : file(i));
    assert.deepEqual((await again.get(id("new")))?.seen, seen);
    // Somebody writes into the file instead of replacing it: its rows are not where they were.
    const other = await CsvLedger.open({ folder, sourceId: "s" as SourceId, step: "embed", readOnly: true });
    await writeFile(join(folder, "files_map.csv"), "nothing of it");
    await assert.rejects(async () => (await other.get(id("i77")))?.mirrored, /was written to while it was being read/);
  } finally {
    heldBytes.atMost = atMost;
  }
});
