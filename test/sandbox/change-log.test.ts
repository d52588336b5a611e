// The sandbox logs changes as SharePoint does.
import assert from "node:assert/strict";
import { beforeEach, describe, test } from "node:test";
import { SPDefault } from "@pnp/nodejs";
import { BearerToken } from "@pnp/queryable";
import { spfi } from "@pnp/sp";
import "@pnp/sp/webs/index.js";
import "@pnp/sp/lists/index.js";
import { CHANGE_TYPES } from "../../src/sandbox/sharepoint/tenant/change-log.ts";
import { accessToken, control, errorOf, type JsonObject, jsonOf, sandboxForTests, senderOf } from "./sandbox-client.ts";

const sandbox = await sandboxForTests();
const send = await senderOf(sandbox);
const root = "/sites/demo/Shared Documents";
const list = `/sites/demo/_api/web/GetListUsingPath(DecodedUrl=@u)`;
const byPath = `?@u='${encodeURIComponent(root)}'`;
const EVERYTHING = {
  ...{ Item: true, File: true, Folder: true, RecursiveAll: true },
  ...{ Add: true, Update: true, DeleteObject: true, Rename: true, Move: true, Restore: true, SystemUpdate: true },
};

beforeEach(() => sandbox.state.reset());

async function currentToken(): Promise<string> {
  const token = (await jsonOf(await send("GET", `${list}${byPath}&$select=CurrentChangeToken`)))["CurrentChangeToken"];
  return String((token as JsonObject)["StringValue"]);
}

function ask(query: JsonObject, address = `${list}/GetChanges${byPath}`): Promise<Response> {
  return send("POST", address, { query });
}

async function changesSince(token: string, query: JsonObject = EVERYTHING): Promise<JsonObject[]> {
  const body = await jsonOf(await ask({ ...query, ChangeTokenStart: { StringValue: token } }));
  return body["value"] as JsonObject[];
}

async function run(operation: string, fields: JsonObject): Promise<JsonObject> {
  const { status, body } = await control(sandbox, "POST", operation, fields);
  assert.equal(status, 200, JSON.stringify(body));
  return body;
}

function typesOf(changes: readonly JsonObject[]): string[] {
  const name = (number: unknown) => Object.entries(CHANGE_TYPES).find(([, each]) => each === number)?.[0] ?? "?";
  return changes.map((change) => name(change["ChangeType"]));
}

