// Operations in the sandbox change identity, time and versions as in SharePoint.
import assert from "node:assert/strict";
import { beforeEach, describe, test } from "node:test";
import { seedTenant } from "../../src/sandbox/seed/seed-tenant.ts";
import { describeItem, type ItemDescription } from "../../src/sandbox/sharepoint/tenant/describe-library.ts";
import { addFile, setColumns, updateFile } from "../../src/sandbox/sharepoint/tenant/file-operations.ts";
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
const contracts = "/sites/demo/Contracts";
const people = "/sites/hr/Shared Documents";
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

function etagNumber(item: ItemDescription): number {
  return Number(item.etag.slice(item.etag.lastIndexOf(",") + 1, -1));
}

function contentVersion(item: ItemDescription): number {
  return Number(item.contentTag.slice(item.contentTag.lastIndexOf(",") + 1));
}

interface Effect {
  readonly operation: string;
  run(): void;
  readonly from: string;
  readonly to: string;
  readonly uniqueId: "same" | "new";
  readonly listItemId: "same" | "new";
  readonly modifiedAt: string;
  readonly etag: number;
  readonly version: string;
  readonly contentVersion: number;
}

const start = `${root}/Reports/Q1.docx`;
const effects: Effect[] = [
  {
    operation: "A3 overwrite",
    run: () => updateFile(tenant, start, "new content"),
    ...{ from: start, to: start, uniqueId: "same", listItemId: "same" },
    ...{ modifiedAt: NOW, etag: 2, version: "2.0", contentVersion: 2 },
  },
  {
    operation: "overwrite that keeps the time",
    run: () => updateFile(tenant, start, "abcdefg", { at: BEFORE }),
    ...{ from: start, to: start, uniqueId: "same", listItemId: "same" },
    ...{ modifiedAt: BEFORE, etag: 2, version: "2.0", contentVersion: 2 },
  },
  {
    operation: "A4 rename by MoveTo",
    run: () => renameItem(tenant, start, "Quarter 1.docx"),
    ...{ from: start, to: `${root}/Reports/Quarter 1.docx`, uniqueId: "same", listItemId: "same" },
    ...{ modifiedAt: BEFORE, etag: 3, version: "1.0", contentVersion: 1 },
  },
  {
    operation: "A4 rename by Graph",
    run: () => renameItem(tenant, start, "Quarter 1.docx", { via: "graph" }),
    ...{ from: start, to: `${root}/Reports/Quarter 1.docx`, uniqueId: "same", listItemId: "same" },
    ...{ modifiedAt: NOW, etag: 3, version: "1.0", contentVersion: 1 },
  },
  {
    operation: "rename that only changes case",
    run: () => renameItem(tenant, start, "q1.DOCX"),
    ...{ from: `${root}/Reports/none`, to: `${root}/Reports/q1.DOCX`, uniqueId: "same", listItemId: "same" },
    ...{ modifiedAt: BEFORE, etag: 3, version: "1.0", contentVersion: 1 },
  },
  {
    operation: "A5 move in the library",
    run: () => moveItem(tenant, start, `${root}/Archive/2024/Q1.docx`),
    ...{ from: start, to: `${root}/Archive/2024/Q1.docx`, uniqueId: "same", listItemId: "same" },
    ...{ modifiedAt: BEFORE, etag: 3, version: "1.0", contentVersion: 1 },
  },
  {
    operation: "move to another library of the site",
    run: () => moveItem(tenant, start, `${contracts}/Q1.docx`),
    ...{ from: start, to: `${contracts}/Q1.docx`, uniqueId: "same", listItemId: "new" },
    ...{ modifiedAt: BEFORE, etag: 3, version: "1.0", contentVersion: 1 },
  },
  {
    operation: "move to another site",
    run: () => moveItem(tenant, start, `${people}/Q1.docx`),
    ...{ from: start, to: `${people}/Q1.docx`, uniqueId: "new", listItemId: "new" },
    ...{ modifiedAt: NOW, etag: 2, version: "1.0", contentVersion: 1 },
  },
  {
    operation: "A10 delete and restore",
    run: () => {
      recycleItem(tenant, start);
      restoreItem(tenant, start);
    },
    ...{ from: `${root}/Reports/none`, to: start, uniqueId: "same", listItemId: "same" },
    ...{ modifiedAt: BEFORE, etag: 2, version: "1.0", contentVersion: 1 },
  },
  {
    operation: "A13 delete and upload again",
    run: () => {
      recycleItem(tenant, start);
      addFile(tenant, start, "abcdefg");
    },
    ...{ from: `${root}/Reports/none`, to: start, uniqueId: "new", listItemId: "new" },
    ...{ modifiedAt: NOW, etag: 1, version: "1.0", contentVersion: 1 },
  },
  {
    operation: "edit of a column",
    run: () => setColumns(tenant, start, { Department: "Sales" }),
    ...{ from: `${root}/Reports/none`, to: start, uniqueId: "same", listItemId: "same" },
    ...{ modifiedAt: NOW, etag: 2, version: "2.0", contentVersion: 1 },
  },
  {
    operation: "system update of a column",
    run: () => setColumns(tenant, start, { Department: "Sales" }, { via: "system-update" }),
    ...{ from: `${root}/Reports/none`, to: start, uniqueId: "same", listItemId: "same" },
    ...{ modifiedAt: BEFORE, etag: 2, version: "1.0", contentVersion: 1 },
  },
  {
    operation: "A15 rename of the folder above",
    run: () => renameItem(tenant, `${root}/Reports`, "Results"),
    ...{ from: start, to: `${root}/Results/Q1.docx`, uniqueId: "same", listItemId: "same" },
    ...{ modifiedAt: BEFORE, etag: 1, version: "1.0", contentVersion: 1 },
  },
  {
    operation: "A16 move of the folder above",
    run: () => moveItem(tenant, `${root}/Reports`, `${root}/Old/Reports`),
    ...{ from: start, to: `${root}/Old/Reports/Q1.docx`, uniqueId: "same", listItemId: "same" },
    ...{ modifiedAt: BEFORE, etag: 1, version: "1.0", contentVersion: 1 },
  },
  {
    operation: "move of the folder above to another library",
    run: () => moveItem(tenant, `${root}/Reports`, `${contracts}/Reports`),
    ...{ from: start, to: `${contracts}/Reports/Q1.docx`, uniqueId: "same", listItemId: "new" },
    ...{ modifiedAt: BEFORE, etag: 1, version: "1.0", contentVersion: 1 },
  },
  {
    operation: "move of the folder above to another site",
    run: () => moveItem(tenant, `${root}/Reports`, `${people}/Reports`),
    ...{ from: start, to: `${people}/Reports/Q1.docx`, uniqueId: "new", listItemId: "new" },
    ...{ modifiedAt: NOW, etag: 2, version: "1.0", contentVersion: 1 },
  },
  {
    operation: "delete and restore of the folder above",
    run: () => {
      recycleItem(tenant, `${root}/Reports`);
      assert.equal(tenant.itemAt(start), undefined);
      restoreItem(tenant, `${root}/Reports`);
    },
    ...{ from: `${root}/none`, to: start, uniqueId: "same", listItemId: "same" },
    ...{ modifiedAt: BEFORE, etag: 1, version: "1.0", contentVersion: 1 },
  },
];

