// The control API of the sandbox does what users of a tenant do.
import assert from "node:assert/strict";
import { request } from "node:http";
import { beforeEach, describe, test } from "node:test";
import { DEFAULT_SETTINGS } from "../../src/sandbox/sandbox-state.ts";
import { startSandbox } from "../../src/sandbox/start-sandbox.ts";
import { accessToken, apiOf, control, type JsonObject, sandboxForTests } from "./sandbox-client.ts";

const sandbox = await sandboxForTests();
const root = "/sites/demo/Shared Documents";

beforeEach(() => sandbox.state.reset("empty"));

async function post(path: string, body: unknown): Promise<JsonObject> {
  const answer = await control(sandbox, "POST", path, body);
  assert.equal(answer.status, 200, JSON.stringify(answer.body));
  return answer.body;
}

async function stateOf(library: string): Promise<JsonObject[]> {
  const answer = await control(sandbox, "GET", `state?library=${encodeURIComponent(library)}`);
  return answer.body["items"] as JsonObject[];
}

function contentAt(path: string): string {
  const item = sandbox.tenant.itemAt(path);
  assert.ok(item?.kind === "file", `no file at ${path}`);
  return Buffer.from(item.content).toString();
}

describe("operations", () => {
  test("a document's life", async () => {
    const path = `${root}/Reports/Q1.txt`;
    const added = await post("add", { path, text: "one", at: "2024-03-29T17:57:44Z", columns: { Pages: 3 } });
    assert.deepEqual([added["path"], added["modifiedAt"], added["size"]], [path, "2024-03-29T17:57:44Z", 3]);
    await post("update", { path, base64: Buffer.from("zwei").toString("base64"), at: "2024-03-30T00:00:00Z" });
    assert.equal(contentAt(path), "zwei");
    const renamed = await post("rename", { path, name: "Q2.txt", via: "graph", at: "2024-03-31T00:00:00Z" });
    assert.deepEqual([renamed["path"], renamed["modifiedAt"]], [`${root}/Reports/Q2.txt`, "2024-03-31T00:00:00Z"]);
    await post("move", { path: `${root}/Reports/Q2.txt`, to: `${root}/Q3.txt` });
    await post("copy", { path: `${root}/Q3.txt`, to: `${root}/Q4.txt` });
    await post("set-columns", { path: `${root}/Q4.txt`, columns: { Pages: 4 }, via: "system-update" });
    const deleted = await post("delete", { path: `${root}/Q3.txt` });
    assert.equal(deleted["uniqueId"], added["uniqueId"]);
    assert.equal(contentAt(`${root}/Q4.txt`), "zwei");
    assert.equal(sandbox.tenant.itemAt(`${root}/Q3.txt`), undefined);
    const bin = (await control(sandbox, "GET", "recycle-bin")).body["items"] as JsonObject[];
    assert.deepEqual(
      bin.map((item) => item["path"]),
      [`${root}/Q3.txt`],
    );
    const restored = await post("restore", { uniqueId: deleted["uniqueId"] });
    assert.equal(restored["listItemId"], added["listItemId"]);
    assert.equal(contentAt(`${root}/Q3.txt`), "zwei");
  });

  test("folders, libraries and sites", async () => {
    await post("add-site", { path: "/sites/labs", title: "Labs" });
    await post("add-library", { path: "/sites/labs/Papers", title: "Our papers" });
    await post("add-folder", { path: "/sites/labs/Papers/Drafts" });
    await post("add", { path: "/sites/labs/Papers/Drafts/a.txt", text: "a" });
    await post("rename", { path: "/sites/labs/Papers/Drafts", name: "Final" });
    assert.equal(contentAt("/sites/labs/Papers/Final/a.txt"), "a");
    const libraries = (await control(sandbox, "GET", "libraries")).body["libraries"] as JsonObject[];
    assert.deepEqual(libraries.at(-1)?.["path"], "/sites/labs/Papers");
    assert.deepEqual(libraries.at(-1)?.["itemCount"], 2);
    await post("delete", { path: "/sites/labs/Papers/Final" });
    assert.deepEqual(await stateOf("/sites/labs/Papers"), []);
  });

  test("fill, and state as the API lists it", async () => {
    await post("fill", { path: root, count: 1200, bytes: 50, perFolder: 400, series: "load" });
    const state = await stateOf(root);
    assert.equal(state.length, 1203);
    const api = await apiOf(sandbox);
    const response = await api(
      `/sites/demo/_api/web/lists/getbytitle('Documents')/items?$select=Id,UniqueId,FileRef,File/ETag,File/Length&$expand=File&$top=5000`,
    );
    const { value } = (await response.json()) as { value: JsonObject[] };
    assert.deepEqual(
      value.map((row) => [
        row["Id"],
        row["UniqueId"],
        row["FileRef"],
        (row["File"] as JsonObject | undefined)?.["ETag"],
      ]),
      state.map((item) => [
        item["listItemId"],
        item["uniqueId"],
        item["path"],
        item["kind"] === "file" ? item["etag"] : undefined,
      ]),
    );
  });
});

