// The ledger keeps its contract in SQLite, and forgets what it must.
import assert from "node:assert/strict";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import type { DomainId, SourceId, VectorStoreId } from "../../src/contracts/ids.ts";
import type { LedgerSource } from "../../src/contracts/ledger.ts";
import { ledgerSuite } from "../contracts/ledger-suite.ts";
import { ofKind } from "../kinds.ts";
import { facetsOf, id } from "./ledger-fixture.ts";
import { closeLedgers, newLedgerPlace } from "./ledger-place.ts";
import { observeSqlite, scansInSqlite, unindexedReferences } from "./observed-statements.ts";
import { openTestLedgers } from "./open-test-ledgers.ts";

const statements = observeSqlite();
let root: string;
let count = 0;
before(async () => {
  root = await mkdtemp(join(tmpdir(), "lockstep-ledger-"));
});
after(async () => {
  await closeLedgers();
  await rm(root, { recursive: true, force: true });
});

test("what was forgotten, or was in a store that is dropped, is not to be found in the files of the database", async () => {
  const ledgers = openTestLedgers(root);
  const source = (sourceId: string): LedgerSource => ({
    domainId: "FORGETS" as DomainId,
    config: { ...ofKind("folder_sources"), sourceId: sourceId as SourceId },
  });
  const store = "vs_other" as VectorStoreId;
  for (const [name, vectorStoreId] of [
    ["quagga", undefined],
    ["okapi", store],
  ] as const) {
    const ledger = await ledgers.open(source(name), { readOnly: false, vectorStoreId });
    ledger.put(id(name), vectorStoreId ? { indexed: facetsOf(1, `${name}.txt`).indexed } : facetsOf(1, `${name}.txt`));
    await ledger.close();
  }
  const found = async (): Promise<string[]> => {
    const names = (await readdir(join(root, "FORGETS"))).filter((name) => name.startsWith("ledger.sqlite"));
    const all = await Promise.all(names.map((name) => readFile(join(root, "FORGETS", name), "latin1")));
    return ["quagga.txt", "okapi.txt"].filter((word) => all.join("").includes(word));
  };
  assert.deepEqual(await found(), ["quagga.txt", "okapi.txt"]);
  await ledgers.dropStore(source("okapi"), store);
  assert.deepEqual(await found(), ["quagga.txt"]);
  await ledgers.forget(source("quagga"));
  assert.deepEqual(await found(), []);
  await ledgers.close();
});

ledgerSuite("SQLite", () => newLedgerPlace(root, `D${++count}`), { many: 50_000 });

test("nothing of that reads a whole table of items, and neither does the deletion of a row", () => {
  assert.ok(statements.size > 20, "they were not observed");
  assert.deepEqual(scansInSqlite(statements), []);
  const blind = [
    "SELECT 1 FROM item i WHERE i.name = ?",
    "SELECT 1 FROM item WHERE source_no = ? ORDER BY name LIMIT 5",
  ];
  assert.equal(scansInSqlite(blind).length, 2);
  assert.deepEqual(unindexedReferences(), []);
});
