// Check-out, drafts and versions behave as in SharePoint.
import assert from "node:assert/strict";
import { beforeEach, describe, test } from "node:test";
import { apiOf, control, type JsonObject, jsonOf, rowsOf, sandboxForTests } from "./sandbox-client.ts";
import { assertConsistent } from "./tenant-consistency.ts";

const sandbox = await sandboxForTests();
const api = await apiOf(sandbox);
const path = "/sites/demo/Shared Documents/a.txt";
const T0 = "2026-03-01T09:00:00Z";
let uniqueId = "";

async function does(operation: string, fields: JsonObject): Promise<JsonObject> {
  const { status, body } = await control(sandbox, "POST", operation, fields);
  assert.equal(status, 200, JSON.stringify(body));
  assertConsistent(sandbox.tenant);
  return body;
}

/** What the table of operations speaks about: identity, time, ETag, version. */
function traits(item: JsonObject): unknown[] {
  const step = /,(\d+)"$/.exec(String(item["etag"]))?.[1];
  return [item["uniqueId"] === uniqueId, item["listItemId"], item["modifiedAt"], Number(step), item["version"]];
}

async function fileNow(select: string): Promise<JsonObject> {
  return jsonOf(await api(`/sites/demo/_api/web/GetFileById('${uniqueId}')?$select=${select}`));
}

async function content(): Promise<string> {
  return (await api(`/sites/demo/_api/web/GetFileById('${uniqueId}')/$value`)).text();
}

beforeEach(async () => {
  await control(sandbox, "POST", "reset", { seed: "empty" });
  await does("clock", { at: T0 });
  uniqueId = String((await does("add", { path, text: "first" }))["uniqueId"]);
  await does("clock", { at: "2026-03-02T10:00:00Z" });
});

describe("check-out", () => {
  test("changes nothing others see, but who has it", async () => {
    assert.deepEqual(traits(await does("check-out", { path, by: "Deniz Aydin" })), [true, 1, T0, 1, "1.0"]);
    await does("update", { path, text: "in the works" });
    await does("set-columns", { path, columns: { Department: "HR" } });
    assert.equal(await content(), "first");
    assert.deepEqual(await fileNow("CheckOutType,Level,UIVersionLabel,TimeLastModified"), {
      CheckOutType: 0,
      Level: 1,
      UIVersionLabel: "1.0",
      TimeLastModified: T0,
    });
    const row = await jsonOf(
      await api(
        "/sites/demo/_api/web/lists/getbytitle('Documents')/items(1)?$select=Department,CheckoutUserId,CheckoutUser/Title&$expand=CheckoutUser",
      ),
    );
    assert.deepEqual(row, { Department: null, CheckoutUserId: 12, CheckoutUser: { Title: "Deniz Aydin" } });
  });

  test("checking in brings content and columns, a new time and a new version", async () => {
    await does("check-out", { path });
    await does("update", { path, text: "second" });
    await does("set-columns", { path, columns: { Department: "HR" } });
    const after = await does("check-in", { path, comment: "done" });
    assert.deepEqual(traits(after), [true, 1, "2026-03-02T10:00:00Z", 2, "2.0"]);
    assert.equal(await content(), "second");
    assert.deepEqual(await fileNow("CheckOutType,CheckInComment"), { CheckOutType: 2, CheckInComment: "done" });
  });

  test("checking in without an edit changes the time nevertheless", async () => {
    await does("clock", { at: T0 });
    await does("check-out", { path });
    assert.deepEqual(traits(await does("check-in", { path })), [true, 1, "2026-03-01T09:00:01Z", 2, "2.0"]);
    assert.equal(await content(), "first");
  });

  test("undone, only the ETag has moved", async () => {
    await does("check-out", { path });
    await does("update", { path, text: "never seen" });
    assert.deepEqual(traits(await does("undo-check-out", { path })), [true, 1, T0, 2, "1.0"]);
    assert.equal(await content(), "first");
  });

  test("refused when it makes no sense", async () => {
    const wrong = async (operation: string): Promise<unknown> =>
      (await control(sandbox, "POST", operation, { path })).body["error"];
    assert.match(String(await wrong("check-in")), /it is not checked out/);
    assert.match(String(await wrong("undo-check-out")), /it is not checked out/);
    assert.match(String(await wrong("publish")), /version 1\.0 is no draft/);
    await does("check-out", { path });
    assert.match(String(await wrong("check-out")), /checked out already/);
  });
});

describe("versions", () => {
  test("an old one restored is a new one on top, with a newer time", async () => {
    await does("update", { path, text: "second, longer" });
    const after = await does("restore-version", { path, version: "1.0" });
    assert.deepEqual(traits(after), [true, 1, "2026-03-02T10:00:01Z", 3, "3.0"]);
    assert.equal(after["size"], 5);
    assert.equal(await content(), "first");
    const { status, body } = await control(sandbox, "POST", "restore-version", { path, version: "7.0" });
    assert.equal(status, 400);
    assert.match(String(body["error"]), /the earlier versions are 1\.0, 2\.0/);
  });

  test("the earlier ones are listed and readable", async () => {
    await does("update", { path, text: "second" });
    const file = `/sites/demo/_api/web/GetFileById('${uniqueId}')`;
    const versions = await rowsOf(
      await api(`${file}/Versions?$select=ID,VersionLabel,IsCurrentVersion,Created,Size,Url`),
    );
    assert.deepEqual(versions, [
      {
        ID: 512,
        VersionLabel: "1.0",
        IsCurrentVersion: false,
        Created: T0,
        Size: 5,
        Url: "_vti_history/512/Shared Documents/a.txt",
      },
    ]);
    assert.equal(await (await api(`${file}/Versions(512)/$value`)).text(), "first");
  });

  test("a refused edit makes no version", async () => {
    await does("set-columns", { path, columns: { Pages: 1 } });
    assert.equal((await control(sandbox, "POST", "set-columns", { path, columns: { Pages: "x" } })).status, 400);
    assert.equal((await fileNow("UIVersionLabel"))["UIVersionLabel"], "2.0");
  });
});

test("a library with drafts: 0.1, publish, edit, check in as minor or major", async () => {
  await does("add-library", { path: "/sites/demo/Rules", minorVersions: true });
  const rule = "/sites/demo/Rules/r.txt";
  const added = await does("add", { path: rule, text: "one", at: T0 });
  uniqueId = String(added["uniqueId"]);
  assert.deepEqual(traits(added), [true, 1, T0, 1, "0.1"]);
  assert.equal((await fileNow("Level"))["Level"], 2);
  assert.deepEqual(traits(await does("publish", { path: rule })), [true, 1, T0, 1, "1.0"]);
  assert.equal((await does("update", { path: rule, text: "two" }))["version"], "1.1");
  await does("settings", { drafts: "hidden" });
  assert.equal(await content(), "one");
  await does("check-out", { path: rule });
  assert.equal((await does("check-in", { path: rule, as: "minor" }))["version"], "1.2");
  await does("check-out", { path: rule });
  assert.equal((await does("check-in", { path: rule, as: "major" }))["version"], "2.0");
  assert.equal(await content(), "two");
});
