// Changes to an address while the index is being updated are not overwritten.
import assert from "node:assert/strict";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import type { FileId } from "../../src/contracts/ids.ts";
import type { LedgerEntry } from "../../src/contracts/ledger.ts";
import type { Member, Members } from "../../src/contracts/members.ts";
import type { Registry } from "../../src/contracts/registry.ts";
import { REGISTERED_SOURCE } from "../../src/engine/ingest/ingest.ts";
import { changeItem } from "../../src/engine/ingest/item-records.ts";
import { noteIndexed } from "../../src/engine/ingest/registered-addresses.ts";
import { openSqlRegistry } from "../../src/ledger/registry/sql-registry.ts";
import { openTestLedgers } from "../ledger/open-test-ledgers.ts";
import { at, DEMO, itemId, member, page, putMembers } from "../ledger/registry-fixture.ts";

const HELD = { sourceId: REGISTERED_SOURCE, lastIndexedDocId: "old", contentHash: "sha256:old" };

type Records = { readonly registry: Registry; readonly members: Members };

async function openRecords(t: TestContext): Promise<Records> {
  const folder = await mkdtemp(join(tmpdir(), "lockstep-note-"));
  for (const domain of [DEMO, "HEIR"]) await mkdir(join(folder, "crawler", domain, "04_web"), { recursive: true });
  const registry = openSqlRegistry({ folder });
  const ledgers = openTestLedgers(join(folder, "crawler"));
  t.after(async () => {
    await registry.close();
    await ledgers.close();
    await rm(folder, { recursive: true });
  });
  return { registry, members: ledgers.members };
}

/** An index that has these, told of while `meanwhile` happens: after the members were read, before they are written. */
async function note(
  { registry, members: all }: Records,
  has: readonly string[],
  meanwhile: () => Promise<unknown>,
  served: { readonly generation: number; readonly downloadedAt: string } = { generation: 0, downloadedAt: at(2) },
): Promise<void> {
  const members: Members = {
    ...all,
    async *in(domain, source) {
      yield* all.in(domain, source);
      await meanwhile();
    },
  };
  await noteIndexed(
    { domainId: DEMO, config: { sourceId: REGISTERED_SOURCE } },
    {
      ledger: {
        entries: async function* () {
          yield has.map((name) => entry(name, served));
        },
      },
      mirror: { isFailed: () => false },
      unregistered: new Map(),
      warn: assert.fail,
      repository: {
        registry,
        members,
        documents: { delete: async () => undefined, erase: async () => undefined },
        images: { delete: async () => undefined },
      },
    },
  );
}

/** The mirror has what a request brought; the index, what was downloaded at 2. */
function entry(name: string, served: { readonly generation: number; readonly downloadedAt: string }): LedgerEntry {
  const listed = { listItemId: 0, name, serverPath: "", downloadedAt: at(2), sourceError: "", processingError: "" };
  const fingerprint = { size: 0, modifiedAt: at(2), etag: "", contentVersion: `sha256:new#${served.generation}` };
  return {
    itemId: itemId(name),
    seen: null,
    mirrored: { ...listed, file: name, fingerprint, observed: null, downloadedAt: served.downloadedAt },
    indexed: {
      ...listed,
      fileId: "new" as FileId,
      vectorStoreId: "",
      file: name,
      size: 1,
      modifiedAt: at(2),
      uploadedAt: at(2),
      embeddedAt: at(2),
      embeddingError: "",
      sha256: "new",
    },
  };
}

async function of({ members }: Records, name: string): Promise<Partial<Member>[]> {
  const found = await members.of(itemId(name));
  return found.map(({ lastIndexedDocId, contentHash, wanted }) => ({ lastIndexedDocId, contentHash, wanted }));
}

test("an address that is taken out while the index is told of stays taken out, and is behind", async (t) => {
  const records = await openRecords(t);
  const { registry, members } = records;
  for (const name of ["held", "new"]) {
    await registry.put(page(name, { status: "Crawled", content: { contentHash: "sha256:new" } }), null);
  }
  const [held, fresh] = [member("held", HELD), member("new", { sourceId: REGISTERED_SOURCE })];
  await putMembers(members, [held, fresh]);
  await note(records, ["held", "new"], async () => {
    await putMembers(members, [{ ...held, wanted: "no" }]);
    await members.change([fresh], () => undefined);
  });
  for (const name of ["held", "new"]) {
    const expected = { lastIndexedDocId: "new", contentHash: "sha256:new", wanted: "no" };
    assert.deepEqual(await of(records, name), [expected]);
    assert.equal((await registry.get(itemId(name)))?.item.status, "Crawled");
  }
});

test("an address that is registered while the index is told that it left stays registered, and is behind", async (t) => {
  const records = await openRecords(t);
  const { registry, members } = records;
  await registry.put(page("back", { status: "Indexed", content: { contentHash: "sha256:old" } }), null);
  const left = member("back", { ...HELD, wanted: "no" });
  await putMembers(members, [left]);
  await note(records, [], () => putMembers(members, [{ ...left, wanted: "asked" }]));
  assert.deepEqual(await of(records, "back"), [{ lastIndexedDocId: "", contentHash: "", wanted: "asked" }]);
  assert.equal((await registry.get(itemId("back")))?.item.status, "Crawled");
});

test("a request is served when the index has what it brought, not when the mirror has it", async (t) => {
  const records = await openRecords(t);
  const { registry, members } = records;
  const content = { contentHash: "sha256:new" };
  await registry.put(page("asked", { status: "Crawled", content, processedGeneration: 1 }), null);
  const held = { ...HELD, lastIndexedDocId: "new", contentHash: "sha256:new", wanted: "asked" } as const;
  await putMembers(members, [member("asked", held)]);
  const told = async (downloadedAt: string): Promise<unknown[]> => {
    await note(records, ["asked"], async () => undefined, { generation: 1, downloadedAt });
    const [now] = await members.of(itemId("asked"));
    return [now?.indexedGeneration, (await registry.get(itemId("asked")))?.item.status];
  };
  assert.deepEqual(await told(at(3)), [0, "Crawled"], "downloaded later than what the index has");
  assert.deepEqual(await told(at(2)), [1, "Indexed"]);
});

test("a domain that joins while the index of another is told of keeps the item behind", async (t) => {
  const records = await openRecords(t);
  const { registry, members } = records;
  await registry.put(page("two", { status: "Crawled", content: { contentHash: "sha256:new" } }), null);
  await putMembers(members, [member("two", HELD)]);
  const joins = { members, registry: { ...registry, get: joinOnFirst(records) } };
  await note(joins, ["two"], async () => undefined);
  assert.equal((await registry.get(itemId("two")))?.item.status, "Crawled");
});

/** As a registration in a second domain does it: the record, then the member. */
function joinOnFirst({ registry, members }: Records): Registry["get"] {
  let isFirst = true;
  return async (id) => {
    const found = await registry.get(id);
    if (isFirst) {
      isFirst = false;
      await changeItem(registry, id, (item) => ({ ...item, title: "asked for" }));
      await putMembers(members, [member("two", { sourceId: REGISTERED_SOURCE, domainId: "HEIR" as typeof DEMO })]);
    }
    return found;
  };
}