test("the clock", async () => {
  assert.equal((await post("clock", { at: "2024-05-02T08:00:00Z" }))["now"], "2024-05-02T08:00:00Z");
  assert.equal((await post("clock", { advanceSeconds: 90 }))["now"], "2024-05-02T08:01:30Z");
  const added = await post("add", { path: `${root}/a.txt`, text: "x" });
  assert.equal(added["modifiedAt"], "2024-05-02T08:01:30Z");
  await post("clock", { follow: "wall-clock" });
  const { body } = await control(sandbox, "GET", "clock");
  assert.ok(Math.abs(Date.parse(String(body["now"])) - Date.now()) < 60_000);
});

test("settings are changed one by one and come back with a reset", async () => {
  await post("settings", { rangeRequests: "ignored", tokenLifetimeSeconds: 60 });
  const claims = JSON.parse(Buffer.from((await accessToken(sandbox)).split(".")[1] ?? "", "base64url").toString());
  assert.equal(claims.exp - claims.iat, 60);
  await post("reset", {});
  assert.deepEqual((await control(sandbox, "GET", "settings")).body, { ...DEFAULT_SETTINGS });
});

test("revoke-tokens ends what was issued", async () => {
  const api = await apiOf(sandbox);
  assert.equal((await api("/sites/demo/_api/web")).status, 200);
  await post("revoke-tokens", {});
  assert.equal((await api("/sites/demo/_api/web")).status, 401);
});

test("reset brings the same documents with the same ids", async () => {
  await post("reset", { seed: "company" });
  const before = await stateOf(root);
  assert.ok(before.length > 25);
  await post("delete", { path: `${root}/Policies` });
  await post("add", { path: `${root}/new.txt`, text: "x" });
  assert.notDeepEqual(await stateOf(root), before);
  await post("reset", {});
  assert.deepEqual(await stateOf(root), before);
});

describe("the log", () => {
  test("keeps what was asked and answered, without tokens and without its own requests", async () => {
    const api = await apiOf(sandbox);
    await control(sandbox, "DELETE", "log");
    await (await api("/sites/demo/_api/web?$select=Title", { "User-Agent": "NONISV|Test|Log/1.0" })).text();
    await (await api("/sites/none/_api/web")).text();
    const { body } = await control(sandbox, "GET", "log");
    const entries = body["requests"] as JsonObject[];
    assert.deepEqual(
      entries.map((entry) => [entry["method"], entry["url"], entry["status"], entry["fault"]]),
      [
        ["GET", "/sites/demo/_api/web?$select=Title", 200, null],
        ["GET", "/sites/none/_api/web", 404, null],
      ],
    );
    assert.equal(entries[0]?.["bytes"], '{"Title":"Demo"}'.length);
    assert.deepEqual(entries[0]?.["headers"], {
      accept: "application/json;odata=nometadata",
      "user-agent": "NONISV|Test|Log/1.0",
      authorization: "Bearer",
    });
  });
});

test("the front page tells how to sign in and what there is", async () => {
  const response = await fetch(`${sandbox.url}/_sandbox`);
  const body = (await response.json()) as JsonObject;
  assert.equal(body["tokenEndpoint"], sandbox.tokenEndpoint);
  assert.ok((body["operations"] as string[]).includes("rename"));
  assert.doesNotMatch(JSON.stringify(body), /PRIVATE KEY/);
});

test("a Host header of somebody else's making does not get into links", async () => {
  const body = await new Promise<string>((resolve, reject) => {
    const { hostname, port } = new URL(sandbox.url);
    request({ hostname, port, path: "/_sandbox", headers: { Host: "evil.example" } }, (response) => {
      response.setEncoding("utf8");
      let text = "";
      response.on("data", (chunk: string) => {
        text += chunk;
      });
      response.on("end", () => resolve(text));
    })
      .on("error", reject)
      .end();
  });
  assert.doesNotMatch(body, /evil/);
});

test("only loopback addresses are listened on", async () => {
  await assert.rejects(
    startSandbox({ host: "0.0.0.0", seed: "empty" }),
    /only 127\.0\.0\.1, localhost, ::1 are allowed/,
  );
});

test("a taken port is an error that says so", async () => {
  await assert.rejects(startSandbox({ port: Number(new URL(sandbox.url).port), seed: "empty" }), /EADDRINUSE/);
});

test("localhost is the same sandbox as 127.0.0.1", async () => {
  const url = sandbox.url.replace("127.0.0.1", "localhost");
  const token = await accessToken(sandbox, { scope: `${url}/.default` });
  const response = await fetch(`${sandbox.siteUrl}/_api/web`, {
    headers: { Authorization: `Bearer ${token}`, Accept: "application/json" },
  });
  assert.equal(response.status, 200);
});
