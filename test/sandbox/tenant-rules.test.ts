// Names, paths and the recycle bin follow SharePoint's rules.
import assert from "node:assert/strict";
import { beforeEach, describe, test } from "node:test";
import { seedTenant } from "../../src/sandbox/seed/seed-tenant.ts";
import {
  describeItem,
  describeLibrary,
  type ItemDescription,
} from "../../src/sandbox/sharepoint/tenant/describe-library.ts";
import { addFile, addFolder, setColumns, updateFile } from "../../src/sandbox/sharepoint/tenant/file-operations.ts";
import { fillFolder } from "../../src/sandbox/sharepoint/tenant/fill-folder.ts";
import {
  copyItem,
  moveItem,
  recycleItem,
  renameItem,
  restoreItem,
} from "../../src/sandbox/sharepoint/tenant/relocate-item.ts";
import { Tenant } from "../../src/sandbox/sharepoint/tenant/tenant.ts";
import { assertConsistent } from "./tenant-consistency.ts";

const root = "/sites/demo/Shared Documents";
const BEFORE = "2024-03-29T17:57:44Z";
const NOW = "2024-05-02T08:00:00Z";
let tenant: Tenant;

beforeEach(() => {
  tenant = new Tenant();
  seedTenant(tenant, "empty");
  tenant.clock.set(NOW);
});

function at(path: string): ItemDescription {
  const item = tenant.itemAt(path);
  assert.ok(item, `nothing at ${path}`);
  return describeItem(item);
}

const start = `${root}/Reports/Q1.docx`;

describe("names and places", () => {
  test("paths are found without regard to case and keep theirs", () => {
    addFile(tenant, `${root}/Reports/Q1.docx`, "x");
    assert.equal(at("/SITES/DEMO/shared documents/reports/q1.DOCX").path, `${root}/Reports/Q1.docx`);
    assert.throws(() => addFile(tenant, `${root}/REPORTS/q1.docx`, "y"), /Use name 'q1.docx': it is taken/);
    assert.equal(describeLibrary(tenant, root).length, 2, "no second folder was made");
  });

  test("NFC and NFD are two names", () => {
    addFile(tenant, `${root}/${"Ü.txt".normalize("NFC")}`, "x");
    addFile(tenant, `${root}/${"Ü.txt".normalize("NFD")}`, "y");
    assert.equal(describeLibrary(tenant, root).length, 2);
  });

  const refused: [string, () => unknown, RegExp][] = [
    ["a colon", () => addFile(tenant, `${root}/a:b.txt`, "x"), /must not contain/],
    ["a trailing space", () => addFile(tenant, `${root}/a.txt `, "x"), /begin or end with a space/],
    ["a reserved name", () => addFolder(tenant, `${root}/CON`), /reserves this name/],
    ["an Office lock file", () => addFile(tenant, `${root}/~$a.docx`, "x"), /reserves this name/],
    ["dots", () => addFile(tenant, `${root}/../a.txt`, "x"), /must not be empty, '\.' or '\.\.'/],
    ["256 characters", () => addFile(tenant, `${root}/${"a".repeat(256)}`, "x"), /at most 255/],
    [
      "a path of more than 400",
      () => addFile(tenant, `${root}/${"a".repeat(200)}/${"b".repeat(200)}`, "x"),
      /at most 400/,
    ],
    ["forms at the root", () => addFolder(tenant, `${root}/forms`), /taken/],
    ["no library", () => addFile(tenant, "/sites/demo/Nowhere/a.txt", "x"), /leads into no library/],
    ["no site", () => tenant.addLibrary("/sites/none/Docs"), /there is no site/],
    ["the library itself", () => recycleItem(tenant, root), /belongs to the library itself/],
    ["a missing file", () => updateFile(tenant, `${root}/none.txt`, "x"), /does not exist/],
    [
      "a column of another type",
      () => setColumns(tenant, `${root}/a.txt`, { Pages: "many" }),
      /holds Number, not Text/,
    ],
    ["a built-in column", () => setColumns(tenant, `${root}/a.txt`, { FileRef: "x" }), /SharePoint itself keeps/],
    ["a folder into itself", () => moveItem(tenant, `${root}/F`, `${root}/F/G/F`), /cannot go into itself/],
    ["a copy of a folder into itself", () => copyItem(tenant, `${root}/F`, `${root}/F/G`), /cannot go into itself/],
    ["a move onto another", () => moveItem(tenant, `${root}/a.txt`, `${root}/b.txt`), /taken/],
    ["not in the bin", () => restoreItem(tenant, `${root}/a.txt`), /not in the recycle bin/],
    ["a bad time", () => addFile(tenant, `${root}/c.txt`, "x", { at: "yesterday" }), /must be an ISO 8601 instant/],
  ];
  for (const [title, run, message] of refused) {
    test(`refused: ${title}`, () => {
      addFile(tenant, `${root}/a.txt`, "x", { columns: { Pages: 3 } });
      addFile(tenant, `${root}/b.txt`, "x");
      addFolder(tenant, `${root}/F/G`);
      assert.throws(run, message);
      assertConsistent(tenant);
    });
  }
});

