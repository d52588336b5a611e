// The registry in Azure Table Storage keeps the specified entities and reads only what it needs.
import assert from "node:assert/strict";
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { after, before, test } from "node:test";
import { TableClient } from "@azure/data-tables";
import { ConflictError, RemoteError } from "../../src/contracts/errors.ts";
import type { ItemId } from "../../src/contracts/ids.ts";
import { createEntityTable, type EntityTable, readMany } from "../../src/ledger/registry/entity-table.ts";
import {
  createTableRegistry,
  openTableRegistry,
  type RegistryTables,
} from "../../src/ledger/registry/table-registry.ts";
import { type Azurite, startAzurite } from "../azurite.ts";
import { registrySuite } from "../contracts/registry-suite.ts";
import { at, gather, itemId, namesOf, page, plant, putAll } from "./registry-fixture.ts";

let azurite: Azurite;
before(async () => {
  azurite = await startAzurite();
});
after(() => azurite.stop());

let tables = 0;
function newPlace() {
  return { account: azurite.account, tableName: `Items${++tables}`, partitions: "host" } as const;
}

registrySuite(
  "Azure Table Storage",
  async () => {
    const where = { ...newPlace(), entitiesAtOnce: 50 };
    return { registry: openTableRegistry(where), where };
  },
  { many: 120, isOrdered: true },
);

function clientOf({ tableName }: ReturnType<typeof newPlace>, suffix = ""): TableClient {
  return TableClient.fromConnectionString(azurite.connectionString, `${tableName}${suffix}`, {
    allowInsecureConnection: true,
  });
}

/** The tables of a registry, which count what is read of the items. */
function openTables(where: ReturnType<typeof newPlace>, read: { items: number; pages: number }) {
  let opened: Promise<RegistryTables> | undefined;
  const open = async (): Promise<RegistryTables> => {
    const [items, keys, index] = await Promise.all(
      ["", "Keys", "Index"].map(async (suffix) => {
        await clientOf(where, suffix).createTable();
        return createEntityTable(clientOf(where, suffix));
      }),
    );
    if (!items || !keys || !index) throw new Error("no tables");
    const counting: EntityTable = {
      ...items,
      get: (key) => {
        read.items += 1;
        return items.get(key);
      },
      pages: (filter, select) => {
        read.pages += 1;
        return items.pages(filter, select);
      },
    };
    const none = { ...items, isThere: async () => false, drop: async () => undefined };
    return { items: counting, members: none, keys, index };
  };
  return () => {
    opened ??= open();
    return opened;
  };
}

test("entities are named and flattened as the specification has them", async () => {
  const where = newPlace();
  const registry = openTableRegistry(where);
  const version = await registry.put(
    page("blog/post-1", {
      status: "Indexed",
      reindexGeneration: 3,
      processedGeneration: 3,
      http: {
        etag: 'W/"a1b2c3"',
        lastModified: at(20),
        contentLength: 45_231,
        statusCode: 200,
        redirectChain: ["https://example.com/old"],
        canonicalUrl: "https://example.com/blog/post-1",
      },
      content: { contentHash: "sha256:8e", textHash: "sha256:9f", mimeType: "text/html", language: "en" },
      linkage: { lastIndexedDocId: "page_0b", imageCount: 3 },
      scheduling: {
        lastChecked: at(30),
        lastChanged: at(20),
        lastIndexed: at(30),
        crawlAttempts: 5,
        nextCrawlAt: at(31),
      },
    }),
    null,
  );
  const [entity] = await gather(clientOf(where).listEntities().byPage());
  const { partitionKey, rowKey, etag, timestamp: _, ...properties } = entity ?? assert.fail("there is none");
  assert.deepEqual([partitionKey, etag], ["example.com", version]);
  assert.equal(rowKey, "777777777777777blog!002fpost-1");
  const own =
    "foundSource contentGroupId aliasOf watched includeImages title requestedGeneration processedGeneration reindexOwed history httpIgnoresConditions " +
    "fileDevice documentType foundTitle modifiedAt modifiedFrom readerRevision queuedUntil unchangedCount failureCount goneCount movedTo movedCount countedAt lockedUntil lockedBy indexError httpVariantUrl";
  for (const name of own.split(" ")) delete properties[name];
  assert.deepEqual(properties, {
    id: "url_777777777777777blog/post-1",
    type: "url",
    normalizedSource: "https://example.com/blog/post-1",
    displaySource: "https://example.com/blog/post-1",
    sourceHost: "example.com",
    parentPageId: "",
    status: "Indexed",
    reindexRequested: false,
    reindexGeneration: 3,
    httpEtag: 'W/"a1b2c3"',
    httpLastModified: at(20),
    httpContentLength: 45_231n,
    httpStatusCode: 200,
    httpRedirectChain: '["https://example.com/old"]',
    httpRobotsAllowed: true,
    httpCanonicalUrl: "https://example.com/blog/post-1",
    fileEtag: "",
    fileLastModified: "",
    fileLength: 0n,
    fileContentType: "",
    contentHash: "sha256:8e",
    textHash: "sha256:9f",
    mimeType: "text/html",
    language: "en",
    lastIndexedDocId: "page_0b",
    imageCount: 3,
    firstSeen: at(1),
    lastChecked: at(30),
    lastChanged: at(20),
    lastIndexed: at(30),
    crawlAttempts: 5,
    errorMessage: "",
    nextCrawlAt: at(31),
    crawlIntervalSeconds: 86_400,
  });
});

