// An address is registered even if its record is dropped at the same moment.
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { BUILT_IN_KINDS } from "../../src/app/source-kinds.ts";
import type { ItemId } from "../../src/contracts/ids.ts";
import type { Ledgers } from "../../src/contracts/ledger.ts";
import type { Members } from "../../src/contracts/members.ts";
import type { ListedTaskQueue } from "../../src/contracts/queue.ts";
import type { Registry } from "../../src/contracts/registry.ts";
import { createDomainStore } from "../../src/domains/domain-store.ts";
import { openErasureStore } from "../../src/domains/erasure-store.ts";
import { addUrl } from "../../src/engine/ingest/add-item.ts";
import { dropItems } from "../../src/engine/ingest/remove-items.ts";
import { openSqlRegistry } from "../../src/ledger/registry/sql-registry.ts";
import { USUAL_RULES } from "../../src/plan/web/item-identity.ts";
import { openTaskQueue } from "../../src/queue/open-task-queue.ts";
import { openTestLedgers } from "../ledger/open-test-ledgers.ts";
import { DEMO } from "../ledger/registry-fixture.ts";

let folder: string;
let registry: Registry;
let ledgers: Ledgers;
let queue: ListedTaskQueue;
before(async () => {
  folder = await mkdtemp(join(tmpdir(), "lockstep-add-"));
  registry = openSqlRegistry({ folder });
  ledgers = openTestLedgers(join(folder, "crawler"));
  queue = openTaskQueue({ folder });
});
after(async () => {
  await Promise.all([registry.close(), ledgers.close(), queue.close()]);
  await rm(folder, { recursive: true });
});

async function add(path: string, members: Members = ledgers.members): Promise<ItemId> {
  const request = { url: `https://example.com${path}`, title: "", force: false, includeImages: false };
  const crawlerFolder = join(folder, "crawler");
  const domains = createDomainStore({ domainsFolder: join(folder, "domains"), crawlerFolder, kinds: BUILT_IN_KINDS });
  const erasures = openErasureStore(join(folder, "domains"));
  const given = { registry, members, queue, domains, erasures, crawlerFolder };
  const parts = { ...given, rules: USUAL_RULES, defaultDomain: DEMO, now: () => new Date() };
  return (await addUrl({ ...request, domainId: undefined }, parts, { dryRun: false })).id;
}

async function drop(id: ItemId, members: Members = ledgers.members): Promise<void> {
  const nothing = { delete: async () => undefined, erase: async () => undefined };
  const shelf = { registry, members, documents: nothing, images: nothing };
  await dropItems([id], shelf, { keepLeft: false, warn: assert.fail });
}

/** The same members, with something that happens once before or after one of them is called. */
function withMembers(changes: Partial<Members>): Members {
  return { ...ledgers.members, ...changes };
}

async function assertRegistered(id: ItemId): Promise<void> {
  assert.equal((await registry.get(id))?.item.watched, true);
  assert.deepEqual(
    (await ledgers.members.of(id)).map(({ domainId, wanted }) => [domainId, wanted]),
    [[DEMO, "asked"]],
  );
  const messages = (await queue.list()).map(({ payload }) => (payload as { id: string }).id);
  assert.deepEqual(
    messages.filter((one) => one === id),
    [id],
  );
}

test("an address whose record is dropped before its member is there is registered nevertheless", async () => {
  let isDropped = false;
  const id = await add(
    "/dropped",
    withMembers({
      async change(keys, change) {
        if (!isDropped && keys[0]) {
          isDropped = true;
          await drop(keys[0].itemId);
        }
        await ledgers.members.change(keys, change);
      },
    }),
  );
  assert.ok(isDropped);
  await assertRegistered(id);
});

test("whoever drops a record that somebody registers meanwhile leaves it alone", async () => {
  const id = await add("/kept");
  await ledgers.members.change(await ledgers.members.of(id), () => undefined);
  let isAdded = false;
  await drop(
    id,
    withMembers({
      async of(item) {
        const found = await ledgers.members.of(item);
        if (!isAdded) {
          isAdded = true;
          await add("/kept");
        }
        return found;
      },
    }),
  );
  assert.ok(isAdded);
  await assertRegistered(id);
});
