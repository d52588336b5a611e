// The sandbox issues tokens for correct assertions, and the error codes of Entra ID for wrong ones.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { ConfidentialClientApplication } from "@azure/msal-node";
import { makeCertificate, readCertificate } from "../../src/sandbox/certificates.ts";
import { type AssertionChanges, makeAssertion, requestToken, sandboxForTests } from "./sandbox-client.ts";

const sandbox = await sandboxForTests();
const other = await makeCertificate("somebody else");
const now = Math.floor(Date.now() / 1000);

function claimsOf(token: unknown): Record<string, unknown> {
  return JSON.parse(Buffer.from(String(token).split(".")[1] ?? "", "base64url").toString());
}

describe("a correct assertion", () => {
  for (const alg of ["PS256", "RS256"] as const) {
    test(`signed with ${alg} gets a token for SharePoint`, async () => {
      const { status, body } = await requestToken(sandbox, { client_assertion: makeAssertion(sandbox, { alg }) });
      assert.equal(status, 200);
      assert.equal(body["token_type"], "Bearer");
      assert.equal(body["expires_in"], 3599);
      const claims = claimsOf(body["access_token"]);
      assert.equal(claims["aud"], sandbox.url);
      assert.equal(claims["appid"], sandbox.clientId);
      assert.equal(claims["appidacr"], "2");
      assert.equal(claims["tid"], sandbox.tenantId);
      assert.deepEqual(claims["roles"], ["Sites.Read.All"]);
      assert.equal(Number(claims["exp"]) - Number(claims["iat"]), 3599);
    });
  }

  test("may be used twice, as clients do", async () => {
    const assertion = makeAssertion(sandbox);
    const first = await requestToken(sandbox, { client_assertion: assertion });
    const second = await requestToken(sandbox, { client_assertion: assertion });
    assert.deepEqual([first.status, second.status], [200, 200]);
  });
});

describe("a wrong assertion", () => {
  const cases: [string, AssertionChanges, number][] = [
    ["a certificate that is not registered", { header: thumbprintOf(other.thumbprintSha256) }, 700027],
    ["the right thumbprint but another key", { signWithPem: other.pem }, 700027],
    ["RS256 without x5t", { alg: "RS256", header: { x5t: undefined } }, 700027],
    ["no algorithm", { header: { alg: "none" } }, 50027],
    ["an expired one", { claims: { nbf: now - 3600, exp: now - 1800 } }, 700024],
    ["one from the future", { claims: { nbf: now + 1800, exp: now + 3600 } }, 700024],
    ["one without expiry", { claims: { exp: undefined } }, 700024],
    ["one for another endpoint", { claims: { aud: "https://example.com/token" } }, 700023],
    ["one by another app", { claims: { iss: "a79ab6e4-0f4d-4c3e-9a3b-0c4a6b0a6b6c" } }, 700021],
    ["one about another app", { claims: { sub: "a79ab6e4-0f4d-4c3e-9a3b-0c4a6b0a6b6c" } }, 700021],
    ["one without jti", { claims: { jti: undefined } }, 50027],
  ];
  for (const [title, changes, code] of cases) {
    test(`${title}: AADSTS${code}`, async () => {
      const { status, body } = await requestToken(sandbox, { client_assertion: makeAssertion(sandbox, changes) });
      assert.equal(status, 401);
      assert.equal(body["error"], "invalid_client");
      assert.deepEqual(body["error_codes"], [code]);
      assert.match(String(body["error_description"]), new RegExp(`^AADSTS${code}: `));
      assert.equal(body["access_token"], undefined);
    });
  }
});

describe("a wrong request", () => {
  const cases: [string, Record<string, string | undefined>, number, string, number][] = [
    ["an unknown app", { client_id: "a79ab6e4-0f4d-4c3e-9a3b-0c4a6b0a6b6c" }, 400, "unauthorized_client", 700016],
    ["a scope without /.default", { scope: `${sandbox.url}/Sites.Read.All` }, 400, "invalid_scope", 1002012],
    ["an unknown resource", { scope: "https://contoso.sharepoint.com/.default" }, 400, "invalid_resource", 500011],
    [
      "a secret instead of a certificate",
      { client_assertion: undefined, client_assertion_type: undefined, client_secret: "guess" },
      401,
      "invalid_client",
      7000215,
    ],
    ["neither", { client_assertion: undefined, client_assertion_type: undefined }, 401, "invalid_client", 7000218],
    ["another grant", { grant_type: "password" }, 400, "unsupported_grant_type", 70003],
  ];
  for (const [title, changes, status, error, code] of cases) {
    test(`${title}: AADSTS${code}`, async () => {
      const answer = await requestToken(sandbox, changes);
      assert.equal(answer.status, status);
      assert.equal(answer.body["error"], error);
      assert.deepEqual(answer.body["error_codes"], [code]);
    });
  }

  test("an unknown tenant: AADSTS90002", async () => {
    const response = await fetch(`${sandbox.url}/00000000-1111-2222-3333-444444444444/oauth2/v2.0/token`, {
      method: "POST",
    });
    assert.equal(response.status, 400);
    const body = (await response.json()) as Record<string, unknown>;
    assert.deepEqual(body["error_codes"], [90002]);
    assert.match(String(body["timestamp"]), /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ$/);
  });
});

test("the error never repeats the assertion or the secret", async () => {
  const { body } = await requestToken(sandbox, { client_assertion: undefined, client_secret: "s3cr3t-value" });
  assert.doesNotMatch(JSON.stringify(body), /s3cr3t-value/);
});

test("the discovery document names this sandbox", async () => {
  for (const path of ["v2.0/.well-known/openid-configuration", ".well-known/openid-configuration"]) {
    const response = await fetch(`${sandbox.url}/${sandbox.tenantId}/${path}`);
    const body = (await response.json()) as Record<string, unknown>;
    assert.equal(body["token_endpoint"], sandbox.tokenEndpoint);
    assert.equal(new URL(String(body["issuer"])).origin, sandbox.url);
    const keys = (await (await fetch(String(body["jwks_uri"]))).json()) as { keys: { kty: string }[] };
    assert.equal(keys.keys[0]?.kty, "RSA");
  }
});

test("msal-node signs in over plain http with the documented configuration", async () => {
  const authority = `https://login.microsoftonline.com/${sandbox.tenantId}`;
  const app = new ConfidentialClientApplication({
    auth: {
      clientId: sandbox.clientId,
      authority,
      authorityMetadata: JSON.stringify({
        token_endpoint: sandbox.tokenEndpoint,
        authorization_endpoint: authority,
        issuer: `${authority}/v2.0`,
        jwks_uri: authority,
        end_session_endpoint: authority,
      }),
      clientCertificate: {
        thumbprintSha256: sandbox.certificateThumbprintSha256,
        privateKey: sandbox.certificatePem.slice(sandbox.certificatePem.indexOf("-----BEGIN PRIVATE KEY")),
      },
    },
  });
  const result = await app.acquireTokenByClientCredential({ scopes: [`${sandbox.url}/.default`] });
  assert.equal(claimsOf(result?.accessToken)["aud"], sandbox.url);
});

test("a sandbox takes the certificate it is given", async () => {
  const given = await sandboxForTests({ seed: "empty", certificate: readCertificate(other.pem) });
  assert.equal(given.certificateThumbprint, other.thumbprint);
  assert.equal((await requestToken(given)).status, 200);
});

function thumbprintOf(hex: string): Record<string, string> {
  return { "x5t#S256": Buffer.from(hex, "hex").toString("base64url") };
}
