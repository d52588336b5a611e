// One storage has one signing key, whoever makes it.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { promisify } from "node:util";
import { fingerprintOf, isSignedBy } from "../../src/lib/ed25519.ts";
import { openSigner } from "../../src/security/signing-key.ts";

async function temporaryFolder(t: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "lockstep-signing-"));
  t.after(() => rm(folder, { recursive: true }));
  return join(folder, "security");
}

test("a key is made once, kept for its owner alone, and signs what only its public key verifies", async (t) => {
  const folder = await temporaryFolder(t);
  const first = await openSigner(folder).sign("the text");
  const again = await openSigner(folder).sign("the text");
  assert.deepEqual(again, first);
  assert.equal(first.fingerprint, fingerprintOf(first.publicKey));
  assert.match(first.fingerprint, /^SHA256:[A-Za-z0-9+/]{43}$/);
  assert.ok(isSignedBy(first.publicKey, "the text", first.signature));
  assert.ok(!isSignedBy(first.publicKey, "the texts", first.signature));
  const other = await openSigner(await temporaryFolder(t)).sign("the text");
  assert.ok(!isSignedBy(other.publicKey, "the text", first.signature));
  if (process.platform !== "win32") {
    assert.equal((await stat(join(folder, "signing-key.pem"))).mode & 0o777, 0o600);
    assert.equal((await stat(folder)).mode & 0o777, 0o700);
  }
});

test("what is no key or no signature verifies nothing", () => {
  for (const key of ["", "AAAA", "not base64 at all", "A".repeat(44)]) assert.ok(!isSignedBy(key, "text", "AAAA"));
});

test("processes that start at once end with one key", async (t) => {
  const folder = await temporaryFolder(t);
  const module = new URL("../../src/security/signing-key.ts", import.meta.url).href;
  const program = `const { openSigner } = await import(${JSON.stringify(module)});
    console.log((await openSigner(${JSON.stringify(folder)}).sign("x")).fingerprint);`;
  const run = promisify(execFile);
  const outputs = await Promise.all(
    Array.from({ length: 4 }, () => run(process.execPath, ["--input-type=module", "-e", program])),
  );
  const fingerprints = new Set(outputs.map(({ stdout }) => stdout.trim()));
  assert.equal(fingerprints.size, 1);
  assert.deepEqual([...fingerprints], [(await openSigner(folder).sign("x")).fingerprint]);
  assert.deepEqual(
    (await readdir(folder)).filter((name) => name.includes("signing-key")),
    ["signing-key.pem"],
  );
});

test("a file that holds no such key is said, and left as it is", async (t) => {
  const folder = await temporaryFolder(t);
  await openSigner(folder).sign("x");
  const path = join(folder, "signing-key.pem");
  await writeFile(path, "secret words");
  await assert.rejects(
    openSigner(folder).sign("x"),
    ({ message }: Error) => message.includes("not an Ed25519 private key") && !message.includes("secret words"),
  );
  assert.equal(await readFile(path, "utf8"), "secret words");
});