test("what is due, and what has a status, is found without looking through all items", async () => {
  const read = { items: 0, pages: 0 };
  const open = openTables(newPlace(), read);
  const registry = createTableRegistry(open, "host");
  const dueOnes = [1, 2, 3].map((n) => page(`due${n}`, { scheduling: { nextCrawlAt: at(n) } }));
  const later = Array.from({ length: 60 }, (_, n) =>
    page(`later${n}`, { status: "Indexed", scheduling: { nextCrawlAt: at(20) } }),
  );
  await putAll(registry, [
    ...later,
    ...dueOnes,
    page("fresh", { status: "Crawled", scheduling: { nextCrawlAt: at(20) } }),
  ]);
  assert.equal((await gather(registry.due(at(5)))).length, 3);
  Object.assign(read, { items: 0, pages: 0 });
  assert.deepEqual(namesOf(await gather(registry.due(at(5)))), ["due1", "due2", "due3"]);
  assert.deepEqual(namesOf(await gather(registry.entries({ statuses: ["Crawled"] }))), ["fresh"]);
  assert.deepEqual(read, { items: 4, pages: 0 }, "as many as there are, however many others");
  const looksOf = async (one: ReturnType<typeof createTableRegistry>): Promise<unknown> => {
    read.items = 0;
    return [namesOf(await gather(one.due(at(5)))), read.items];
  };
  // What is put off leads nowhere any more, whoever puts it off.
  for (const [one, name, left] of [
    [registry, "due1", ["due2", "due3"]],
    [createTableRegistry(open, "host"), "due2", ["due3"]],
  ] as const) {
    const known = (await one.get(itemId(name))) ?? assert.fail(name);
    const scheduling = { ...known.item.scheduling, nextCrawlAt: at(20) };
    await one.put({ ...known.item, scheduling }, known.version);
    assert.deepEqual(await looksOf(registry), [left, left.length]);
  }
  // A row of which nobody took care goes when it is not young any more.
  const strict = createTableRegistry(open, "host", -60_000);
  const { items } = await open();
  const { etag = "", ...entity } =
    (await gather(items.pages(""))).find(({ id }) => id === itemId("due3")) ?? assert.fail();
  await items.replace({ ...entity, nextCrawlAt: at(20) }, String(etag));
  for (const [one, count] of [
    [registry, 1],
    [strict, 1],
    [strict, 0],
  ] as const) {
    assert.deepEqual(await looksOf(one), [[], count]);
  }
});

test("a list of a domain, a host or a state, and what is counted of a domain, cost what these have, not what the registry has", async () => {
  const asked = async (others: number): Promise<readonly number[]> => {
    const where = { ...newPlace(), entitiesAtOnce: 50 };
    const first = openTableRegistry(where);
    await putAll(first, [page("a", { status: "Error" }), page("b"), page("c", { sourceHost: "few.example" })]);
    const among = new Set(["a", "b"].map(itemId));
    const more = Array.from({ length: others }, (_, n) => page(`more${n}`, { status: "Indexed" }));
    await plant(azurite.connectionString, where.tableName, more);
    await gather(first.due(at(5)));
    const registry = openTableRegistry(where);
    await gather(registry.entries({ statuses: ["Crawled"] }));
    const counts: number[] = [];
    const listed = async (query: object): Promise<string> => {
      const { items, total } = await registry.list({ offset: 0, limit: 10, ...query });
      return `${namesOf(items).join("")} of ${total}`;
    };
    const counted = async <T>(ask: () => Promise<T>): Promise<T> => {
      let count = 0;
      const watcher = (): void => {
        count += 1;
      };
      subscribe("http.client.request.start", watcher);
      try {
        return await ask();
      } finally {
        unsubscribe("http.client.request.start", watcher);
        counts.push(count);
      }
    };
    assert.equal(await counted(() => listed({ among })), "ab of 2");
    assert.equal(await counted(() => listed({ among, statuses: ["Error"], text: "EXAMPLE" })), "a of 1");
    assert.equal(await counted(() => listed({ host: "few.example" })), "c of 1");
    assert.equal(await counted(() => listed({ statuses: ["Error", "Pending"], sort: "status" })), "abc of 3");
    const summary = await counted(() => registry.summary(at(5), among));
    assert.deepEqual([summary.total, summary.byStatus.Error, summary.due], [2, 1, 2]);
    assert.equal((await registry.summary(at(5))).total, others + 3);
    return counts;
  };
  assert.deepEqual(await asked(500), await asked(0));
});

