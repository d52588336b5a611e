import assert from "node:assert/strict";
import { beforeEach, describe, test } from "node:test";
import { quickXorHash } from "../../src/sandbox/graph/quick-xor-hash.ts";
import { addFile, updateFile } from "../../src/sandbox/tenant/file-operations.ts";
import { fillFolder } from "../../src/sandbox/tenant/fill-folder.ts";
import { recycleItem, restoreItem } from "../../src/sandbox/tenant/recycle-bin.ts";
import { moveItem, renameItem } from "../../src/sandbox/tenant/relocate-item.ts";
import { accessToken, control, type JsonObject, jsonOf, sandboxForTests, senderOf } from "./sandbox-client.ts";

const sandbox = await sandboxForTests();
const { tenant } = sandbox;
const send = await senderOf(sandbox, "https://graph.microsoft.com/.default");
const get = (path: string, headers?: Record<string, string>) => send("GET", path, undefined, headers);
const host = new URL(sandbox.url).host;
const root = "/sites/demo/Shared Documents";
let drive = "";

beforeEach(async () => {
  sandbox.state.reset();
  const drives = await jsonOf(await get(`/v1.0/sites/${host}:/sites/demo:/drives`));
  const documents = (drives["value"] as JsonObject[]).find((each) => each["name"] === "Documents");
  drive = `/v1.0/drives/${documents?.["id"]}`;
});

/** Follows the next links; what came, and the link for the next time. */
async function follow(address: string): Promise<{ items: JsonObject[]; pages: number; deltaLink: string }> {
  const items: JsonObject[] = [];
  for (let pages = 1, next = address; ; pages++) {
    const page = await jsonOf(await get(next));
    items.push(...(page["value"] as JsonObject[]));
    if (page["@odata.deltaLink"] !== undefined) return { items, pages, deltaLink: String(page["@odata.deltaLink"]) };
    next = String(page["@odata.nextLink"]);
  }
}

async function latest(): Promise<string> {
  const { items, deltaLink } = await follow(`${drive}/root/delta?token=latest`);
  assert.deepEqual(items, []);
  return deltaLink;
}

const namesOf = (items: readonly JsonObject[]) => items.map((item) => item["name"] ?? "(deleted)");

describe("sites and drives", () => {
  test("a site by host and path, by id, and the root", async () => {
    const site = await jsonOf(await get(`/v1.0/sites/${host}:/sites/demo`));
    assert.equal(site["displayName"], "Demo");
    assert.equal(site["webUrl"], sandbox.siteUrl);
    assert.match(String(site["id"]), new RegExp(`^${host},[0-9a-f-]{36},[0-9a-f-]{36}$`));
    assert.deepEqual(await jsonOf(await get(`/v1.0/sites/${site["id"]}`)), site);
    const rootSite = await jsonOf(await get("/v1.0/sites/root?$select=displayName"));
    assert.deepEqual(rootSite, { displayName: "Tidewheel" });
    assert.equal((await get(`/v1.0/sites/${host}:/sites/nothing`)).status, 404);
    assert.equal((await get("/v1.0/sites/contoso.sharepoint.com:/sites/demo")).status, 404);
  });

  test("drive and item ids are the ids of REST in other letters", async () => {
    const file = addFile(tenant, `${root}/a.txt`, "abc");
    const item = await jsonOf(
      await get(`${drive}/items/${await idOf("a.txt")}?$select=id,sharepointIds,parentReference`),
    );
    assert.equal((item["sharepointIds"] as JsonObject)["listItemUniqueId"], file.uniqueId);
    const id = String(item["id"]);
    assert.match(id, /^01[A-Z2-7]{6}[A-Z2-7]{26}$/);
    const bytes = Buffer.from(file.uniqueId.replaceAll("-", ""), "hex");
    const layout = [3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15].map((at) => bytes[at] ?? 0);
    const bits = `01${layout.map((byte) => byte.toString(2).padStart(8, "0")).join("")}`;
    const letters = (bits.match(/.{5}/g) ?? []).map(
      (five) => "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"[Number.parseInt(five, 2)],
    );
    assert.equal(id.slice(8), letters.join(""));
    const driveBytes = Buffer.from(drive.slice(drive.indexOf("b!") + 2), "base64url");
    assert.equal(driveBytes.length, 48);
    assert.equal(driveBytes.subarray(40).toString("hex"), file.library.id.replaceAll("-", "").slice(16));
    assert.match(String((item["parentReference"] as JsonObject)["id"]), /^01[A-Z2-7]{6}56Y2GOVW7725BZO354PWSELRRZ$/);
  });

  test("content is a redirect to an address that needs no token and knows ranges", async () => {
    addFile(tenant, `${root}/a.txt`, "0123456789");
    const response = await get(`${drive}/items/${await idOf("a.txt")}/content`);
    assert.equal(response.status, 302);
    const location = response.headers.get("location") ?? "";
    assert.equal(await (await fetch(location)).text(), "0123456789");
    const part = await fetch(location, { headers: { Range: "bytes=2-4" } });
    assert.deepEqual([part.status, await part.text()], [206, "234"]);
    assert.equal((await fetch(location.replace(/tempauth=v1\.\d/, "tempauth=v1.9"))).status, 401);
    assert.equal((await get(`${drive}/root/content`)).status, 400);
  });

  async function idOf(name: string): Promise<string> {
    const { items } = await follow(`${drive}/root/delta`);
    return String(items.find((item) => item["name"] === name)?.["id"]);
  }
});

