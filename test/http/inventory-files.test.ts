// Files of the backend are listed, sorted, filtered and shown as text.
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { type InventoryStage, openInventoryStage } from "./inventory-stage.ts";

describe("/v2/inventory/files", () => {
  let stage: InventoryStage;
  const ids: string[] = [];
  before(async () => {
    stage = await openInventoryStage();
    for (const name of ["beta.txt", "alpha.txt", "<img src=x onerror=alert(1)>.txt"])
      ids.push(await stage.upload(name));
  });
  after(() => stage.close());

  it("lists all, newest first, as the wire has them", async () => {
    const { status, json } = await stage.ask("GET files?format=json");
    assert.equal(status, 200);
    assert.deepEqual([json.ok, json.error], [true, ""]);
    assert.deepEqual(names(json.data), ["<img src=x onerror=alert(1)>.txt", "alpha.txt", "beta.txt"]);
    assert.equal(json.page, undefined);
  });

  it("shows a part of the list, and where it stands", async () => {
    const { json } = await stage.ask("GET files?format=json&limit=2&offset=1");
    assert.deepEqual(names(json.data), ["alpha.txt", "beta.txt"]);
    assert.deepEqual(json.page, { offset: 1, limit: 2, total: 3, more: false });
    const first = await stage.ask("GET files?format=json&limit=2");
    assert.deepEqual(first.json.page, { offset: 0, limit: 2, more: true });
  });

  it("sorts both ways and filters, also with a limit", async () => {
    assert.deepEqual(names((await stage.ask("GET files?format=json&sort=created_at")).json.data)[0], "beta.txt");
    assert.deepEqual(names((await stage.ask("GET files?format=json&sort=filename&limit=2&offset=1")).json.data), [
      "alpha.txt",
      "beta.txt",
    ]);
    const found = await stage.ask("GET files?format=json&filter=ALPHA&limit=1");
    assert.deepEqual(names(found.json.data), ["alpha.txt"]);
    assert.deepEqual(found.json.page, { offset: 0, limit: 1, total: 1, more: false });
  });

  it("gets one, and names an id that nobody has", async () => {
    const { json } = await stage.ask(`GET files/get?file_id=${ids[0]}`);
    assert.equal(json.data.filename, "beta.txt");
    const missing = await stage.ask("GET files/get?file_id=file-nobody");
    assert.deepEqual([missing.status, missing.json.error], [404, "File 'file-nobody' does not exist."]);
    assert.equal((await stage.ask("GET files/get?file_id=..%2F..%2Fetc")).status, 400);
    assert.equal((await stage.ask("GET files/get?file_id=..")).status, 400);
  });

  it("shows names as text, never as markup", async () => {
    for (const page of ["files?format=ui", "files?format=html", `files/get?file_id=${ids[2]}&format=html`]) {
      const { text, status } = await stage.ask(`GET ${page}`);
      assert.equal(status, 200);
      assert.ok(text.includes("&lt;img src=x onerror=alert(1)&gt;"), page);
      assert.ok(!text.includes("<img src=x"), page);
    }
  });

  it("deletes: not in a dry run, then for good, as a job when streamed", async () => {
    const [, id] = ids;
    const planned = await stage.ask(`GET files/delete?file_id=${id}&dry_run=true`);
    assert.equal(planned.json.data.filename, "alpha.txt");
    assert.equal((await stage.ask(`GET files/get?file_id=${id}`)).status, 200);
    const streamed = await stage.ask(`DELETE files/delete?file_id=${id}&format=stream`);
    assert.match(streamed.text, /\[ 1 \/ 1 \] Deleting file 'alpha\.txt' \(ID='file-/);
    assert.match(streamed.text, / {2}OK\./);
    const [job] = await stage.app.jobs.list({});
    assert.deepEqual([job?.router, job?.action, job?.object, job?.result?.ok], ["inventory/files", "delete", id, true]);
    assert.equal((await stage.ask(`GET files/get?file_id=${id}`)).status, 404);
    assert.equal((await stage.ask(`GET files/delete?file_id=${id}`)).status, 404);
  });
});

function names(rows: unknown): string[] {
  return (rows as { filename: string }[]).map(({ filename }) => filename);
}