test("many of a large partition are read in pages, few of it one by one, and none is left out", async () => {
  const where = newPlace();
  const table = createEntityTable(clientOf(where), 50);
  await clientOf(where).createTable();
  const keys = Array.from({ length: 300 }, (_, n) => ({ partitionKey: `p${n % 2}`, rowKey: `${1000 + n}` }));
  await table.putAll(keys);
  const nowhere = { partitionKey: "p0", rowKey: "nowhere" };
  for (const wanted of [0, 1, 20, 36, 40, 100, 300].map((count) => [...keys.slice(-count || keys.length), nowhere])) {
    const met: string[] = [];
    await readMany(table, wanted, [], ({ rowKey }) => void met.push(rowKey));
    assert.deepEqual(
      met.sort(),
      wanted.slice(0, -1).map(({ rowKey }) => rowKey),
    );
  }
});

test("a list of a domain shows an item of which nobody knows any more where it is", async () => {
  const where = newPlace();
  const first = openTableRegistry(where);
  await first.put(page("a"), null);
  const among = new Set([itemId("a")]);
  const keys = clientOf(where, "Keys");
  for await (const { partitionKey = "", rowKey = "" } of keys.listEntities())
    await keys.deleteEntity(partitionKey, rowKey);
  const registry = openTableRegistry(where);
  assert.deepEqual(namesOf((await registry.list({ among, offset: 0, limit: 5 })).items), ["a"]);
  assert.equal((await registry.summary(at(5), among)).total, 1);
});

test("what other programs put is found after a day, also where the last look was another process's, or when it is put again", async (t) => {
  const where = newPlace();
  const first = openTableRegistry(where);
  await putAll(first, [page("theirs"), page("put")]);
  await gather(first.due(at(5)));
  const index = clientOf(where, "Index");
  const hide = async (...partitions: readonly string[]): Promise<void> => {
    for await (const { partitionKey = "", rowKey = "" } of index.listEntities()) {
      if (partitions.includes(partitionKey)) await index.deleteEntity(partitionKey, rowKey);
    }
  };
  await hide("due", "status");
  const hour = 3_600_000;
  await index.upsertEntity({
    partitionKey: "whole",
    rowKey: "hosts",
    at: new Date(Date.now() - 23 * hour).toISOString(),
  });
  const registry = openTableRegistry(where);
  assert.deepEqual(namesOf(await gather(registry.due(at(5)))), []);
  const known = (await registry.get(itemId("put"))) ?? assert.fail();
  await registry.put({ ...known.item, title: "put again" }, known.version);
  assert.deepEqual(namesOf(await gather(registry.due(at(5)))), ["put"]);
  // Followed by its status alone, as when another program has put another date.
  await hide("due");
  const follower = openTableRegistry(where);
  const [followed = assert.fail()] = await gather(follower.entries({ statuses: [known.item.status] }));
  await follower.put({ ...followed.item, title: "put once more" }, followed.version);
  assert.deepEqual(namesOf(await gather(registry.due(at(5)))), ["put"]);
  await hide("due", "status");
  t.mock.timers.enable({ apis: ["Date"], now: Date.now() + 2 * hour });
  assert.deepEqual(namesOf(await gather(registry.due(at(5)))).sort(), ["put", "theirs"]);
});

test("items of an earlier version are in the index after the first look", async () => {
  const where = newPlace();
  await openTableRegistry(where).put(page("old", { status: "Crawled" }), null);
  await clientOf(where, "Index").deleteTable();
  const registry = openTableRegistry(where);
  assert.deepEqual(namesOf(await gather(registry.due(at(5)))), ["old"]);
  assert.deepEqual(namesOf(await gather(registry.entries({ statuses: ["Crawled"] }))), ["old"]);
  // As the version before the rows by host left it.
  const index = clientOf(where, "Index");
  for await (const { partitionKey = "", rowKey = "" } of index.listEntities()) {
    if (rowKey.startsWith("@") || partitionKey === "whole") await index.deleteEntity(partitionKey, rowKey);
  }
  await index.upsertEntity({ partitionKey: "whole", rowKey: "all", at: new Date().toISOString() });
  const upgraded = openTableRegistry(where);
  const ofHost = async () => namesOf((await upgraded.list({ host: "example.com", offset: 0, limit: 5 })).items);
  assert.deepEqual(await ofHost(), ["old"]);
  const known = (await upgraded.get(itemId("old"))) ?? assert.fail();
  await upgraded.delete(known.item.id, known.version);
  assert.deepEqual(await ofHost(), []);
  assert.deepEqual((await gather(index.listEntities().byPage())).map(({ partitionKey }) => partitionKey).sort(), [
    "due",
    "whole",
    "whole",
  ]);
});