describe("what an operation does to identity, time and versions", () => {
  for (const effect of effects) {
    test(effect.operation, () => {
      // Ids of the libraries run apart, so that an equal number cannot be an accident.
      for (let number = 0; number < 5; number++) addFile(tenant, `${contracts}/${number}.txt`, "x");
      for (let number = 0; number < 9; number++) addFile(tenant, `${people}/${number}.txt`, "x");
      addFile(tenant, start, "abcdefg", { at: BEFORE });
      const before = at(start);
      effect.run();
      const after = at(effect.to);
      if (effect.from !== effect.to) assert.equal(tenant.itemAt(effect.from), undefined, "left its old place");
      assert.equal(after.path, effect.to);
      assert.equal(after.uniqueId === before.uniqueId, effect.uniqueId === "same", "unique id");
      assert.equal(after.listItemId === before.listItemId, effect.listItemId === "same", "list item id");
      assert.equal(after.modifiedAt, effect.modifiedAt);
      assert.equal(etagNumber(after), effect.etag, "ETag");
      assert.equal(after.version, effect.version);
      assert.equal(contentVersion(after), effect.contentVersion, "content version");
      assertConsistent(tenant);
    });
  }
});

describe("copies", () => {
  test("A12 within the site: new identity, the very second of the source", () => {
    const source = describeItem(addFile(tenant, start, "abcdefg", { at: BEFORE }));
    copyItem(tenant, start, `${root}/Copy.docx`);
    const copy = at(`${root}/Copy.docx`);
    assert.notEqual(copy.uniqueId, source.uniqueId);
    assert.notEqual(copy.listItemId, source.listItemId);
    assert.deepEqual([copy.modifiedAt, etagNumber(copy), copy.version], [BEFORE, 2, "1.0"]);
    assert.deepEqual(at(start), source, "the source is untouched");
  });

  test("to another site: a second later", () => {
    addFile(tenant, start, "abcdefg", { at: BEFORE });
    copyItem(tenant, start, `${people}/Copy.docx`);
    assert.equal(at(`${people}/Copy.docx`).modifiedAt, "2024-03-29T17:57:45Z");
  });

  test("a folder with all that is in it, and later changes stay apart", () => {
    addFile(tenant, start, "abcdefg", { at: BEFORE });
    copyItem(tenant, `${root}/Reports`, `${root}/Reports 2`);
    updateFile(tenant, start, "changed");
    const copy = tenant.itemAt(`${root}/Reports 2/Q1.docx`);
    assert.equal(copy?.kind === "file" && Buffer.from(copy.content).toString(), "abcdefg");
    assertConsistent(tenant);
  });
});
