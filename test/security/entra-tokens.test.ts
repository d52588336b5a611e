// Tokens of Entra ID are verified, and their roles are read.
import assert from "node:assert/strict";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, describe, it } from "node:test";
import { type CryptoKey, exportJWK, exportSPKI, generateKeyPair, type JWTPayload, SignJWT } from "jose";
import { createEntraTokens, type EntraTokens } from "../../src/security/entra-tokens.ts";

const TENANT = "11111111-2222-4333-8444-555555555555";
const CLIENT = "aaaaaaaa-bbbb-4ccc-8ddd-eeeeeeeeeeee";
const now = (): number => Math.floor(Date.now() / 1000);

/** Claims that are other than they should be; undefined: left out. */
type Changes = Readonly<Record<string, unknown>>;

interface Signing {
  readonly alg: string;
  readonly kid: string;
  readonly privateKey: CryptoKey;
  readonly publicKey: CryptoKey;
}

async function makeKey(alg: string, kid: string): Promise<Signing> {
  return { alg, kid, ...(await generateKeyPair(alg, { extractable: true })) };
}

describe("tokens of Entra ID", () => {
  let server: Server;
  let authority: string;
  let tokens: EntraTokens;
  let key: Signing;
  let published: object[];
  let answer: { status: number; body?: string } = { status: 200 };
  let fetches = 0;

  before(async () => {
    key = await makeKey("RS256", "key-1");
    published = [await publicJwk(key)];
    server = createServer((request, response) => {
      fetches++;
      const found = request.url === `/${TENANT}/discovery/v2.0/keys`;
      response.writeHead(found ? answer.status : 404, { "content-type": "application/json" });
      response.end(answer.body ?? JSON.stringify({ keys: published }));
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    authority = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    tokens = createEntraTokens({ tenantId: TENANT, audience: `api://${CLIENT}`, authority });
  });
  after(async () => {
    await tokens.close();
    server.close();
  });

  async function publicJwk({ publicKey, kid, alg }: Signing): Promise<object> {
    return { ...(await exportJWK(publicKey)), kid, alg, use: "sig" };
  }

  const claims = (): JWTPayload => ({
    iss: `${authority}/${TENANT}/v2.0`,
    aud: CLIENT,
    tid: TENANT,
    oid: "person-1",
    azp: "some-app",
    preferred_username: "ada@example.com",
    roles: ["lockstep.operate"],
    iat: now(),
    nbf: now(),
    exp: now() + 3600,
  });

  function sign(changes: Changes = {}, by: Signing = key): Promise<string> {
    const payload = Object.entries({ ...claims(), ...changes }).filter(([, value]) => value !== undefined);
    return new SignJWT(Object.fromEntries(payload))
      .setProtectedHeader({ alg: by.alg, kid: by.kid, typ: "JWT" })
      .sign(by.privateKey);
  }

  it("tell who comes, as what", async () => {
    assert.deepEqual(await tokens.verify(await sign()), {
      status: "known",
      principal: { kind: "entra", id: "person-1", name: "ada@example.com", role: "operate" },
    });
  });

  const ACCEPTED: readonly [string, () => Changes][] = [
    [
      "version 1",
      () => ({ iss: `https://sts.windows.net/${TENANT}/`, aud: `api://${CLIENT}`, azp: undefined, appid: "app" }),
    ],
    ["of an app", () => ({ preferred_username: undefined, app_displayname: "Reporting" })],
    ["expired within a minute", () => ({ exp: now() - 30 })],
    ["from a clock that is a little ahead", () => ({ nbf: now() + 30 })],
    ["several roles", () => ({ roles: ["other", "Lockstep.Read", "LOCKSTEP.OPERATE"] })],
  ];
  for (const [name, changes] of ACCEPTED) {
    it(`are accepted: ${name}`, async () => {
      const identity = await tokens.verify(await sign(changes()));
      assert.equal(identity.status === "known" && identity.principal.role, "operate");
    });
  }

  it("the highest role counts, and none is told as such", async () => {
    const admin = await tokens.verify(await sign({ roles: ["lockstep.read", "lockstep.admin", "lockstep.operate"] }));
    assert.equal(admin.status === "known" && admin.principal.role, "admin");
    for (const roles of [undefined, [], ["admin"], ["lockstep.administrator"], "lockstep.admin"]) {
      const identity = await tokens.verify(await sign({ roles }));
      assert.deepEqual(identity, { status: "without-role", name: "ada@example.com" }, String(roles));
    }
  });

  const FORGED: readonly [string, () => Changes][] = [
    ["another tenant's issuer", () => ({ iss: `${authority}/99999999-2222-4333-8444-555555555555/v2.0` })],
    ["another tenant's id", () => ({ tid: "99999999-2222-4333-8444-555555555555" })],
    ["no tenant's id", () => ({ tid: undefined })],
    ["another issuer", () => ({ iss: "https://evil.example/" })],
    ["no issuer", () => ({ iss: undefined })],
    ["another audience", () => ({ aud: "00000003-0000-0000-c000-000000000000" })],
    ["several audiences, none of them this one", () => ({ aud: ["a", "b"] })],
    ["no audience", () => ({ aud: undefined })],
    ["expired", () => ({ exp: now() - 3600 })],
    ["without an end", () => ({ exp: undefined })],
    ["not valid yet", () => ({ nbf: now() + 3600 })],
    ["an ID token: not handed to any app", () => ({ azp: undefined })],
  ];
  for (const [name, changes] of FORGED) {
    it(`are refused: ${name}`, async () => {
      assert.deepEqual(await tokens.verify(await sign(changes())), { status: "unproved" });
    });
  }

  it("are refused: signed by a key that is not the tenant's, under its name", async () => {
    assert.deepEqual(await tokens.verify(await sign({}, await makeKey("RS256", "key-1"))), { status: "unproved" });
  });

  it("are refused: changed after signing, without signature, or no tokens at all", async () => {
    const [head = "", , signature = ""] = (await sign()).split(".");
    const encode = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url");
    const made = encode({ ...claims(), roles: ["lockstep.admin"] });
    const none = encode({ alg: "none", typ: "JWT" });
    const wrong = [
      `${head}.${made}.${signature}`,
      `${none}.${made}.`,
      `${none}.${made}.x`,
      `${head}.${made}.`,
      "a.b.c",
      "",
      ".",
    ];
    for (const token of wrong) assert.deepEqual(await tokens.verify(token), { status: "unproved" }, token.slice(0, 40));
  });

  it("are refused: signed with the public key as a shared secret", async () => {
    const secret = new TextEncoder().encode(await exportSPKI(key.publicKey));
    for (const alg of ["HS256", "HS512"]) {
      const token = await new SignJWT(claims()).setProtectedHeader({ alg, kid: key.kid }).sign(secret);
      assert.deepEqual(await tokens.verify(token), { status: "unproved" }, alg);
    }
  });

  it("are refused: a signature of a kind that is not agreed upon", async () => {
    const rs512 = await makeKey("RS512", "key-512");
    published.push(await publicJwk(rs512));
    const fresh = createEntraTokens({ tenantId: TENANT, audience: CLIENT, authority });
    assert.deepEqual(await fresh.verify(await sign({}, rs512)), { status: "unproved" });
    assert.equal((await fresh.verify(await sign())).status, "known");
    await fresh.close();
  });

  it("follow the tenant to a new key, and unknown ones do not make us ask again and again", async () => {
    const fresh = createEntraTokens({ tenantId: TENANT, audience: CLIENT, authority });
    assert.equal((await fresh.verify(await sign())).status, "known");
    const before = fetches;
    const next = await makeKey("ES256", "key-2");
    for (let i = 0; i < 5; i++) assert.equal((await fresh.verify(await sign({}, next))).status, "unproved");
    assert.equal(fetches, before, "within half a minute of the last answer nobody is asked");
    published.push(await publicJwk(next));
    const later = createEntraTokens({ tenantId: TENANT, audience: CLIENT, authority });
    assert.equal((await later.verify(await sign({}, next))).status, "known");
    await Promise.all([fresh.close(), later.close()]);
  });

  it("cannot be checked while the keys cannot be had, which is said and lets nobody in", async () => {
    const troubles = [
      { status: 500 },
      { status: 302 },
      { status: 200, body: "<html>" },
      { status: 200, body: '{"keys":1}' },
      { status: 200, body: `${JSON.stringify({ keys: published })}${" ".repeat(2 * 1024 * 1024)}` },
    ];
    for (const trouble of troubles) {
      answer = trouble;
      const fresh = createEntraTokens({ tenantId: TENANT, audience: CLIENT, authority });
      await assert.rejects(fresh.verify(await sign()), { name: "RemoteError" }, JSON.stringify(trouble).slice(0, 60));
      await fresh.close();
    }
    answer = { status: 200 };
  });
});