test("a table is created only when it is missing", async () => {
  const where = newPlace();
  await openTableRegistry(where).put(page("a"), null);
  const asked: string[] = [];
  const watcher = (event: unknown): void =>
    void asked.push(String((event as { request: { method: string } }).request.method));
  subscribe("http.client.request.start", watcher);
  try {
    assert.ok(await openTableRegistry(where).get(page("a").id));
  } finally {
    unsubscribe("http.client.request.start", watcher);
  }
  assert.deepEqual([...new Set(asked)], ["GET"]);
});

test("what is longer than a property is shortened, the oldest first", async () => {
  const registry = openTableRegistry(newPlace());
  const history = Array.from({ length: 30 }, (_, n) => ({ at: at(n + 1), event: "failed", detail: "x".repeat(2000) }));
  const long = page("long", { history, scheduling: { errorMessage: "x".repeat(40_000) } });
  await registry.put(long, null);
  const kept = (await registry.get(long.id))?.item;
  assert.equal(kept?.scheduling.errorMessage.length, 32_000);
  assert.deepEqual(kept.history, history.slice(-15));
});

test("an item stays in its partition when the strategy changes, and is found by its id", async () => {
  const where = newPlace();
  const before = openTableRegistry(where);
  const first = await before.put(page("a"), null);
  const registry = openTableRegistry({ ...where, partitions: "scheme" });
  await assert.rejects(registry.put(page("a"), null), ConflictError);
  await registry.put(page("a", { title: "changed" }), first);
  await registry.put(page("b"), null);
  const file = page("f", { id: "file_f" as ItemId, type: "file", normalizedSource: "file:///f" });
  await registry.put(file, null);
  assert.equal((await before.get(page("a").id))?.item.title, "changed");
  assert.deepEqual((await before.get(file.id))?.item, file);
  const rows = await gather(clientOf(where).listEntities().byPage());
  assert.deepEqual(
    rows.map(({ partitionKey, id }) => `${partitionKey} ${String(id).slice(-1)}`),
    ["example.com a", "file f", "https b"],
  );
});

test("what a killed process left half done is healed by the next one", async () => {
  const where = newPlace();
  const registry = openTableRegistry(where);
  await registry.put(page("a"), null);
  for await (const { partitionKey, rowKey } of clientOf(where).listEntities()) {
    await clientOf(where).deleteEntity(partitionKey ?? "", rowKey ?? "");
  }
  const other = openTableRegistry(where);
  assert.equal(await other.get(page("a").id), undefined);
  await other.put(page("a"), null);
  assert.deepEqual((await other.get(page("a").id))?.item, page("a"));
});

test("entities that another program wrote are items; odd values count as absent", async () => {
  const where = newPlace();
  const registry = openTableRegistry(where);
  await registry.put(page("a"), null);
  const [{ partitionKey = "", rowKey = "" } = {}] = await gather(clientOf(where).listEntities().byPage());
  const strange = { reindexRequested: true, status: "Odd", history: "{", httpRedirectChain: "7", imageCount: "many" };
  await clientOf(where).updateEntity({ partitionKey, rowKey, ...strange });
  assert.deepEqual((await registry.get(page("a").id))?.item, page("a", { reindexRequested: true }));
  assert.deepEqual(namesOf(await gather(registry.due(at(5)))), ["a"]);
});

test("a table that is gone is trouble, not an empty registry; trouble is told without secrets", async () => {
  const where = newPlace();
  const registry = openTableRegistry(where);
  const version = await registry.put(page("a"), null);
  await clientOf(where).deleteTable();
  const asks = [
    () => registry.get(page("a").id),
    () => registry.put(page("a"), version),
    () => gather(registry.due(at(5))),
  ];
  for (const ask of asks) {
    await assert.rejects(ask, /^RemoteError: use the table Items\d+: Azure Storage answered 404 TableNotFound$/);
  }
  const key = Buffer.from("a secret key").toString("base64");
  const connectionString = azurite.connectionString.replace(/AccountKey=[^;]*/, `AccountKey=${key}`);
  const account = { kind: "connection string", connectionString } as const;
  await assert.rejects(openTableRegistry({ ...where, account }).get(page("a").id), (error: Error) => {
    assert.ok(error instanceof RemoteError);
    assert.match(error.message, /^open the table Items\d+: Azure Storage refuses \(403 \w+\); check the key/);
    assert.equal(error.cause, undefined);
    return true;
  });
});
