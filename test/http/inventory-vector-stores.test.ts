// Vector stores are created, changed and deleted, with a warning where a domain uses one.
import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import type { DomainId, VectorStoreId } from "../../src/contracts/ids.ts";
import { openTestLedgers } from "../ledger/open-test-ledgers.ts";
import { type InventoryStage, openInventoryStage } from "./inventory-stage.ts";

describe("/v2/inventory/vector_stores", () => {
  let stage: InventoryStage;
  before(async () => {
    stage = await openInventoryStage();
  });
  after(() => stage.close());

  it("creates from JSON and from a form, and not in a dry run", async () => {
    const body = { name: "json", metadata: { team: "HR" }, expires_after: { anchor: "last_active_at", days: 30 } };
    const planned = await stage.ask("POST vector_stores/create?dry_run=true", { json: body });
    assert.deepEqual([planned.status, planned.json.data.name], [200, "json"]);
    assert.deepEqual((await stage.ask("GET vector_stores?format=json")).json.data, []);
    const made = await stage.ask("POST vector_stores/create", { json: body });
    const store = await stage.client.vectorStores.retrieve(String(made.json.data.id));
    assert.deepEqual([store.name, store.metadata, store.expires_after?.days], ["json", { team: "HR" }, 30]);
    const form = { name: "form", metadata: '{"team":"IT"}', expires_after: "", expires_after_days: "7" };
    const formed = await stage.ask("POST vector_stores/create", { form });
    const second = await stage.client.vectorStores.retrieve(String(formed.json.data.id));
    assert.deepEqual([second.name, second.metadata, second.expires_after?.days], ["form", { team: "IT" }, 7]);
  });

  it("says what is wrong with a body", async () => {
    const refused = async (json: object): Promise<string> => {
      const { status, json: answer } = await stage.ask("POST vector_stores/create", { json });
      assert.equal(status, 400);
      return String(answer.error);
    };
    assert.match(await refused({ metadata: { a: 1 } }), /'metadata' must be a JSON object with at most 16 texts/);
    assert.match(await refused({ metadata: "{" }), /'metadata' must be/);
    assert.match(await refused({ expires_after: { anchor: "created_at", days: 1 } }), /'expires_after' must be/);
    assert.match(await refused({ expires_after_days: 0 }), /'expires_after_days' must be a whole number from 1 to 365/);
    assert.match(await refused({ expires_after: null, expires_after_days: 3 }), /not both/);
    assert.match(await refused({ nam: "typo" }), /Unknown field 'nam'/);
    const unknown = await stage.ask("POST vector_stores/create", { json: { file_ids: ["file-nobody"] } });
    assert.equal(unknown.status, 404);
    assert.match(String(unknown.json.error), /refused to create the vector store: .*'file-nobody'/);
  });

  it("updates what is given and keeps the rest", async () => {
    const id = await stage.store("before");
    const planned = await stage.ask(`PUT vector_stores/update?vector_store_id=${id}&dry_run=true`, {
      json: { name: "after" },
    });
    assert.equal(planned.json.data.name, "after");
    assert.equal((await stage.client.vectorStores.retrieve(id)).name, "before");
    await stage.ask("PUT vector_stores/update", { form: { vector_store_id: id, metadata: '{"a":"b"}' } });
    await stage.ask(`PUT vector_stores/update?vector_store_id=${id}`, { json: { expires_after_days: 5 } });
    await stage.ask(`PUT vector_stores/update?vector_store_id=${id}&format=stream`, { json: { name: "after" } });
    const store = await stage.client.vectorStores.retrieve(id);
    assert.deepEqual([store.name, store.metadata, store.expires_after?.days], ["after", { a: "b" }, 5]);
    await stage.ask(`PUT vector_stores/update?vector_store_id=${id}`, { json: { expires_after: null } });
    assert.equal((await stage.client.vectorStores.retrieve(id)).expires_after, undefined);
    assert.equal((await stage.ask("PUT vector_stores/update", { json: {} })).json.error, "Missing 'vector_store_id'.");
    assert.equal((await stage.ask("PUT vector_stores/update?vector_store_id=vs_nobody", { json: {} })).status, 404);
  });

  it("deletes the store alone, and its files with it when asked to", async () => {
    const files = [await stage.upload("a.txt"), await stage.upload("b.txt")];
    const [alone, other, both] = [
      await stage.store("alone", files),
      await stage.store("other", files),
      await stage.store("both", files),
    ];
    await stage.ask(`DELETE vector_stores/delete?vector_store_id=${alone}`);
    assert.equal((await stage.ask(`GET vector_stores/get?vector_store_id=${alone}`)).status, 404);
    assert.deepEqual(await stage.held(other), files.toSorted());
    const query = `vector_store_id=${both}&mode=with_files`;
    const planned = await stage.ask(`GET vector_stores/delete?${query}&dry_run=true&format=stream`);
    assert.match(planned.text, /\[ 2 \/ 3 \] Deleting file '[ab]\.txt'/);
    assert.match(planned.text, /Dry run: nothing was changed\./);
    assert.deepEqual(await stage.held(both), files.toSorted());
    const { json } = await stage.ask(`DELETE vector_stores/delete?${query}`);
    assert.deepEqual([json.ok, json.data.id, json.data.deleted_files, json.data.failed_files], [true, both, 2, []]);
    assert.deepEqual(await stage.held(other), []);
    assert.equal((await stage.ask(`GET files/get?file_id=${files[0]}`)).status, 404);
    assert.equal((await stage.ask(`GET vector_stores/delete?vector_store_id=${both}`)).status, 404);
  });

  it("names the domain that uses a store, and deletes it all the same", async () => {
    const id = await stage.store("of a domain");
    await stage.useInDomain(id);
    const listed = await stage.ask("GET vector_stores?format=json&filter=HANDBOOK");
    assert.equal(listed.json.data[0]?.id, id);
    const got = await stage.ask(`GET vector_stores/get?vector_store_id=${id}`);
    assert.equal(got.json.data.used_by_domain, "HANDBOOK");
    const planned = await stage.ask(`GET vector_stores/delete?vector_store_id=${id}&dry_run=true`);
    assert.equal(planned.json.data.used_by_domain, "HANDBOOK");
    const [fresh, former] = [await stage.store("being filled"), await stage.store("former")];
    const ledgers = openTestLedgers(join(stage.folder, "crawler"));
    const since = "2026-11-16T00:00:00.000000Z";
    const domainId = "HANDBOOK" as DomainId;
    await ledgers.stores.put(domainId, { vectorStoreId: fresh as VectorStoreId, state: "building", since });
    await ledgers.stores.put(domainId, { vectorStoreId: former as VectorStoreId, state: "superseded", since });
    await ledgers.close();
    const use = async (store: string): Promise<unknown> =>
      (await stage.ask(`GET vector_stores/get?vector_store_id=${store}`)).json.data.used_by_domain;
    assert.deepEqual([await use(fresh), await use(former)], ["HANDBOOK", ""]);
    const page = await stage.ask(`GET vector_stores/get?vector_store_id=${id}&format=html`);
    assert.match(page.text, /although domain HANDBOOK uses it/);
    const { text } = await stage.ask(`GET vector_stores/delete?vector_store_id=${id}&format=stream`);
    assert.match(text, /WARNING: Vector store 'vs_\w+' is the one of domain 'HANDBOOK'\./);
    assert.equal((await stage.ask(`GET vector_stores/get?vector_store_id=${id}`)).status, 404);
  });

  it("keeps its own words for wrong methods and formats", async () => {
    const wrong = await stage.ask("POST vector_stores/update", { json: {} });
    assert.deepEqual([wrong.status, wrong.json.error], [400, "HTTP method 'POST' not supported."]);
    const format = await stage.ask("GET vector_stores/get?vector_store_id=vs_1&format=ui");
    assert.deepEqual([format.status, format.json.error], [400, "Format 'ui' not supported."]);
  });
});
