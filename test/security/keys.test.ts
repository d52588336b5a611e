// API keys are made, checked and removed safely.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, beforeEach, describe, it } from "node:test";
import type { Access, Identity } from "../../src/security/access.ts";
import { createKeyStore } from "../../src/security/key-store.ts";
import { type AccessOptions, openAccess } from "../../src/security/open-access.ts";

const ADMIN_KEY = "5d0f3a9c1be84772a6f1c0d98e3b7a42";
const NOTHING = { authorization: undefined, apiKey: undefined, session: undefined };

describe("API keys", () => {
  let folder: string;
  let access: Access;
  const open = (options: Partial<AccessOptions> = {}): Access =>
    openAccess({ folder, adminKey: "", entra: null, withoutKeys: "everybody", ...options });
  const bearer = (key: string, by = access): Promise<Identity> =>
    by.authenticate({ ...NOTHING, authorization: `Bearer ${key}` });
  const add = (name: string, role: "read" | "operate" | "admin" = "admin", expiresAt = "") =>
    access.keys.create({ name, role, expiresAt });

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), "lockstep-keys-"));
  });
  beforeEach(async () => {
    await rm(folder, { recursive: true, force: true });
    access = open();
  });
  after(() => rm(folder, { recursive: true, force: true }));

  it("nobody has to prove anything before the first one, and everybody from then on", async () => {
    assert.deepEqual(await access.authenticate(NOTHING), {
      status: "known",
      principal: { kind: "local", id: "local", name: "local", role: "admin" },
    });
    await add("first", "admin");
    assert.deepEqual(await access.authenticate(NOTHING), { status: "anonymous" });
    assert.equal(await access.isRequired(), true);
  });

  it("taking the last one away does not open the door again", async () => {
    const { id } = await add("only");
    await access.keys.remove(id);
    assert.deepEqual(await access.keys.list(), []);
    assert.deepEqual(await access.authenticate(NOTHING), { status: "anonymous" });
  });

  it("the first one is an administrator's, unless there is one without it", async () => {
    await assert.rejects(add("ada", "read"), /first key must have the role 'admin'/);
    await assert.rejects(add("ada", "operate"), { name: "BadInputError" });
    assert.equal(await access.isRequired(), false, "nothing was begun");
    await open({ adminKey: ADMIN_KEY }).keys.create({ name: "ada", role: "read", expiresAt: "" });
    await add("bob", "operate");
  });

  it("where others can reach the server, nobody comes in without one, also while there is none", async () => {
    const closed = open({ withoutKeys: "nobody" });
    assert.deepEqual(await closed.authenticate(NOTHING), { status: "anonymous" });
    assert.equal(await closed.hasWayIn(), false);
    assert.equal(await open({ adminKey: ADMIN_KEY }).hasWayIn(), true);
  });

  it("is accepted by header and says who comes, as what", async () => {
    const { key, id } = await add("reporting");
    const expected = { status: "known", principal: { kind: "key", id, name: "reporting", role: "admin" } };
    assert.deepEqual(await bearer(key), expected);
    assert.deepEqual(await access.authenticate({ ...NOTHING, apiKey: key }), expected);
    assert.deepEqual(await access.authenticate({ ...NOTHING, authorization: `bearer  ${key} ` }), expected);
  });

  const WRONG: readonly [string, (key: string) => string][] = [
    ["another secret", (key) => `${key.slice(0, -1)}${key.endsWith("A") ? "B" : "A"}`],
    ["another id", (key) => key.replace(/^lk_./, (start) => `lk_${start.endsWith("0") ? "1" : "0"}`)],
    ["cut off", (key) => key.slice(0, -1)],
    ["more of it", (key) => `${key}A`],
    ["only the id", (key) => key.slice(0, 16)],
    ["empty", () => ""],
    ["another word", () => "none"],
    ["NUL", (key) => `${key}\0`],
  ];
  for (const [name, change] of WRONG) {
    it(`is not accepted when it is wrong: ${name}`, async () => {
      const { key } = await add("one");
      assert.deepEqual(await access.authenticate({ ...NOTHING, apiKey: change(key) }), { status: "unproved" });
    });
  }

  it("is 256 random bits, and kept as a hash that nobody else can read", async () => {
    const { key } = await add("one");
    const secret = key.split("_").slice(2).join("_");
    assert.equal(Buffer.from(secret, "base64url").length, 32);
    const files = await readdir(folder, { recursive: true, withFileTypes: true });
    for (const file of files.filter((entry) => entry.isFile())) {
      assert.doesNotMatch(await readFile(join(file.parentPath, file.name), "utf8"), new RegExp(secret));
    }
    assert.equal((await stat(join(folder, "keys.json"))).mode & 0o777, 0o600);
    assert.equal((await stat(folder)).mode & 0o777, 0o700);
  });

  it("removed or added by another process counts at once", async () => {
    const { key, id } = await add("one");
    assert.equal((await bearer(key)).status, "known");
    const elsewhere = createKeyStore(folder);
    const other = await elsewhere.create({ name: "two", role: "admin", expiresAt: "" });
    assert.equal((await bearer(other.key)).status, "known");
    await elsewhere.remove(id);
    assert.equal((await bearer(key)).status, "unproved");
  });

  it("expires", async (t) => {
    const soon = new Date(Date.now() + 60_000).toISOString();
    const { key } = await add("brief", "admin", soon);
    assert.equal((await bearer(key)).status, "known");
    t.mock.timers.enable({ apis: ["Date"], now: Date.now() + 61_000 });
    assert.equal((await bearer(key)).status, "unproved");
    assert.equal((await access.authenticate(NOTHING)).status, "anonymous", "an expired key still closes the door");
  });

  const REFUSED: readonly [string, string][] = [
    ["", ""],
    [" blank", ""],
    ["line\nend", ""],
    ["<b>", ""],
    ["x".repeat(65), ""],
    ["late", "2020-01-01T00:00:00.000Z"],
    ["never", "not a date"],
  ];
  for (const [name, expiresAt] of REFUSED) {
    it(`is not made with a bad name or expiry: ${JSON.stringify([name.slice(0, 20), expiresAt])}`, async () => {
      await assert.rejects(access.keys.create({ name, role: "read", expiresAt }), { name: "BadInputError" });
      assert.deepEqual(await access.keys.list(), []);
    });
  }

  it("has a name of its own, and is removed by name or id", async () => {
    await add("one");
    await assert.rejects(add("one"), /already a key named 'one'/);
    assert.equal((await access.keys.remove("one")).name, "one");
    await assert.rejects(access.keys.remove("one"), { name: "NotFoundError" });
  });

  it("a file that cannot be read lets nobody in, and is not written over", async () => {
    const { key } = await add("one");
    for (const content of ["{", "[]", '{"version":2,"keys":[]}', '{"version":1,"keys":[{"id":"x"}]}', ""]) {
      await writeFile(join(folder, "keys.json"), content);
      await assert.rejects(bearer(key), /keys.json/, content);
      await assert.rejects(add("two"), /keys.json/, content);
      assert.equal(await readFile(join(folder, "keys.json"), "utf8"), content);
    }
  });

  it("made by several processes at once are all kept", async () => {
    const script = `
      import { createKeyStore } from ${JSON.stringify(join(import.meta.dirname, "../../src/security/key-store.ts"))};
      const store = createKeyStore(process.argv[1]);
      for (let i = 0; i < 5; i++) await store.create({ name: process.pid + "." + i, role: "admin", expiresAt: "" });`;
    const children = [1, 2, 3].map(() =>
      spawn(process.execPath, ["--input-type=module", "-e", script, folder], { stdio: "inherit" }),
    );
    await Promise.all(children.map((child) => once(child, "exit")));
    assert.equal((await access.keys.list()).length, 15);
  });

  it("ADMIN_API_KEY has every right and is kept nowhere", async () => {
    const withKey = open({ adminKey: ADMIN_KEY });
    assert.deepEqual(await bearer(ADMIN_KEY, withKey), {
      status: "known",
      principal: { kind: "key", id: "ADMIN_API_KEY", name: "ADMIN_API_KEY", role: "admin" },
    });
    assert.equal((await bearer(`${ADMIN_KEY}!`, withKey)).status, "unproved");
    assert.equal((await withKey.authenticate(NOTHING)).status, "anonymous");
    await assert.rejects(stat(folder), { code: "ENOENT" });
  });
});

