// Whatever is persisted is reached when a document is erased, or there is a reason why not.
import assert from "node:assert/strict";
import { test } from "node:test";
import { answersTables } from "../../src/backends/embedded/answers/answers-tables.ts";
import { catalogTables } from "../../src/backends/embedded/catalog-tables.ts";
import { PLACES } from "../../src/engine/erase/places.ts";
import { STORE_TABLES as POSTGRES_TABLES } from "../../src/index/postgres/store-tables.ts";
import { STORE_TABLES as SQLITE_TABLES } from "../../src/index/sqlite/store-tables.ts";
import { ledgerTables } from "../../src/ledger/ledger-tables.ts";
import { registryTables } from "../../src/ledger/registry/sql-registry.ts";
import type { Schema } from "../../src/lib/sql/sql.ts";
import { queueTables } from "../../src/queue/open-task-queue.ts";
import { KNOWN } from "../engine/known-files.ts";

/** Kinds of files, by the words of their pages, and tables, which never have anything of a document; or why they are left alone. */
const EXCUSED: Readonly<Record<string, string>> = {
  "domain.json": "settings",
  "domains/.lockstep/locks/<id>/": "a lock",
  "domains/.lockstep/vector-stores.lock/": "a lock",
  ".lockstep/maps.lock/": "a lock",
  "security/keys.lock/": "a lock",
  "jobs/.lockstep/job-ids/<number>": "numbers",
  "security/signing-key.pem": "a key",
  "security/earlier-roots.json": "folders of sources",
  "index/catalog.sqlite": "only attached files, which are copies: erased with them",
  "files/<file id>": "an attached file, which is a copy: erased with them",
  "index/queue.sqlite": "ids of items, and hosts",
  "queue.tasks": "ids of items, and hosts",
  "catalog.files": "attached files, which are copies: erased with them",
  "catalog.vector_stores": "settings",
  "catalog.deleted_stores": "ids",
  "catalog.deleted_files": "ids",
  "catalog.uploads": "files that arrive in parts, for an hour",
  "catalog.upload_parts": "the same",
  "catalog.batches": "ids",
  "catalog.batch_files": "ids",
  "catalog.attach_tasks": "ids",
  "catalog.attached_files": "ids",
  "answers.assistants": "settings that users wrote",
  "ledger.source": "of sources, not of items",
  "ledger.store": "ids of stores",
  "ledger.schedule": "of domains",
  "ledger.lease": "of sources, not of items",
  "ledger.site_crawl": "of sites, not of pages",
  "ledger.export": "hashes of exports",
  "store.state": "counters",
  "store.generations": "of crawls, not of documents",
  "store.text_totals": "counters",
};

function tablesOf(name: string, ...schemas: readonly Schema[]): string[] {
  const found = new Set<string>();
  for (const { sql } of schemas) {
    // Views over full-text tables have nothing of their own.
    for (const [, table = "", rest = ""] of sql.matchAll(
      /CREATE (?:VIRTUAL )?TABLE (?:IF NOT EXISTS )?(\w+)([^(]*)/g,
    )) {
      if (!rest.includes("fts5vocab")) found.add(`${name}.${table}`);
    }
  }
  return [...found];
}

test("every kind of file and every table is erased from, or excused with a reason", () => {
  const tables = [
    ...tablesOf("ledger", ledgerTables("sqlite"), ledgerTables("postgres")),
    ...tablesOf("store", SQLITE_TABLES, POSTGRES_TABLES),
    ...tablesOf("answers", answersTables("sqlite")),
    ...tablesOf("catalog", catalogTables("sqlite")),
    ...tablesOf("queue", queueTables("sqlite")),
    ...tablesOf("registry", registryTables("sqlite")),
  ];
  assert.ok(tables.length > 40, tables.join());
  const all = [...KNOWN.map(([, , words]) => words), ...tables];
  const covered = new Set(PLACES.flatMap(({ covers }) => covers));
  const open = all.filter((one) => !covered.has(one) && !Object.hasOwn(EXCUSED, one));
  assert.deepEqual(open, [], "assign these to a place in src/engine/erase/places.ts, or excuse them here");
  const stale = Object.keys(EXCUSED).filter((one) => !all.includes(one));
  assert.deepEqual(stale, [], "excuses for what is not persisted any more");
  const twice = Object.keys(EXCUSED).filter((one) => covered.has(one));
  assert.deepEqual(twice, [], "erased and excused");
  const unknown = [...covered].filter((one) => /^(ledger|store|answers|registry)\./.test(one) && !all.includes(one));
  assert.deepEqual(unknown, [], "tables that there are not any more");
});
