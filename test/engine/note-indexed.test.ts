import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import type { FileId } from "../../src/contracts/ids.ts";
import type { LedgerEntry } from "../../src/contracts/ledger.ts";
import { type Member, type Registry, TAKEN_OUT } from "../../src/contracts/registry.ts";
import { changeItem } from "../../src/engine/ingest/change-item.ts";
import { REGISTERED_SOURCE } from "../../src/engine/ingest/ingest.ts";
import { noteIndexed } from "../../src/engine/note-indexed.ts";
import { openSqlRegistry } from "../../src/ledgers/registry/open-sql-registry.ts";
import { at, DEMO, itemId, member, page, putMembers } from "../ledgers/registry-fixture.ts";

const HELD = { sourceId: REGISTERED_SOURCE, lastIndexedDocId: "old", contentHash: "sha256:old" };

async function openRegistry(t: TestContext): Promise<Registry> {
  const folder = await mkdtemp(join(tmpdir(), "lockstep-note-"));
  const registry = openSqlRegistry({ folder });
  t.after(async () => {
    await registry.close();
    await rm(folder, { recursive: true });
  });
  return registry;
}

/** An index that has these, told of while `meanwhile` happens: after the members were read, before they are written. */
async function note(registry: Registry, has: readonly string[], meanwhile: () => Promise<unknown>): Promise<void> {
  const members: Registry["members"] = {
    ...registry.members,
    async *in(domain, source) {
      yield* registry.members.in(domain, source);
      await meanwhile();
    },
  };
  await noteIndexed(
    { domainId: DEMO, config: { sourceId: REGISTERED_SOURCE } },
    {
      ledger: {
        entries: async function* () {
          yield has.map(entry);
        },
      },
      mirror: { isFailed: () => false },
      unregistered: new Map(),
      warn: assert.fail,
      shelf: {
        registry: { ...registry, members },
        documents: { delete: async () => undefined },
        images: { delete: async () => undefined },
      },
    },
  );
}

function entry(name: string): LedgerEntry {
  const listed = { listItemId: 0, name, serverPath: "", downloadedAt: at(2), sourceError: "", processingError: "" };
  const fingerprint = { size: 0, modifiedAt: at(2), etag: "", contentVersion: "sha256:new#0" };
  return {
    itemId: itemId(name),
    seen: null,
    mirrored: { ...listed, file: name, fingerprint, observed: null },
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

async function of(registry: Registry, name: string): Promise<Partial<Member>[]> {
  const members = await registry.members.of(itemId(name));
  return members.map(({ lastIndexedDocId, contentHash, unlinkedCount }) => ({
    lastIndexedDocId,
    contentHash,
    unlinkedCount,
  }));
}

test("an address that is taken out while the index is told of stays taken out, and is behind", async (t) => {
  const registry = await openRegistry(t);
  for (const name of ["held", "new"]) {
    await registry.put(page(name, { status: "Crawled", content: { contentHash: "sha256:new" } }), null);
  }
  const [held, fresh] = [member("held", HELD), member("new", { sourceId: REGISTERED_SOURCE })];
  await putMembers(registry, [held, fresh]);
  await note(registry, ["held", "new"], async () => {
    await putMembers(registry, [{ ...held, unlinkedCount: TAKEN_OUT }]);
    await registry.members.change([fresh], () => undefined);
  });
  for (const name of ["held", "new"]) {
    const expected = { lastIndexedDocId: "new", contentHash: "sha256:new", unlinkedCount: TAKEN_OUT };
    assert.deepEqual(await of(registry, name), [expected]);
    assert.equal((await registry.get(itemId(name)))?.item.status, "Crawled");
  }
});

test("an address that is registered while the index is told that it left stays registered, and is behind", async (t) => {
  const registry = await openRegistry(t);
  await registry.put(page("back", { status: "Indexed", content: { contentHash: "sha256:old" } }), null);
  const left = member("back", { ...HELD, unlinkedCount: TAKEN_OUT });
  await putMembers(registry, [left]);
  await note(registry, [], () => putMembers(registry, [{ ...left, unlinkedCount: 0 }]));
  assert.deepEqual(await of(registry, "back"), [{ lastIndexedDocId: "", contentHash: "", unlinkedCount: 0 }]);
  assert.equal((await registry.get(itemId("back")))?.item.status, "Crawled");
});

test("a domain that joins while the index of another is told of keeps the item behind", async (t) => {
  const registry = await openRegistry(t);
  await registry.put(page("two", { status: "Crawled", content: { contentHash: "sha256:new" } }), null);
  await putMembers(registry, [member("two", HELD)]);
  const joins = { ...registry, get: joinOnFirst(registry) };
  await note(joins, ["two"], async () => undefined);
  assert.equal((await registry.get(itemId("two")))?.item.status, "Crawled");
});

/** As a registration in a second domain does it: the record, then the member. */
function joinOnFirst(registry: Registry): Registry["get"] {
  let isFirst = true;
  return async (id) => {
    const found = await registry.get(id);
    if (isFirst) {
      isFirst = false;
      await changeItem(registry, id, (item) => ({ ...item, title: "asked for" }));
      await putMembers(registry, [member("two", { sourceId: REGISTERED_SOURCE, domainId: "HEIR" as typeof DEMO })]);
    }
    return found;
  };
}
