import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { mkdir, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, test } from "node:test";
import type { OtherStore } from "../../src/contracts/domain-state.ts";
import type { DomainId, VectorStoreId } from "../../src/contracts/ids.ts";
import type { Ledgers } from "../../src/contracts/ledger.ts";

export interface StatePlace {
  readonly storage: string;
  readonly ledgers: Ledgers;
}

const SINCE = "2026-01-15T14:25:00.000000Z";
const LATER = "2026-01-15T14:25:01.000000Z";

function store(id: string, state: OtherStore["state"] = "superseded", since = SINCE): OtherStore {
  return { vectorStoreId: id as VectorStoreId, state, since };
}

let count = 0;
function newDomain(): DomainId {
  count += 1;
  return `D${count}` as DomainId;
}

/** What a ledger promises of what it remembers of domains as a whole. */
export function domainStateSuite(name: string, place: () => StatePlace): void {
  /** As the engine does it. */
  const renamed = async (from: DomainId): Promise<DomainId> => {
    const { storage, ledgers } = place();
    const to = newDomain();
    await ledgers.release(from);
    if (existsSync(join(storage, "crawler", from))) {
      await rename(join(storage, "crawler", from), join(storage, "crawler", to));
    }
    await ledgers.renameDomain({ from, to });
    await ledgers.renameDomain({ from, to });
    return to;
  };
  const writeOld = async (id: DomainId, file: string, text: string): Promise<string> => {
    const path = join(place().storage, "domains", id, file);
    await mkdir(join(path, ".."), { recursive: true });
    await writeFile(path, text);
    return path;
  };
  const makesNoDatabase = async (id: DomainId, read: () => Promise<unknown>): Promise<void> => {
    await read();
    assert.ok(!existsSync(join(place().storage, "crawler", id)), "whoever only reads makes no database");
  };

  describe(`vector stores beside the domain's own, in ${name}`, () => {
    test("are listed with the oldest first, have one state each, and are forgotten by id", async () => {
      const { stores } = place().ledgers;
      const [id, other] = [newDomain(), newDomain()];
      await stores.put(id, store("vs_b", "building", LATER));
      await stores.put(id, store("vs_c"));
      await stores.put(other, store("vs_c"));
      assert.deepEqual(await stores.list(id), [store("vs_c"), store("vs_b", "building", LATER)]);
      await stores.put(id, store("vs_b"));
      await stores.remove(id, "vs_c" as VectorStoreId);
      assert.deepEqual(await stores.list(id), [store("vs_b")]);
      assert.deepEqual(await stores.list(other), [store("vs_c")]);
    });

    test("follow a rename, and go with their domain", async () => {
      const { ledgers } = place();
      const [from, other] = [newDomain(), newDomain()];
      for (const id of [from, other]) await ledgers.stores.put(id, store("vs_a"));
      const to = await renamed(from);
      assert.deepEqual(await ledgers.stores.list(to), [store("vs_a")]);
      assert.deepEqual(await ledgers.stores.list(from), []);
      await ledgers.forgetDomain(to);
      assert.deepEqual(await ledgers.stores.list(to), []);
      assert.deepEqual(await ledgers.stores.list(other), [store("vs_a")]);
    });

    test("are read from the file of an earlier release until the first change takes it over", async () => {
      const { stores } = place().ledgers;
      const id = newDomain();
      await makesNoDatabase(id, () => stores.list(id));
      const old = { vector_store_id: "vs_a", state: "building", since_utc: SINCE };
      const path = await writeOld(id, "superseded_stores.json", JSON.stringify({ stores: [old] }));
      await makesNoDatabase(id, async () => assert.deepEqual(await stores.list(id), [store("vs_a", "building")]));
      await Promise.all([stores.put(id, store("vs_b", "building", LATER)), stores.put(id, store("vs_c"))]);
      assert.deepEqual(await stores.list(id), [
        store("vs_a", "building"),
        store("vs_c"),
        store("vs_b", "building", LATER),
      ]);
      assert.ok(!existsSync(path), "the file is moved away");
    });
  });
}