describe("sessions", () => {
  let folder: string;
  let access: Access;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "lockstep-sessions-"));
    access = openAccess({ folder, adminKey: ADMIN_KEY, entra: null, withoutKeys: "everybody" });
  });
  const bySession = async (session: string): Promise<string> =>
    (await access.authenticate({ ...NOTHING, session })).status;

  it("are opened by a key that counts, and by no other", async () => {
    const { key } = await access.keys.create({ name: "one", role: "operate", expiresAt: "" });
    const session = await access.signIn(` ${key} `);
    assert.equal(session?.principal.role, "operate");
    assert.equal(Buffer.from(session?.cookie ?? "", "base64url").length, 32);
    assert.equal(await bySession(session?.cookie ?? ""), "known");
    assert.equal(await access.signIn("lk_wrong"), undefined);
    assert.equal(await access.signIn(""), undefined);
    for (const made of ["", "x", `${session?.cookie}A`]) assert.equal(await bySession(made), "anonymous");
    await rm(folder, { recursive: true });
  });

  it("end by signing out, with their key, and after 12 hours", async (t) => {
    const { key, id } = await access.keys.create({ name: "one", role: "read", expiresAt: "" });
    const [first, second, third] = await Promise.all([
      access.signIn(key),
      access.signIn(key),
      access.signIn(ADMIN_KEY),
    ]);
    access.signOut(first?.cookie ?? "");
    assert.equal(await bySession(first?.cookie ?? ""), "anonymous");
    assert.equal(await bySession(second?.cookie ?? ""), "known");
    await access.keys.remove(id);
    assert.equal(await bySession(second?.cookie ?? ""), "anonymous");
    t.mock.timers.enable({ apis: ["Date"], now: Date.now() });
    t.mock.timers.tick(11 * 3600_000);
    assert.equal(await bySession(third?.cookie ?? ""), "known");
    t.mock.timers.tick(2 * 3600_000);
    assert.equal(await bySession(third?.cookie ?? ""), "anonymous");
    await rm(folder, { recursive: true });
  });
});