describe("delta", () => {
  test("without a token everything, in pages, the root first; then nothing until something changes", async () => {
    fillFolder(tenant, root, { count: 25 });
    const first = await follow(`${drive}/root/delta?$top=10`);
    assert.equal(first.pages, 3);
    assert.equal(first.items.length, 27, "25 files, their folder, the root");
    assert.deepEqual(first.items[0]?.["root"], {});
    assert.ok(first.items.every((item) => !("cTag" in item) && !("sharepointIds" in item)));
    const second = await follow(first.deltaLink);
    assert.deepEqual(second.items, []);
  });

  test("a change comes with the folders above it, unless they are not wanted", async () => {
    addFile(tenant, `${root}/A/B/c.txt`, "1");
    const link = await latest();
    updateFile(tenant, `${root}/A/B/c.txt`, "22");
    const { items } = await follow(link);
    assert.deepEqual(namesOf(items), ["root", "A", "B", "c.txt"]);
    assert.equal(items[3]?.["size"], 2);
    const file = items[3]?.["file"] as { mimeType: string; hashes: JsonObject } | undefined;
    assert.deepEqual(file, { mimeType: "text/plain", hashes: { quickXorHash: quickXorHash(Buffer.from("22")) } });
    const alone = await jsonOf(await get(link, { Prefer: "deltaExcludeParent" }));
    assert.deepEqual(namesOf(alone["value"] as JsonObject[]), ["c.txt"]);
  });

  test("an item may come several times, always as it is now", async () => {
    addFile(tenant, `${root}/a.txt`, "1");
    const link = await latest();
    renameItem(tenant, `${root}/a.txt`, "b.txt");
    updateFile(tenant, `${root}/b.txt`, "22");
    const { items } = await follow(link);
    assert.deepEqual(namesOf(items), ["root", "b.txt", "b.txt"]);
  });

  test("what changes while the pages are read is told at the end: the last one wins", async () => {
    fillFolder(tenant, root, { count: 15 });
    const page = await jsonOf(await get(`${drive}/root/delta?$top=10&$select=id,name,deleted`));
    const [, , early] = page["value"] as JsonObject[];
    recycleItem(tenant, `${root}/batch-0000/${early?.["name"]}`);
    const { items } = await follow(String(page["@odata.nextLink"]));
    assert.deepEqual(items.at(-1), { id: early?.["id"], deleted: { state: "deleted" } });
  });

  test("a renamed or moved folder comes alone; its children keep their ids and say nothing", async () => {
    addFile(tenant, `${root}/Old/a.txt`, "1");
    const link = await latest();
    renameItem(tenant, `${root}/Old`, "New");
    assert.deepEqual(namesOf((await follow(link)).items), ["root", "New"]);
    const later = await latest();
    moveItem(tenant, `${root}/New`, `${root}/Other/New`);
    assert.deepEqual(new Set(namesOf((await follow(later)).items)), new Set(["root", "Other", "New"]));
  });

  test("a deletion has an id and no name; a folder is deleted as one", async () => {
    addFile(tenant, `${root}/Old/a.txt`, "1");
    const link = await latest();
    recycleItem(tenant, `${root}/Old`);
    const { items } = await follow(link);
    assert.equal(items.length, 1);
    assert.deepEqual(items[0]?.["deleted"], { state: "deleted" });
    assert.ok(!("name" in (items[0] ?? {})));
    const blind = await follow(`${link}&$select=id,name`);
    assert.ok(!("deleted" in (blind.items[0] ?? {})), "`deleted` must be asked for");
    restoreItem(tenant, `${root}/Old`);
    assert.ok(namesOf((await follow(link)).items).includes("a.txt"), "what comes back comes with all it holds");
  });

  test("into another drive: gone from the one, with its contents in the other", async () => {
    addFile(tenant, `${root}/F/a.txt`, "1");
    const link = await latest();
    moveItem(tenant, `${root}/F`, "/sites/demo/Contracts/F");
    const away = await follow(link);
    assert.deepEqual(
      away.items.map((item) => item["deleted"]),
      [{ state: "deleted" }],
    );
    const drives = await jsonOf(await get(`/v1.0/sites/${host}:/sites/demo:/drives?$select=id,name`));
    const contracts = (drives["value"] as JsonObject[]).find((each) => each["name"] === "Contracts");
    const there = await follow(`/v1.0/drives/${contracts?.["id"]}/root/delta`);
    assert.deepEqual(namesOf(there.items), ["root", "F", "a.txt"]);
  });

  test("since a moment", async () => {
    tenant.clock.set("2026-05-02T08:00:00Z");
    addFile(tenant, `${root}/a.txt`, "1");
    tenant.clock.set("2026-05-02T09:00:00Z");
    addFile(tenant, `${root}/b.txt`, "1");
    const token = encodeURIComponent("2026-05-02T08:30:00Z");
    assert.deepEqual(namesOf((await follow(`${drive}/root/delta?token=${token}`)).items), ["root", "b.txt"]);
    assert.deepEqual(namesOf((await follow(`${drive}/root/delta(token='${token}')`)).items), ["root", "b.txt"]);
  });

  test("a token that is too old: 410, and where to start over", async () => {
    addFile(tenant, `${root}/a.txt`, "1");
    const link = `${await latest()}&$select=id,name`;
    await control(sandbox, "POST", "expire-change-log");
    const gone = await get(link);
    assert.equal(gone.status, 410);
    const body = (await gone.json()) as { error: JsonObject };
    assert.equal(body.error["code"], "resyncChangesApplyDifferences");
    const { items } = await follow(gone.headers.get("location") ?? "");
    assert.deepEqual(namesOf(items), ["root", "a.txt"]);
  });

  test("a token of another drive, and a page size that is none", async () => {
    assert.equal((await get(`${drive}/root/delta?token=bm9uc2Vuc2U`)).status, 400);
    assert.equal((await get(`${drive}/root/delta?$top=0`)).status, 400);
  });
});

