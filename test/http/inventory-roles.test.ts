// Everybody reads the inventory, operators change it, and only admins delete.
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { Role } from "../../src/contracts/access.ts";
import { requiredAccess } from "../../src/http/endpoints/wire-endpoints.ts";
import { inventoryEndpoints } from "../../src/http/inventory/inventory-endpoints.ts";
import { ask } from "./ask.ts";
import { type Served, serveScripted } from "./scripted-app.ts";

/** The same thing at both faces. */
const SAME: readonly [endpoint: string, method: string, path: string][] = [
  ["files", "GET", "/files"],
  ["files/delete", "DELETE", "/files/file-1"],
  ["vector_stores", "GET", "/vector_stores"],
  ["vector_stores/create", "POST", "/vector_stores"],
  ["vector_stores/update", "POST", "/vector_stores/vs_1"],
  ["vector_stores/delete", "DELETE", "/vector_stores/vs_1"],
  ["vector_stores/replicate", "POST", "/vector_stores/vs_1/file_batches"],
  ["vector_stores/files", "GET", "/vector_stores/vs_1/files"],
  ["vector_stores/files/delete", "DELETE", "/vector_stores/vs_1/files/file-1"],
  ["assistants/create", "POST", "/assistants"],
  ["assistants/update", "POST", "/assistants/asst_1"],
  ["assistants/delete", "DELETE", "/assistants/asst_1"],
  ["responses/create", "POST", "/responses"],
  ["responses/get", "GET", "/responses/resp_1"],
  ["responses/delete", "DELETE", "/responses/resp_1"],
];

describe("who may do what with the inventory", () => {
  let served: Served;
  before(async () => {
    served = await serveScripted();
  });
  after(() => served.close());

  it("everybody reads and asks, operators change, and only admins delete", () => {
    const roles = inventoryEndpoints(served.app).map(({ path, role }) => [path.replace("/v2/inventory", ""), role]);
    const asking = new Set(["/responses/create"]);
    const detaching = "/vector_stores/files/delete";
    for (const [path = "", role] of roles) {
      const action = path.split("/").at(-1);
      const changes = action === "create" || action === "update" || action === "replicate" || path === detaching;
      const expected = changes && !asking.has(path) ? "operate" : action === "delete" ? "admin" : "read";
      assert.equal(role, expected, path);
    }
    assert.equal(roles.length, 22);
  });

  it("the wire protocol takes the same role for the same thing", () => {
    const roles = new Map(inventoryEndpoints(served.app).map(({ path, role }) => [path, role]));
    for (const [endpoint, method, path] of SAME)
      assert.equal(requiredAccess(method, path).role, roles.get(`/v2/inventory/${endpoint}`), endpoint);
  });

  it("taking a file out of a store is for operators, deleting it with that for admins", async () => {
    served.script.wire = async () => Response.json({ id: "file-1", filename: "a.txt", object: "file", data: [] });
    await served.app.access.keys.create({ name: "first", role: "admin", expiresAt: "" });
    const status = async (role: Role, mode: string): Promise<number> => {
      const { key } = await served.app.access.keys.create({ name: `${role} ${mode}`, role, expiresAt: "" });
      const what = `GET /v2/inventory/vector_stores/files/delete?vector_store_id=vs_1&file_id=file-1&dry_run=true&mode=${mode}`;
      return (await ask(served.url, what, { headers: { "x-api-key": key } })).status;
    };
    assert.deepEqual([await status("read", "default"), await status("operate", "default")], [403, 200]);
    const page = async (role: Role): Promise<string> => {
      const { key } = await served.app.access.keys.create({ name: `page ${role}`, role, expiresAt: "" });
      const what = "GET /v2/inventory/vector_stores/files?vector_store_id=vs_1&format=html";
      return (await ask(served.url, what, { headers: { "x-api-key": key } })).text;
    };
    for (const [role, removes, deletes] of [
      ["read", false, false],
      ["operate", true, false],
      ["admin", true, true],
    ] as const) {
      const text = await page(role);
      assert.deepEqual([/Remove file\?/.test(text), /value="delete_globally"/.test(text)], [removes, deletes], role);
    }
    assert.deepEqual(
      [await status("operate", "delete_globally"), await status("admin", "delete_globally")],
      [403, 200],
    );
  });
});