describe("the recycle bin", () => {
  test("ids are never given again", () => {
    const first = addFile(tenant, `${root}/a.txt`, "x").listItemId;
    recycleItem(tenant, `${root}/a.txt`);
    assert.notEqual(addFile(tenant, `${root}/b.txt`, "x").listItemId, first);
  });

  test("a restored item takes its old place among the rows", () => {
    for (const name of ["a", "b", "c"]) addFile(tenant, `${root}/${name}.txt`, "x");
    recycleItem(tenant, `${root}/b.txt`);
    restoreItem(tenant, `${root}/b.txt`);
    assert.deepEqual(
      describeLibrary(tenant, root).map((row) => row.listItemId),
      [1, 2, 3],
    );
  });

  test("one of two deletions of a path is chosen by its id; the latest by the path", () => {
    const first = addFile(tenant, `${root}/a.txt`, "first").uniqueId;
    recycleItem(tenant, `${root}/a.txt`);
    const second = addFile(tenant, `${root}/a.txt`, "second").uniqueId;
    recycleItem(tenant, `${root}/a.txt`);
    assert.equal(restoreItem(tenant, `${root}/a.txt`).uniqueId, second);
    recycleItem(tenant, `${root}/a.txt`);
    assert.equal(restoreItem(tenant, first).uniqueId, first);
  });

  test("not while the name is taken, and not without its folder", () => {
    addFile(tenant, start, "x");
    recycleItem(tenant, start);
    recycleItem(tenant, `${root}/Reports`);
    assert.throws(() => restoreItem(tenant, start), /restore the folder first/);
    restoreItem(tenant, `${root}/Reports`);
    addFile(tenant, start, "another");
    assert.throws(() => restoreItem(tenant, start), /taken/);
    assertConsistent(tenant);
  });

  test("the library's dates tell of a deletion", () => {
    addFile(tenant, `${root}/a.txt`, "x", { at: BEFORE });
    const library = tenant.libraryAt(root);
    recycleItem(tenant, `${root}/a.txt`, { at: "2024-05-02T09:00:00Z" });
    assert.equal(new Date(library.deletedAtMs).toISOString(), "2024-05-02T09:00:00.000Z");
  });
});

describe("time", () => {
  test("a set clock stands still until it is advanced", () => {
    const first = describeItem(addFile(tenant, `${root}/a.txt`, "x"));
    updateFile(tenant, `${root}/a.txt`, "y");
    assert.equal(
      at(`${root}/a.txt`).modifiedAt,
      first.modifiedAt,
      "two edits in one second, told apart by the ETag only",
    );
    assert.notEqual(at(`${root}/a.txt`).etag, first.etag);
    tenant.clock.advanceSeconds(3600);
    updateFile(tenant, `${root}/a.txt`, "z");
    assert.equal(at(`${root}/a.txt`).modifiedAt, "2024-05-02T09:00:00Z");
  });

  test("a rename by Graph in the same second is still later", () => {
    addFile(tenant, `${root}/a.txt`, "x");
    renameItem(tenant, `${root}/a.txt`, "b.txt", { via: "graph" });
    assert.equal(at(`${root}/b.txt`).modifiedAt, "2024-05-02T08:00:01Z");
  });
});

test("filling is the same every time, and every text is different", () => {
  fillFolder(tenant, root, { count: 50, perFolder: 20 });
  const rows = describeLibrary(tenant, root);
  assert.equal(rows.length, 53, "50 files in 3 folders");
  const texts = rows
    .map(({ path }) => tenant.itemAt(path))
    .map((item) => (item?.kind === "file" ? Buffer.from(item.content).toString() : ""));
  assert.equal(new Set(texts.filter(Boolean)).size, 50);
  const again = new Tenant();
  seedTenant(again, "empty");
  fillFolder(again, root, { count: 50, perFolder: 20 });
  assert.deepEqual(describeLibrary(again, root), rows);
});