describe("who may", () => {
  const codeOf = async (response: Response) => [
    response.status,
    ((await response.json()) as { error: JsonObject }).error["code"],
  ];

  test("a token for SharePoint, no token, an unknown path, a write", async () => {
    const sharePoint = `Bearer ${await accessToken(sandbox)}`;
    assert.deepEqual(await codeOf(await get(drive, { Authorization: sharePoint })), [
      401,
      "InvalidAuthenticationToken",
    ]);
    assert.deepEqual(await codeOf(await fetch(sandbox.url + drive)), [401, "InvalidAuthenticationToken"]);
    assert.deepEqual(await codeOf(await get("/v1.0/me")), [400, "BadRequest"]);
    assert.deepEqual(await codeOf(await get("/v1.0/drives/b!unknown/root/delta")), [404, "itemNotFound"]);
    assert.deepEqual(await codeOf(await send("POST", `${drive}/root`, {})), [403, "accessDenied"]);
  });

  test("a token got with a secret is good here", async () => {
    const token = await accessToken(sandbox, {
      scope: "https://graph.microsoft.com/.default",
      client_assertion_type: "",
      client_secret: "sandbox-client-secret",
    });
    assert.equal((await get(drive, { Authorization: `Bearer ${token}` })).status, 200);
  });

  test("Sites.Selected: each site needs its grant", async () => {
    await control(sandbox, "POST", "settings", { graphRoles: ["Sites.Selected"] });
    const ask = await senderOf(sandbox, "https://graph.microsoft.com/.default");
    assert.deepEqual(await codeOf(await ask("GET", drive)), [403, "accessDenied"]);
    await control(sandbox, "POST", "grant-site", { site: "/sites/demo" });
    assert.equal((await ask("GET", drive)).status, 200);
    assert.equal((await ask("GET", `/v1.0/sites/${host}:/sites/hr`)).status, 403);
  });
});

test("the hash of Graph: published examples", () => {
  const examples = { "": "AAAAAAAAAAAAAAAAAAAAAAAAAAA=", "Sg==": "SgAAAAAAAAAAAAAAAQAAAAAAAAA=" };
  const more = { "tbQ=": "taAFAAAAAAAAAAAAAgAAAAAAAAA=", "eAV52qE=": "eChAHrQRCgAAAAAABQAAAAAAAAA=" };
  for (const [content, hash] of Object.entries({ ...examples, ...more })) {
    assert.equal(quickXorHash(Buffer.from(content, "base64")), hash);
  }
});
