// The sandbox checks tokens as SharePoint does.
import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import { AccessTokens } from "../../src/sandbox/sharepoint/entra.ts";
import { accessToken, errorOf, sandboxForTests } from "./sandbox-client.ts";

const sandbox = await sandboxForTests();
const web = `${sandbox.siteUrl}/_api/web`;
const request = {
  audience: sandbox.url,
  clientId: sandbox.clientId,
  tenantId: sandbox.tenantId,
  roles: ["Sites.Read.All"],
  lifetimeSeconds: 600,
  appIdAcr: "2",
} as const;

beforeEach(() => sandbox.state.reset());

function read(authorization: string | undefined): Promise<Response> {
  return fetch(web, {
    headers: {
      Accept: "application/json;odata=nometadata",
      ...(authorization === undefined ? {} : { Authorization: authorization }),
    },
  });
}

async function assertUnauthorized(response: Response, body: Record<string, string>): Promise<void> {
  assert.equal(response.status, 401);
  assert.deepEqual(await response.json(), body);
  const challenge = response.headers.get("WWW-Authenticate") ?? "";
  assert.match(
    challenge,
    /^Bearer realm="7c1e5f0a-[^"]+",client_id="00000003-0000-0ff1-ce00-000000000000",trusted_issuers="[^"]+",authorization_uri="[^"]+"$/,
  );
  assert.match(response.headers.get("x-ms-diagnostics") ?? "", /^3000006;reason="[^"]+";category="invalid_client"$/);
}

test("a good token is let in", async () => {
  assert.equal((await read(`Bearer ${await accessToken(sandbox)}`)).status, 200);
});

test("no Authorization header: 403 from SharePoint itself", async () => {
  assert.deepEqual(await errorOf(await read(undefined)), {
    status: 403,
    code: "-2147024891, System.UnauthorizedAccessException",
    message: "Access denied. You do not have permission to perform this action or access this resource.",
  });
});

test("an empty bearer is challenged", async () => {
  await assertUnauthorized(await read("Bearer"), { error_description: "Invalid JWT token." });
});

test("something that is no token", async () => {
  await assertUnauthorized(await read("Bearer abc"), {
    error: "invalid_request",
    error_description: "Token type is not allowed.",
  });
});

test("a token signed by somebody else", async () => {
  const foreign = await AccessTokens.create();
  const response = await read(`Bearer ${foreign.issue(request)}`);
  assert.match(response.headers.get("x-ms-diagnostics") ?? "", /Token contains invalid signature/);
  await assertUnauthorized(response, { error_description: "Invalid issuer or signature." });
});

test("a token whose claims were changed", async () => {
  const [header, claims, signature] = sandbox.state.signIn.tokens.issue(request).split(".");
  const changed = {
    ...JSON.parse(Buffer.from(claims ?? "", "base64url").toString()),
    roles: ["Sites.FullControl.All"],
  };
  const forged = `${header}.${Buffer.from(JSON.stringify(changed)).toString("base64url")}.${signature}`;
  await assertUnauthorized(await read(`Bearer ${forged}`), { error_description: "Invalid issuer or signature." });
});

test("an expired token", async () => {
  const token = sandbox.state.signIn.tokens.issue({ ...request, lifetimeSeconds: -1 });
  await assertUnauthorized(await read(`Bearer ${token}`), {
    error_description: "Invalid JWT token. The token is expired.",
  });
});

test("a token revoked in the middle of a crawl; the next one works", async () => {
  const token = await accessToken(sandbox);
  assert.equal((await read(`Bearer ${token}`)).status, 200);
  sandbox.state.revokeTokens();
  await assertUnauthorized(await read(`Bearer ${token}`), {
    error_description: "Invalid JWT token. The token is expired.",
  });
  assert.equal((await read(`Bearer ${await accessToken(sandbox)}`)).status, 200);
});

test("a token for Graph", async () => {
  const token = await accessToken(sandbox, { scope: "https://graph.microsoft.com/.default" });
  await assertUnauthorized(await read(`Bearer ${token}`), { error_description: "Invalid issuer or signature." });
});

test("a token got with a secret", async () => {
  const token = sandbox.state.signIn.tokens.issue({ ...request, appIdAcr: "1" });
  await assertUnauthorized(await read(`Bearer ${token}`), { error_description: "Unsupported app only token." });
});

test("an app without a right on sites", async () => {
  sandbox.state.settings.roles = ["User.Read.All"];
  const response = await read(`Bearer ${await accessToken(sandbox)}`);
  assert.equal((await errorOf(response)).code, "-2147024891, System.UnauthorizedAccessException");
  assert.equal(response.status, 403);
});

test("an app that may only read cannot write", async () => {
  const response = await fetch(web, {
    method: "POST",
    headers: { Authorization: `Bearer ${await accessToken(sandbox)}`, Accept: "application/json;odata=nometadata" },
  });
  assert.equal(response.status, 403);
});
