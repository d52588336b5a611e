// Members that earlier releases kept in a registry are taken over once.
import assert from "node:assert/strict";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, type TestContext, test } from "node:test";
import { TableClient } from "@azure/data-tables";
import { REGISTERED_SOURCE } from "../../src/contracts/domain.ts";
import type { DomainId } from "../../src/contracts/ids.ts";
import type { Ledgers } from "../../src/contracts/ledger.ts";
import type { Member } from "../../src/contracts/members.ts";
import type { Registry } from "../../src/contracts/registry.ts";
import { createEntityTable } from "../../src/ledger/registry/entity-table.ts";
import { openSqlRegistry, registryTables } from "../../src/ledger/registry/sql-registry.ts";
import { idKey } from "../../src/ledger/registry/table-keys.ts";
import { openTableRegistry } from "../../src/ledger/registry/table-registry.ts";
import { type DatabasePlace, openDatabase } from "../../src/lib/sql/open-database.ts";
import { openPostgres } from "../../src/lib/sql/postgres-database.ts";
import { type Azurite, startAzurite } from "../azurite.ts";
import { type MembersPlace, membersSuite } from "../contracts/members-suite.ts";
import { type PostgresServer, startPostgres } from "../postgres/start-postgres.ts";
import { openTestLedgers } from "./open-test-ledgers.ts";
import { DEMO, gather, itemId, member, page } from "./registry-fixture.ts";

let server: PostgresServer;
let azurite: Azurite;
let url = "";
let root = "";
before(async () => {
  root = await mkdtemp(join(tmpdir(), "lockstep-members-"));
  [server, azurite] = await Promise.all([startPostgres(), startAzurite()]);
  url = await server.createDatabase();
});
after(async () => {
  await Promise.all([server.stop(), azurite.stop()]);
  await rm(root, { recursive: true, force: true });
});

async function placeOf(domains: readonly DomainId[], isPostgres: boolean): Promise<MembersPlace> {
  const crawlerFolder = await mkdtemp(join(root, "crawler-"));
  for (const domain of domains) await mkdir(join(crawlerFolder, domain, "04_web"), { recursive: true });
  if (!isPostgres) return { crawlerFolder };
  const postgres = openPostgres(url);
  for (const schema of ["lockstep_ledger", "lockstep_registry"]) await postgres.dropTables(schema);
  await postgres.close();
  return { crawlerFolder, url };
}

for (const isPostgres of [false, true]) {
  membersSuite(isPostgres ? "PostgreSQL" : "SQLite", async (t, domains) => {
    const where = await placeOf(domains, isPostgres);
    const ledgers = openTestLedgers(where.crawlerFolder, isPostgres ? { url } : undefined);
    t.after(() => ledgers.close());
    return { ledgers, where };
  });
}

/** As the registry of an earlier release had them: `unlinkedCount` said everything. */
type Earlier = Omit<Member, "wanted">;
const earlier = (name: string, changes: Partial<Earlier> = {}): Earlier => {
  const { wanted: _, ...rest } = member(name, changes);
  return rest;
};
const GONE = "GONE" as DomainId;
const HEIR = "HEIR" as DomainId;
const HELD = { lastIndexedDocId: "file-1", contentHash: "h", indexedGeneration: 2 };
const EARLIER: readonly Earlier[] = [
  earlier("asked", { sourceId: REGISTERED_SOURCE, ...HELD }),
  earlier("led", { sourceId: REGISTERED_SOURCE, unlinkedCount: 1 }),
  earlier("out", { sourceId: REGISTERED_SOURCE, unlinkedCount: 1000, ...HELD }),
  ...Array.from({ length: 600 }, (_, n) => earlier(`p${n}`, { unlinkedCount: n % 3 })),
  earlier("gone", { domainId: GONE }),
];

async function plantSql(where: DatabasePlace): Promise<void> {
  const plan = { file: "registry.sqlite", schema: "lockstep_registry", tables: registryTables, connections: 1 };
  const db = await openDatabase(where, plan);
  await db.run(MEMBERS);
  await db.insert(
    "members (domain_id, source_id, item_id, last_indexed_doc_id, last_indexed, content_hash, indexed_generation, unlinked_count)",
    EARLIER.map((one) => [
      ...[one.domainId, one.sourceId, one.itemId, one.lastIndexedDocId, one.lastIndexed, one.contentHash],
      ...[one.indexedGeneration, one.unlinkedCount],
    ]),
  );
  await db.close();
}

const MEMBERS = `CREATE TABLE members (domain_id text NOT NULL, source_id text NOT NULL, item_id text NOT NULL,
  last_indexed_doc_id text NOT NULL, last_indexed text NOT NULL, content_hash text NOT NULL, indexed_generation bigint NOT NULL,
  unlinked_count bigint NOT NULL, PRIMARY KEY (domain_id, source_id, item_id))`;

