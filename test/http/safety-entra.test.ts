// Tokens of Entra ID are accepted with their roles, and forged ones are not.
import assert from "node:assert/strict";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, describe, it } from "node:test";
import { exportJWK, generateKeyPair, SignJWT } from "jose";
import OpenAI from "openai";
import { ask } from "./ask.ts";
import { type Served, serveScripted } from "./scripted-app.ts";

const TENANT = "11111111-2222-4333-8444-555555555555";
const CLIENT = "aaaaaaaa-bbbb-4ccc-8ddd-eeeeeeeeeeee";

const { publicKey, privateKey } = await generateKeyPair("RS256");

describe("coming in with a token of Entra ID", () => {
  let entra: Server;
  let authority: string;
  let served: Served;
  let reachable = true;
  before(async () => {
    const keys = [{ ...(await exportJWK(publicKey)), kid: "k", alg: "RS256", use: "sig" }];
    entra = createServer((_, response) => {
      response.writeHead(reachable ? 200 : 503, { "content-type": "application/json" });
      response.end(JSON.stringify({ keys }));
    });
    await new Promise<void>((resolve) => entra.listen(0, "127.0.0.1", resolve));
    authority = `http://127.0.0.1:${(entra.address() as AddressInfo).port}`;
    served = await open();
  });
  after(async () => {
    await served.close();
    entra.close();
  });

  const open = (): Promise<Served> =>
    serveScripted({
      settings: { ENTRA_TENANT_ID: TENANT, ENTRA_AUDIENCE: `api://${CLIENT}`, ENTRA_AUTHORITY: authority },
    });

  const token = (roles: readonly string[]): Promise<string> =>
    new SignJWT({ tid: TENANT, oid: "o", azp: "app", preferred_username: "ada@example.com", roles })
      .setProtectedHeader({ alg: "RS256", kid: "k" })
      .setIssuer(`${authority}/${TENANT}/v2.0`)
      .setAudience(CLIENT)
      .setIssuedAt()
      .setExpirationTime("1h")
      .sign(privateKey);

  const by = async (...roles: string[]): Promise<{ headers: Record<string, string> }> => ({
    headers: { authorization: `Bearer ${await token(roles)}` },
  });

  it("has the rights of its role, and is in the audit log by name", async () => {
    const reader = await by("lockstep.read");
    assert.equal((await ask(served.url, "GET /v2/domains?format=json", reader)).status, 200);
    const refused = await ask(served.url, "POST /v2/domains/create", { ...reader, json: {} });
    assert.equal(refused.status, 403);
    const created = { json: { domain_id: "NEW", name: "New" } };
    const admin = await by("Lockstep.Admin");
    assert.equal((await ask(served.url, "POST /v2/domains/create", { ...admin, ...created })).status, 200);
    const [entry] = (await served.app.audit.list({ limit: 1, offset: 0, filter: "" })).entries;
    assert.deepEqual(entry?.who, { kind: "entra", id: "o", name: "ada@example.com", role: "admin" });
    const client = new OpenAI({
      baseURL: `${served.url}/openai/v1`,
      apiKey: await token(["lockstep.read"]),
      maxRetries: 0,
    });
    assert.ok(await client.get("/files"));
  });

  it("without a role is told which there are; without anything, or changed, is not let in", async () => {
    const { status, json } = await ask(served.url, "GET /v2/domains?format=json", await by("other"));
    assert.equal(status, 403);
    assert.match(String(json["error"]), /^'ada@example.com' has no role here\. Assign lockstep\.read/);
    assert.equal((await ask(served.url, "GET /v2/domains?format=json")).status, 401);
    const changed = { headers: { authorization: `Bearer ${(await token(["lockstep.admin"])).slice(0, -4)}AAAA` } };
    assert.equal((await ask(served.url, "GET /v2/domains?format=json", changed)).status, 401);
  });

  it("is heard in a flood of forged ones", async () => {
    const genuine = await by("lockstep.read");
    const forged = { headers: { authorization: `${genuine.headers["authorization"]?.slice(0, -4)}AAAA` } };
    const list = "GET /v2/domains?format=json";
    const flood = Array.from({ length: 200 }, () => ask(served.url, list, forged));
    const heard = await Promise.all(Array.from({ length: 10 }, () => ask(served.url, list, genuine)));
    assert.deepEqual(new Set(heard.map(({ status }) => status)), new Set([200]));
    const refused = (await Promise.all(flood)).filter(({ status }) => status === 429).length;
    assert.ok(refused >= 100, String(refused));
  });

  it("is refused while the tenant's keys cannot be had, and keys of ours go on working", async () => {
    const another = await open();
    reachable = false;
    try {
      const { key } = await another.app.access.keys.create({ name: "ours", role: "read", expiresAt: "" });
      const { status, json } = await ask(another.url, "GET /v2/domains?format=json", await by("lockstep.read"));
      assert.equal(status, 502);
      assert.match(String(json["error"]), /keys of Entra ID could not be fetched/);
      const ours = { headers: { authorization: `Bearer ${key}` } };
      assert.equal((await ask(another.url, "GET /v2/domains?format=json", ours)).status, 200);
    } finally {
      reachable = true;
      await another.close();
    }
  });
});
