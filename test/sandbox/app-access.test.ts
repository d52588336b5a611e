// Sites.Selected in the sandbox opens granted sites and no other.
import assert from "node:assert/strict";
import { beforeEach, describe, test } from "node:test";
import { makeCertificate } from "../../src/sandbox/certificates.ts";
import { startSandbox } from "../../src/sandbox/start-sandbox.ts";
import { accessToken, control, errorOf, type JsonObject, requestToken, sandboxForTests } from "./sandbox-client.ts";

const sandbox = await sandboxForTests();
const DENIED = "-2147024891, System.UnauthorizedAccessException";

beforeEach(() => sandbox.state.reset());

async function read(site: string, token?: string): Promise<Response> {
  const headers = {
    Accept: "application/json;odata=nometadata",
    Authorization: `Bearer ${token ?? (await accessToken(sandbox))}`,
  };
  return fetch(`${sandbox.url}${site}/_api/web`, { headers });
}

const run = (operation: string, fields: JsonObject = {}) => control(sandbox, "POST", operation, fields);

describe("Sites.Selected", () => {
  beforeEach(() => run("settings", { roles: ["Sites.Selected"] }));

  test("consent alone opens nothing; a grant opens its site and no other; a revocation closes it at once", async () => {
    const token = await accessToken(sandbox);
    const refused = await errorOf(await read("/sites/demo", token));
    assert.deepEqual([refused.status, refused.code], [403, DENIED]);
    const granted = await run("grant-site", { site: "/sites/demo", role: "read" });
    assert.deepEqual(granted.body["grants"], [{ site: "/sites/demo", role: "read" }]);
    assert.equal((await read("/sites/demo", token)).status, 200, "no new token is needed");
    assert.equal((await read("/Sites/DEMO", token)).status, 200);
    assert.equal((await read("/sites/hr", token)).status, 403);
    assert.equal((await read("", token)).status, 403);
    await run("revoke-site", { site: "/sites/demo" });
    assert.equal((await read("/sites/demo", token)).status, 403);
  });

  test("downloads and change log are closed, too", async () => {
    const token = await accessToken(sandbox);
    const address = `${sandbox.siteUrl}/_api/web/lists/getByTitle('Documents')/GetChanges`;
    const body = JSON.stringify({ query: { Item: true, Add: true } });
    const headers = { "Content-Type": "application/json", Authorization: `Bearer ${token}` };
    assert.equal((await fetch(address, { method: "POST", headers, body })).status, 403);
  });

  test("the root site, and sites that are not there", async () => {
    await run("grant-site", { site: "/", role: "fullcontrol" });
    assert.equal((await read("")).status, 200);
    assert.equal((await run("grant-site", { site: "/sites/nothing" })).status, 404);
    assert.equal((await run("revoke-site", { site: "/sites/hr" })).status, 404);
    assert.equal((await run("grant-site", { site: "/sites/hr", role: "reader" })).status, 400);
  });

  test("a reset takes every grant back", async () => {
    await run("grant-site", { site: "/sites/demo" });
    await run("reset");
    assert.deepEqual((await control(sandbox, "GET", "grants")).body, { roles: ["Sites.Read.All"], grants: [] });
  });
});

test("the control API hands out a token, for whoever tries things with curl", async () => {
  const token = String((await run("token")).body["accessToken"]);
  assert.equal((await read("/sites/demo", token)).status, 200);
  const graph = String((await run("token", { for: "graph" })).body["accessToken"]);
  assert.equal((await read("/sites/demo", graph)).status, 401);
});

describe("consent", () => {
  test("removed: the next token has no roles and opens nothing; the old one works until it expires", async () => {
    const before = await accessToken(sandbox);
    await run("remove-consent");
    const after = await accessToken(sandbox);
    const claims = JSON.parse(Buffer.from(after.split(".")[1] ?? "", "base64url").toString()) as JsonObject;
    assert.ok(!("roles" in claims));
    assert.equal((await errorOf(await read("/sites/demo", after))).code, DENIED);
    assert.equal((await read("/sites/demo", before)).status, 200);
  });

  test("only on Graph: no help for REST", async () => {
    await run("remove-consent", { from: "sharepoint" });
    assert.equal((await read("/sites/demo")).status, 403);
    assert.deepEqual(sandbox.state.settings.graphRoles, ["Sites.Read.All"]);
  });

  test("REST may answer a missing permission with 401 instead", async () => {
    await run("settings", { missingPermissionStatus: 401, roles: ["Sites.Selected"] });
    assert.equal((await errorOf(await read("/sites/demo"))).status, 401);
  });
});

describe("sign-in", () => {
  const failure = async (changes: Record<string, string | undefined> = {}) => {
    const { status, body } = await requestToken(sandbox, changes);
    return [status, body["error"], (body["error_codes"] as number[])[0], String(body["error_description"])] as const;
  };

  test("a certificate that has expired", async () => {
    await run("expire-certificate");
    const [status, error, code, description] = await failure();
    assert.deepEqual([status, error, code], [401, "invalid_client", 700027]);
    assert.match(description, /^AADSTS700027: The certificate .* is expired on application/);
    await run("reset");
    assert.equal((await requestToken(sandbox)).status, 200);
  });

  test("a certificate that has expired by its own dates", async (t) => {
    const certificate = await makeCertificate("old", new Date("2025-01-01T00:00:00Z"));
    const old = await startSandbox({ seed: "empty", certificate });
    t.after(() => old.stop());
    const { body } = await requestToken(old);
    assert.deepEqual(body["error_codes"], [700027]);
  });

  test("any other failure of the directory, by its code", async () => {
    const failures = { 700016: 400, 90033: 503, 90055: 429, 7000222: 401, 500011: 400, 700024: 401 };
    for (const [code, status] of Object.entries(failures)) {
      assert.equal((await run("settings", { signInError: Number(code) })).status, 200);
      const [answered, , answeredCode] = await failure();
      assert.deepEqual([answered, answeredCode], [status, Number(code)]);
    }
    assert.match(
      String((await run("settings", { signInError: 5 })).body["error"]),
      /^'signInError' must be 0 for none/,
    );
    await run("settings", { signInError: 0 });
    assert.equal((await requestToken(sandbox)).status, 200);
  });

  test("Entra gives a token for a secret, SharePoint does not take it", async () => {
    const secret = { client_assertion: undefined, client_assertion_type: undefined };
    assert.equal((await failure({ ...secret, client_secret: "wrong" }))[2], 7000215);
    const { status, body } = await requestToken(sandbox, { ...secret, client_secret: "sandbox-client-secret" });
    assert.equal(status, 200);
    const response = await read("/sites/demo", String(body["access_token"]));
    assert.equal(response.status, 401);
    assert.deepEqual(await response.json(), { error_description: "Unsupported app only token." });
  });
});