async function plantTables(tableName: string): Promise<void> {
  const clients = ["Members", "Keys"].map((suffix) => tableOf(`${tableName}${suffix}`));
  await Promise.all(clients.map((client) => client.createTable()));
  const [members, keys] = clients.map((client) => createEntityTable(client));
  await members?.putAll(
    EARLIER.map((one) => ({ partitionKey: `${one.domainId}|${one.sourceId}`, rowKey: one.itemId, ...one })),
  );
  await keys?.putAll(
    EARLIER.map(({ domainId, sourceId, itemId: id }) => ({
      ...idKey(id, `|${domainId}|${sourceId}`),
      domainId,
      sourceId,
    })),
  );
}

function tableOf(name: string): TableClient {
  return TableClient.fromConnectionString(azurite.connectionString, name, { allowInsecureConnection: true });
}

/** In two processes at once; then what somebody removed stays so, and what was of a renamed domain comes later. */
async function assertTakenOver(t: TestContext, where: MembersPlace, openRegistry: () => Registry): Promise<void> {
  const place = where.url === undefined ? undefined : { url: where.url };
  const both = [1, 2].map(() => {
    const registry = openRegistry();
    const ledgers = openTestLedgers(where.crawlerFolder, place, registry.earlierMembers);
    t.after(async () => {
      await ledgers.close();
      await registry.close();
    });
    return ledgers;
  });
  const [{ members }, other] = both as [Ledgers, Ledgers];
  const [registered] = await Promise.all(both.map((one) => gather(one.members.in(DEMO, REGISTERED_SOURCE))));
  const expected = {
    led: { wanted: "led" },
    out: { wanted: "no", ...HELD },
    asked: { wanted: "asked", ...HELD },
  } as const;
  assert.deepEqual(
    registered,
    Object.entries(expected).map(([name, more]) => member(name, { sourceId: REGISTERED_SOURCE, ...more })),
  );
  const pages = await gather(members.in(DEMO, member("").sourceId));
  assert.equal(pages.length, 600);
  assert.deepEqual(
    pages.find(({ itemId: id }) => id === itemId("p5")),
    member("p5", { unlinkedCount: 2 }),
  );
  await members.change(pages, () => undefined);
  const { earlierMembers } = openRegistry();
  const domains: DomainId[] = [];
  await earlierMembers.handOver([DEMO, HEIR], async (page) => void domains.push(...page.map((one) => one.domainId)));
  assert.deepEqual([domains, await earlierMembers.isEmpty()], [[], false], "of a domain that is gone, nothing is read");
  await mkdir(join(where.crawlerFolder, HEIR, "04_web"), { recursive: true });
  await other.renameDomain({ from: GONE, to: HEIR });
  assert.deepEqual(
    (await members.of(itemId("gone"))).map(({ domainId }) => domainId),
    [HEIR],
  );
  const registry = openRegistry();
  assert.ok(await registry.earlierMembers.isEmpty());
  await registry.put(page("new"), null);
  await registry.close();
  assert.deepEqual(await gather(other.members.in(DEMO, member("").sourceId)), []);
}

test("members that an earlier release kept in a SQLite registry are taken over once", async (t) => {
  const where = await placeOf([DEMO], false);
  const folder = await mkdtemp(join(root, "index-"));
  await plantSql({ folder });
  await assertTakenOver(t, where, () => openSqlRegistry({ folder }));
});

test("members are taken over by the next who asks when somebody was killed on the way", async (t) => {
  const where = await placeOf([DEMO], false);
  const folder = await mkdtemp(join(root, "index-"));
  await plantSql({ folder });
  const registry = openSqlRegistry({ folder });
  const { earlierMembers } = registry;
  const ledgers = openTestLedgers(where.crawlerFolder, undefined, {
    ...earlierMembers,
    handOver: (domains, take) =>
      earlierMembers.handOver(domains, async (page) => {
        await take(page);
        throw new Error("killed");
      }),
  });
  await assert.rejects(ledgers.members.of(itemId("asked")), /killed/);
  await ledgers.close();
  await registry.close();
  await assertTakenOver(t, where, () => openSqlRegistry({ folder }));
});

test("members that an earlier release kept in a PostgreSQL registry are taken over once", async (t) => {
  const where = await placeOf([DEMO], true);
  await plantSql({ url });
  await assertTakenOver(t, where, () => openSqlRegistry({ url }));
});

test("members that an earlier release kept in Azure are taken over once, and their table goes", async (t) => {
  const where = await placeOf([DEMO], false);
  await plantTables("Items");
  const place = { account: azurite.account, tableName: "Items", partitions: "host" } as const;
  await assertTakenOver(t, where, () => openTableRegistry(place));
  const rows: unknown[] = [];
  for await (const row of tableOf("ItemsKeys").listEntities()) rows.push(row["rowKey"]);
  assert.deepEqual(rows, [itemId("new")]);
});
