import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import type { ItemId, SourceId } from "../../src/contracts/ids.ts";
import { CsvLedger } from "../../src/ledgers/csv-maps/csv-ledger.ts";
import { foldTails, laggingMaps } from "../../src/ledgers/csv-maps/fold-tails.ts";
import { versionOfMaps } from "../../src/ledgers/csv-maps/map-files.ts";
import { renamePaths } from "../../src/ledgers/csv-maps/rename-paths.ts";
import { TableIndex } from "../../src/ledgers/csv-maps/table-index.ts";
import { fileStamp } from "../../src/lib/file-stamp.ts";
import { entriesOf, facetsOf, id, mirrored, seen } from "./ledger-fixture.ts";

const folders: string[] = [];
after(async () => {
  for (const folder of folders) await rm(folder, { recursive: true, force: true });
});

async function newFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "lockstep-ledger-"));
  folders.push(folder);
  return folder;
}

async function filesOf(ledger: CsvLedger): Promise<Map<ItemId, string>> {
  const files = new Map<ItemId, string>();
  for await (const page of ledger.files()) for (const { itemId, file } of page) files.set(itemId, file);
  return files;
}

for (const [form, options] of Object.entries({
  "map files in memory": {},
  "map files left on disk": { heldBytes: 0 },
  "map files left on disk, with tails": { heldBytes: 0, mayLag: true },
})) {
  describe(form, () => {
    const open = (folder: string) =>
      CsvLedger.open({ folder, sourceId: "s" as SourceId, step: "download", ...options });
    const itemsIn = async (folder: string) => Object.keys(await entriesOf(await open(folder)));
    const journalIn = (folder: string) => join(folder, ".lockstep", "journal-download.jsonl");

    test("what is flushed waits in a journal, and is in the map files as soon as they are opened again", async () => {
      const folder = await newFolder();
      const killed = await open(folder);
      killed.put(id("a"), { seen });
      await killed.flush();
      assert.ok(existsSync(journalIn(folder)));
      assert.deepEqual(await itemsIn(folder), ["a"]);
      assert.ok(!existsSync(journalIn(folder)));
    });

    test("a journal line cut by a crash is ignored, the lines before it count", async () => {
      const folder = await newFolder();
      const killed = await open(folder);
      killed.put(id("a"), { seen });
      await killed.flush();
      const path = journalIn(folder);
      await writeFile(path, `${await readFile(path, "utf8")}{"table":"seen","key":"b","bef`);
      const next = await open(folder);
      assert.deepEqual(Object.keys(await entriesOf(next)), ["a"]);
      next.put(id("c"), { seen });
      await next.flush();
      assert.deepEqual(await itemsIn(folder), ["a", "c"]);
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
      const { a: edited, b: removed } = await entriesOf(await open(folder));
      assert.deepEqual([edited?.seen?.name, removed], ["theirs.docx", undefined]);
    });
  });
}

test("a large map file that is written to, not replaced, while it is open is not read any further", async () => {
  const folder = await newFolder();
  const options = { folder, sourceId: "s" as SourceId, step: "embed", heldBytes: 0 } as const;
  const ledger = await CsvLedger.open(options);
  for (let i = 0; i < 6000; i++) ledger.put(id(`i${i}`), { mirrored: facetsOf(i).mirrored });
  await ledger.close();
  // The first one gets the tables that the writer had.
  await CsvLedger.open({ ...options, readOnly: true });
  const reader = await CsvLedger.open({ ...options, readOnly: true });
  await writeFile(join(folder, "files_map.csv"), "nothing of it");
  await assert.rejects(async () => (await reader.get(id("i77")))?.mirrored, /was written to while it was being read/);
});

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
