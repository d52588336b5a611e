import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, test } from "node:test";
import { findManagedIdentity } from "../../src/lib/managed-identity.ts";

const asked: { readonly url: string; readonly header: IncomingMessage["headers"][string] }[] = [];
let status = 200;
/** As App Service and Container Apps offer it. */
const service = createServer((request, response) => {
  asked.push({ url: request.url ?? "", header: request.headers["x-identity-header"] });
  const expires = Math.floor(Date.now() / 1000) + 3600;
  const token = {
    access_token: "a token of this machine",
    expires_on: String(expires),
    resource: "https://storage.azure.com",
    token_type: "Bearer",
  };
  response
    .writeHead(status, { "content-type": "application/json" })
    .end(JSON.stringify(status === 200 ? token : { statusCode: status, message: "no" }));
});

const NAMES = ["IDENTITY_ENDPOINT", "IDENTITY_HEADER"] as const;
const earlier = NAMES.map((name) => process.env[name]);
before(async () => {
  service.listen(0, "127.0.0.1");
  await once(service, "listening");
  process.env.IDENTITY_ENDPOINT = `http://127.0.0.1:${(service.address() as AddressInfo).port}/msi/token`;
  process.env.IDENTITY_HEADER = "the header";
});
after(() => {
  service.closeAllConnections();
  service.close();
  for (const [i, name] of NAMES.entries()) {
    if (earlier[i] === undefined) delete process.env[name];
    else process.env[name] = earlier[i];
  }
});

test("the identity that Azure gave this machine is asked for a token for storage", async () => {
  const identity = await findManagedIdentity("11111111-2222-3333-4444-555555555555");
  const token = await identity?.getToken();
  assert.equal(token?.token, "a token of this machine");
  assert.ok((token?.expiresOnTimestamp ?? 0) > Date.now());
  const query = new URL(asked[0]?.url ?? "", "http://host").searchParams;
  assert.deepEqual(
    [query.get("resource"), query.get("client_id"), asked[0]?.header],
    ["https://storage.azure.com", "11111111-2222-3333-4444-555555555555", "the header"],
  );
});

test("an identity that gets no token is none", async () => {
  status = 400;
  assert.equal(await findManagedIdentity("99999999-2222-3333-4444-555555555555"), undefined);
});
