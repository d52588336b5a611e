// Catalogs of earlier releases are upgraded with everything in them.
import assert from "node:assert/strict";
import { access, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import { catalogTables } from "../../src/backends/embedded/catalog-tables.ts";
import { DEMO, LIBRARY, never, openStores, writeDocument } from "../index/index-fixture.ts";
import { clientOf, openBackend, openIndex, upload } from "./embedded-fixture.ts";
import { serveWire } from "./embedded-serve.ts";

/** The tables as the first release made them. */
const FORMAT_1 = `
CREATE TABLE files (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  filename TEXT NOT NULL,
  purpose TEXT NOT NULL,
  bytes INTEGER NOT NULL,
  sha256 TEXT NOT NULL,
  created_at INTEGER NOT NULL
) STRICT;
CREATE INDEX files_created ON files (created_at, seq);
CREATE TABLE vector_stores (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  name TEXT NOT NULL,
  metadata TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  last_active_at INTEGER NOT NULL
) STRICT;
CREATE INDEX vector_stores_created ON vector_stores (created_at, seq);
CREATE TABLE deleted_stores (id TEXT PRIMARY KEY) STRICT, WITHOUT ROWID;
INSERT INTO files VALUES (3, 'file-old', 'a.md', 'assistants', 18, '${"0".repeat(64)}', 1700000000);
INSERT INTO vector_stores VALUES (7, 'vs_old', 'Handbook', '{"owner":"me"}', 1700000001, 1700000002);
INSERT INTO deleted_stores VALUES ('vs_gone');
PRAGMA user_version = 1;
`;

test("a catalog of the first release opens, with everything in it", async (t) => {
  const folder = await mkdtemp(join(tmpdir(), "embedded-catalog-"));
  const index = join(folder, "index");
  await mkdir(index);
  const old = new DatabaseSync(join(index, "catalog.sqlite"));
  old.exec(FORMAT_1);
  old.close();
  await writeFile(join(index, "vs_gone.sqlite"), "");
  const backend = await openBackend(openStores(index), index);
  const served = await serveWire(backend.wire);
  t.after(async () => {
    await served.close();
    await backend.close();
    await rm(folder, { recursive: true, force: true });
  });
  const client = clientOf(served);
  const [file] = (await client.files.list()).data;
  assert.deepEqual([file?.id, file?.filename, file?.created_at], ["file-old", "a.md", 1700000000]);
  const [store] = (await client.vectorStores.list()).data;
  assert.deepEqual(
    [store?.id, store?.name, store?.metadata, store?.created_at, store?.last_active_at, store?.expires_at],
    ["vs_old", "Handbook", { owner: "me" }, 1700000001, 1700000002, null],
  );
  const created = await client.vectorStores.create({});
  assert.deepEqual(
    (await client.vectorStores.list()).data.map(({ id }) => id),
    [created.id, "vs_old"],
  );
  await backend.deleteVectorStore("vs_old" as Parameters<typeof backend.deleteVectorStore>[0]);
  await assert.rejects(access(join(index, "vs_gone.sqlite")), "what was half deleted is deleted");
});

test("what a store of the second release holds is found and deleted, though its catalog did not say so", async (t) => {
  const folder = await mkdtemp(join(tmpdir(), "embedded-catalog-"));
  const index = join(folder, "index");
  const before = await openBackend(openStores(index), index);
  const servedBefore = await serveWire(before.wire);
  const attached = await upload(clientOf(servedBefore), "a.md", "# Albatross");
  const store = await before.createVectorStore("old");
  await clientOf(servedBefore).vectorStores.files.createAndPoll(store, { file_id: attached });
  const draft = await (await openIndex(before, store, DEMO)).draft(LIBRARY);
  await draft.put(await writeDocument(folder, "b", "# Buzzard"), never);
  await draft.commit(never, { allowEmpty: true });
  await servedBefore.close();
  await before.close();
  const catalog = new DatabaseSync(join(index, "catalog.sqlite"));
  catalog.exec("DROP TABLE attached_files; ALTER TABLE vector_stores DROP COLUMN crawled; PRAGMA user_version = 2");
  catalog.close();
  const backend = await openBackend(openStores(index), index);
  const served = await serveWire(backend.wire);
  t.after(async () => {
    await served.close();
    await backend.close();
    await rm(folder, { recursive: true, force: true });
  });
  const client = clientOf(served);
  const { data } = await client.files.list();
  assert.deepEqual(data.map(({ filename }) => filename).sort(), ["a.md", "b.md"]);
  for (const { id } of data) await client.files.delete(id);
  assert.deepEqual((await client.vectorStores.files.list(store)).data, []);
});

test("tables that were upgraded are the same as new ones", () => {
  const { sql, upgrades } = catalogTables("sqlite");
  const [fresh, upgraded] = [new DatabaseSync(":memory:"), new DatabaseSync(":memory:")];
  fresh.exec(sql);
  upgraded.exec(FORMAT_1);
  for (const upgrade of upgrades?.values() ?? []) upgraded.exec(upgrade);
  const columns = (db: DatabaseSync): unknown[] =>
    db
      .prepare(
        `SELECT m.name AS "table", c.name AS "column", c.type, c."notnull", c.dflt_value
         FROM sqlite_schema m JOIN pragma_table_info(m.name) c WHERE m.type = 'table' ORDER BY m.name, c.name`,
      )
      .all();
  const indexes = (db: DatabaseSync): unknown[] =>
    db.prepare("SELECT name, tbl_name FROM sqlite_schema WHERE type = 'index' AND sql IS NOT NULL ORDER BY name").all();
  assert.deepEqual(columns(upgraded), columns(fresh));
  assert.deepEqual(indexes(upgraded), indexes(fresh));
  for (const db of [fresh, upgraded]) db.close();
});