describe("what is logged", () => {
  test("an added file: its ids, the list, a time with fractions, a token to go on with", async () => {
    const before = await currentToken();
    const file = await run("add", { path: `${root}/a.txt`, text: "a" });
    const [change, ...rest] = await changesSince(before);
    assert.deepEqual(rest, []);
    assert.deepEqual(Object.keys(change ?? {}).sort(), [
      ...["ChangeToken", "ChangeType", "Editor", "EditorEmailHint", "ItemId", "ListId", "ServerRelativeUrl"],
      ...["SharedByUser", "SharedWithUsers", "SiteId", "Time", "UniqueId", "WebId"],
    ]);
    assert.deepEqual(
      [change?.["ChangeType"], change?.["ItemId"], change?.["UniqueId"]],
      [1, file["listItemId"], file["uniqueId"]],
    );
    assert.match(String(change?.["Time"]), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    assert.deepEqual(change?.["ChangeToken"], { StringValue: await currentToken() });
  });

  test("each thing users do, in order", async () => {
    await run("add", { path: `${root}/a.txt`, text: "a" });
    const before = await currentToken();
    await run("update", { path: `${root}/a.txt`, text: "b" });
    await run("set-columns", { path: `${root}/a.txt`, columns: { Title: "A" } });
    await run("set-columns", { path: `${root}/a.txt`, columns: { Title: "B" }, via: "system-update" });
    await run("rename", { path: `${root}/a.txt`, name: "b.txt" });
    await run("move", { path: `${root}/b.txt`, to: `${root}/New/b.txt` });
    await run("delete", { path: `${root}/New/b.txt` });
    await run("restore", { path: `${root}/New/b.txt` });
    assert.deepEqual(typesOf(await changesSince(before)), [
      ...["Update", "Update", "SystemUpdate", "Rename"],
      ...["Add", "MoveAway", "MoveInto", "DeleteObject", "Restore"],
    ]);
  });

  test("a folder renamed, moved or deleted: one item, nothing about what is in it", async () => {
    await run("add", { path: `${root}/Old/Deep/a.txt`, text: "a" });
    const folder = sandbox.tenant.itemAt(`${root}/Old`);
    const before = await currentToken();
    await run("rename", { path: `${root}/Old`, name: "New" });
    await run("move", { path: `${root}/New`, to: `${root}/Other/New` });
    await run("delete", { path: `${root}/Other/New` });
    const changes = await changesSince(before, { ...EVERYTHING, Add: false });
    assert.deepEqual(typesOf(changes), ["Rename", "MoveAway", "MoveInto", "DeleteObject"]);
    assert.deepEqual(new Set(changes.map((change) => change["UniqueId"])), new Set([folder?.uniqueId]));
  });

  test("to another library: gone from the one, come into the other under a new item id", async () => {
    const file = await run("add", { path: `${root}/a.txt`, text: "a" });
    const before = await currentToken();
    const moved = await run("move", { path: `${root}/a.txt`, to: "/sites/demo/Contracts/a.txt" });
    const [away] = await changesSince(before);
    assert.deepEqual([away?.["ChangeType"], away?.["ItemId"]], [5, file["listItemId"]]);
    const there = `/sites/demo/_api/web/lists/getByTitle('Contracts')/getchanges`;
    const [into] = (await jsonOf(await ask(EVERYTHING, there)))["value"] as JsonObject[];
    assert.deepEqual(
      [into?.["ChangeType"], into?.["ItemId"], into?.["UniqueId"]],
      [6, moved["listItemId"], file["uniqueId"]],
    );
  });

  test("to another site: deleted here, added there as something new", async () => {
    const file = await run("add", { path: `${root}/a.txt`, text: "a" });
    const before = await currentToken();
    await run("move", { path: `${root}/a.txt`, to: "/sites/hr/Shared Documents/a.txt" });
    assert.deepEqual(typesOf(await changesSince(before)), ["DeleteObject"]);
    const there = `/sites/hr/_api/web/getList('${encodeURIComponent("/sites/hr/Shared Documents")}')/GetChanges`;
    const [added] = (await jsonOf(await ask(EVERYTHING, there)))["value"] as JsonObject[];
    assert.equal(added?.["ChangeType"], 1);
    assert.notEqual(added?.["UniqueId"], file["uniqueId"]);
  });
});

describe("asking", () => {
  test("in pages: on with the last token until nothing comes", async () => {
    let token = await currentToken();
    await run("fill", { path: root, count: 25 });
    const seen: unknown[] = [];
    for (;;) {
      const page = await changesSince(token, { ...EVERYTHING, FetchLimit: 10 });
      const last = page.at(-1);
      if (!last) break;
      assert.ok(page.length <= 10);
      seen.push(...page.map((change) => change["UniqueId"]));
      token = String((last["ChangeToken"] as JsonObject)["StringValue"]);
    }
    assert.equal(new Set(seen).size, 26, "25 files and their folder, each once");
    assert.equal(token, await currentToken());
  });

  test("only what the flags let through", async () => {
    const before = await currentToken();
    await run("add", { path: `${root}/F/a.txt`, text: "a" });
    await run("update", { path: `${root}/F/a.txt`, text: "b" });
    assert.deepEqual(typesOf(await changesSince(before, { Item: true, Update: true })), ["Update"]);
    assert.deepEqual((await changesSince(before, { Folder: true, Add: true })).length, 1);
    assert.deepEqual(await changesSince(before, { Item: true }), []);
    assert.deepEqual(await changesSince(before, { Add: true }), []);
  });

  test("up to an end, and from a moment", async () => {
    await run("clock", { at: "2026-05-02T08:00:00Z" });
    await run("add", { path: `${root}/a.txt`, text: "a" });
    const [, , listId, ticks] = (await currentToken()).split(";");
    const end = await currentToken();
    await run("clock", { at: "2026-05-02T09:00:00Z" });
    const later = await run("add", { path: `${root}/b.txt`, text: "b" });
    const upTo = await ask({ ...EVERYTHING, ChangeTokenEnd: { StringValue: end } });
    assert.equal(((await jsonOf(upTo))["value"] as unknown[]).length, 1);
    const sinceMoment = await changesSince(`1;3;${listId};${ticks};-1`);
    assert.deepEqual(
      sinceMoment.map((change) => change["UniqueId"]),
      [later["uniqueId"]],
    );
  });

  test("the verbose form", async () => {
    await run("add", { path: `${root}/a.txt`, text: "a" });
    const response = await send(
      "POST",
      `${list}/GetChanges${byPath}`,
      { query: { __metadata: { type: "SP.ChangeQuery" }, Item: true, Add: true } },
      { Accept: "application/json;odata=verbose", "Content-Type": "application/json;odata=verbose" },
    );
    const { results } = (await jsonOf(response))["d"] as { results: { __metadata: JsonObject }[] };
    assert.equal(results[0]?.__metadata["type"], "SP.ChangeItem");
  });
});

test("an independent client reads the changes", async () => {
  const sp = spfi(sandbox.siteUrl).using(SPDefault(), BearerToken(await accessToken(sandbox))) as unknown as {
    web: { getList(path: string): { getChanges(query: JsonObject): Promise<JsonObject[]> } };
  };
  const token = await currentToken();
  const file = await run("add", { path: `${root}/a.txt`, text: "a" });
  const query = { Item: true, Add: true, ChangeTokenStart: { StringValue: token } };
  const changes = await sp.web.getList(root).getChanges(query);
  assert.deepEqual(
    changes.map((change) => [change["ChangeType"], change["UniqueId"]]),
    [[1, file["uniqueId"]]],
  );
});

test("the control API shows the whole log", async () => {
  await run("add", { path: `${root}/a.txt`, text: "a" });
  const { body } = await control(sandbox, "GET", `changes?library=${encodeURIComponent(root)}`);
  assert.deepEqual(
    (body["changes"] as JsonObject[]).map((change) => change["type"]),
    ["Add"],
  );
});

describe("refusals", () => {
  const TOO_OLD = {
    status: 500,
    code: "-2130575172, Microsoft.SharePoint.SPException",
    message: "The changeToken refers to a time before the start of the current change log.",
  };

  test("a token from before the log was cut; the current one works again", async () => {
    const before = await currentToken();
    await run("expire-change-log", {});
    const refused = await ask({ ...EVERYTHING, ChangeTokenStart: { StringValue: before } });
    assert.deepEqual(await errorOf(refused), TOO_OLD);
    const now = await currentToken();
    assert.deepEqual(await changesSince(now), []);
    await run("add", { path: `${root}/a.txt`, text: "a" });
    assert.deepEqual(typesOf(await changesSince(now)), ["Add"]);
  });

  test("a token of another list, from the future, or no token at all", async () => {
    const own = await currentToken();
    const foreign = own.replace(/^1;3;[^;]+/, "1;3;00000000-0000-0000-0000-000000000001");
    for (const token of [foreign, own.replace(/\d+$/, "999999"), "nonsense", own.replace("1;3", "1;2")]) {
      const refused = await ask({ ...EVERYTHING, ChangeTokenStart: { StringValue: token } });
      assert.deepEqual(await errorOf(refused), TOO_OLD, token);
    }
  });

  test("a misspelt property, a body that is no query, a body that is not JSON", async () => {
    const misspelt = await errorOf(await ask({ ...EVERYTHING, Adds: true }));
    assert.match(misspelt.message, /^The property 'Adds' does not exist on type 'SP\.ChangeQuery'/);
    assert.equal((await send("POST", `${list}/GetChanges${byPath}`, {})).status, 400);
    const typed = { "Content-Type": "text/plain" };
    assert.equal((await send("POST", `${list}/GetChanges${byPath}`, { query: EVERYTHING }, typed)).status, 400);
  });

  test("GetChanges is asked by POST, of a list, with a token", async () => {
    assert.equal((await send("GET", `${list}/GetChanges${byPath}`)).status, 404);
    assert.equal((await send("POST", "/sites/demo/_api/web/GetChanges", { query: EVERYTHING })).status, 403);
    assert.equal((await send("POST", "/sites/demo/_api/web/lists", { Title: "New" })).status, 403);
    const anonymous = await fetch(`${sandbox.url}${list}/GetChanges${byPath}`, { method: "POST", body: "{}" });
    assert.equal(anonymous.status, 403);
  });
});
