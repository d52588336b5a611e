import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import fc from "fast-check";
import type { FileId, ItemId, SourceId, VectorStoreId } from "../../src/contracts/ids.ts";
import type { Indexed, LedgerEntry, Mirrored, Seen } from "../../src/contracts/ledger.ts";
import { CsvLedger } from "../../src/ledgers/csv-maps/csv-ledger.ts";
import { foldTails, laggingMaps } from "../../src/ledgers/csv-maps/fold-tails.ts";
import { versionOfMaps } from "../../src/ledgers/csv-maps/map-files.ts";
import { renamePaths } from "../../src/ledgers/csv-maps/rename-paths.ts";
import { TableIndex } from "../../src/ledgers/csv-maps/table-index.ts";
import { fileStamp } from "../../src/lib/file-stamp.ts";

const folders: string[] = [];
after(async () => {
  for (const folder of folders) await rm(folder, { recursive: true, force: true });
});

async function newFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "lockstep-ledger-"));
  folders.push(folder);
  return folder;
}

const FORMS = {
  "map files in memory": {},
  "map files left on disk": { heldBytes: 0 },
  "map files left on disk, with tails": { heldBytes: 0, mayLag: true },
} as const;

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

for (const [form, options] of Object.entries(FORMS)) {
  describe(form, () => {
    const open = (folder: string, step: "download" | "embed" = "download") =>
      CsvLedger.open({ folder, sourceId: "s" as SourceId, step, ...options });

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
      assert.ok(
        !existsSync(join(folder, ".lockstep", "journal-download.jsonl")),
        "recovered into the map files at once",
      );
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

    test("whatever is put, killed and opened again, what was flushed last is there", async () => {
      const text = fc.string({ unit: "grapheme", maxLength: 8 });
      const step = fc.oneof(
        fc.record({
          kind: fc.constant("put" as const),
          key: fc.constantFrom("k1", "k2", "k3"),
          name: text,
          error: text,
        }),
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
      const large = await CsvLedger.open({ folder, sourceId: "s" as SourceId, step: "embed", ...options });
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
      const again = await CsvLedger.open({
        folder,
        sourceId: "s" as SourceId,
        step: "embed",
        readOnly: true,
        ...options,
      });
      const files = await filesOf(again);
      assert.equal(files.size, 5999);
      for (let i = 2; i < 6000; i++) assert.equal(files.get(id(`i${i}`)), i % 500 === 0 ? `changed/${i}` : file(i));
      assert.deepEqual((await again.get(id("new")))?.seen, seen);
      if (!("heldBytes" in options)) return;
      // Somebody writes into the file instead of replacing it: its rows are not where they were.
      const other = await CsvLedger.open({
        folder,
        sourceId: "s" as SourceId,
        step: "embed",
        readOnly: true,
        ...options,
      });
      await writeFile(join(folder, "files_map.csv"), "nothing of it");
      await assert.rejects(
        async () => (await other.get(id("i77")))?.mirrored,
        /was written to while it was being read/,
      );
    });
  });
}

describe("large map files with tails", () => {
  const file = (i: number): string => `DEMO/05_folders/docs/02_embedded/${i}.txt`;
  const options = { sourceId: "s" as SourceId, step: "download", heldBytes: 0, mayLag: true } as const;
  const mapOf = (folder: string): Promise<string> => readFile(join(folder, "files_map.csv"), "utf8");
  const tailIn = (folder: string): string => join(folder, ".lockstep", "tail-mirrored.jsonl");

  async function filled(): Promise<string> {
    const folder = await newFolder();
    const ledger = await CsvLedger.open({ folder, ...options });
    for (let i = 0; i < 300; i++) ledger.put(id(`i${i}`), { seen, mirrored: { ...mirrored, file: file(i) } });
    await ledger.close();
    return folder;
  }

  async function change(folder: string, item: string, to: string | null): Promise<string> {
    const ledger = await CsvLedger.open({ folder, ...options });
    ledger.put(id(item), { mirrored: to === null ? null : { ...mirrored, file: to } });
    await ledger.close();
    return ledger.version();
  }

  async function fileOf(folder: string, item: string): Promise<string | undefined> {
    const ledger = await CsvLedger.open({ folder, ...options, readOnly: true });
    return (await ledger.get(id(item)))?.mirrored?.file;
  }

  test("a change waits in the tail, and whoever opens the ledger sees it", async () => {
    const folder = await filled();
    const before = await mapOf(folder);
    const version = await versionOfMaps(folder);
    const after = await change(folder, "i7", "changed");
    assert.equal(await mapOf(folder), before);
    assert.equal(await fileOf(folder, "i7"), "changed");
    assert.notEqual(after, version);
    assert.equal(await versionOfMaps(folder), after);
    await change(folder, "i8", null);
    assert.equal(await fileOf(folder, "i8"), undefined);
    const files = await filesOf(await CsvLedger.open({ folder, ...options, readOnly: true }));
    assert.deepEqual([files.size, files.get(id("i7")), files.get(id("i9"))], [299, "changed", file(9)]);
  });

  test("a tail that has grown goes into the file", async () => {
    const folder = await filled();
    for (let i = 0; i < 60; i++) await change(folder, `i${i}`, `changed/${"x".repeat(2000)}/${i}`);
    assert.match(await mapOf(folder), /changed\\x+\\3,/);
    for (let i = 0; i < 300; i++) {
      assert.equal(await fileOf(folder, `i${i}`), i < 60 ? `changed/${"x".repeat(2000)}/${i}` : file(i));
    }
  });

  test("killed after the file was written and before its tail was removed, nothing is different", async () => {
    const folder = await filled();
    await change(folder, "i7", "first");
    await change(folder, "i7", file(7));
    // Edited, deleted, and restored as it was.
    for (const to of ["edited", null, file(6)]) await change(folder, "i6", to);
    await change(folder, "i8", null);
    await change(folder, "new", "new");
    const tail = await readFile(tailIn(folder));
    await foldTails(folder);
    assert.ok(!existsSync(tailIn(folder)));
    const whole = await mapOf(folder);
    await writeFile(tailIn(folder), tail);
    const files = [await fileOf(folder, "i6"), await fileOf(folder, "i7"), await fileOf(folder, "i8")];
    assert.deepEqual([...files, await fileOf(folder, "new")], [file(6), file(7), undefined, "new"]);
    await foldTails(folder);
    assert.equal(await mapOf(folder), whole);
  });

  test("nothing of what left is to be read any more when the tails are in the files", async () => {
    const folder = await filled();
    await change(folder, "i8", null);
    await change(folder, "i9", "elsewhere");
    assert.deepEqual(await laggingMaps(folder), ["files_map.csv", ".lockstep/observed.csv"]);
    await foldTails(folder);
    assert.deepEqual(await laggingMaps(folder), []);
    const text = await mapOf(folder);
    assert.ok(!text.includes(",i8,") && text.includes(",elsewhere,") && text.includes(",i7,"));
    assert.ok(!(await readdir(join(folder, ".lockstep"))).some((name) => name.startsWith("tail-")));
  });

  test("a line that a crash cut off says nothing, and the next ones count", async () => {
    const folder = await filled();
    await change(folder, "i7", "changed");
    const tail = await readFile(tailIn(folder), "utf8");
    await writeFile(tailIn(folder), tail.slice(0, -20));
    assert.equal(await fileOf(folder, "i7"), file(7));
    await change(folder, "i8", "changed, too");
    assert.equal(await fileOf(folder, "i8"), "changed, too");
  });

  test("a domain that is renamed takes what waits in tails along", async () => {
    const folder = await filled();
    await change(folder, "i7", "DEMO/05_folders/docs/02_embedded/changed.txt");
    await renamePaths(folder, { from: "DEMO", to: "OTHER" });
    assert.equal(await fileOf(folder, "i7"), "OTHER/05_folders/docs/02_embedded/changed.txt");
    assert.equal(await fileOf(folder, "i8"), file(8).replace("DEMO", "OTHER"));
  });

  test("a row in the tail counts, whatever the file says; the others are what somebody made of them", async () => {
    const folder = await filled();
    await change(folder, "i7", "changed");
    const lines = (await mapOf(folder)).split("\r\n").filter((line) => !/,i[79],/.test(line));
    await writeFile(
      join(folder, "files_map.csv"),
      lines.map((line) => (line.includes(",i8,") ? line.replace("8.txt", "theirs.txt") : line)).join("\r\n"),
    );
    assert.equal(await fileOf(folder, "i7"), "changed");
    assert.equal(await fileOf(folder, "i8"), file(8).replace("8.txt", "theirs.txt"));
    assert.equal(await fileOf(folder, "i9"), undefined);
  });

  for (const [title, damage] of Object.entries({
    "is cut": (bytes: Buffer) => bytes.subarray(0, -8),
    "has another bit": (bytes: Buffer) => {
      const at = bytes.length - 100;
      bytes[at] = (bytes[at] ?? 0) ^ 1;
      return bytes;
    },
    "is empty": () => Buffer.alloc(0),
  })) {
    test(`an index that ${title} is made anew`, async () => {
      const folder = await filled();
      const path = join(folder, ".lockstep", "files_map.csv.index");
      await writeFile(path, damage(await readFile(path)));
      for (const i of [0, 150, 299]) assert.equal(await fileOf(folder, `i${i}`), file(i));
      await change(folder, "i7", "changed");
      const stamp = await fileStamp(join(folder, "files_map.csv"));
      assert.equal(TableIndex.load(path, stamp)?.size, 300);
    });
  }

  test("an index of the file as it was before is not believed", async () => {
    const folder = await filled();
    const lines = (await mapOf(folder)).split("\r\n");
    const [header = "", ...rows] = lines.slice(0, -1);
    await writeFile(join(folder, "files_map.csv"), `${[header, ...rows.reverse()].join("\r\n")}\r\n`);
    for (const i of [0, 150, 299]) assert.equal(await fileOf(folder, `i${i}`), file(i));
  });
});
