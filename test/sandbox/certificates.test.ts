// Certificates are made and read for tests.
import assert from "node:assert/strict";
import { createPrivateKey, X509Certificate } from "node:crypto";
import { test } from "node:test";
import { createSecureContext } from "node:tls";
import { makeCertificate, readCertificate } from "../../src/sandbox/certificates.ts";
import { makePfx } from "./make-pfx.ts";

test("a made certificate belongs to its key and is valid now", async () => {
  const made = await makeCertificate();
  const certificate = new X509Certificate(made.pem);
  assert.ok(certificate.checkPrivateKey(createPrivateKey(made.pem)));
  assert.ok(certificate.verify(certificate.publicKey), "self-signed");
  assert.ok(certificate.validFromDate.getTime() < Date.now() && certificate.validToDate.getTime() > Date.now());
  assert.equal(certificate.fingerprint.replaceAll(":", ""), made.thumbprint);
  assert.equal(certificate.fingerprint256.replaceAll(":", ""), made.thumbprintSha256);
});

test("two made certificates differ", async () => {
  const [first, second] = [await makeCertificate(), await makeCertificate()];
  assert.notEqual(first.thumbprint, second.thumbprint);
});

test("a PEM with the key first is read as well", async () => {
  const made = await makeCertificate();
  const cut = made.pem.indexOf("-----BEGIN PRIVATE KEY");
  assert.equal(readCertificate(made.pem.slice(cut) + made.pem.slice(0, cut)).thumbprint, made.thumbprint);
});

test("a PFX opens with its password only", async () => {
  const pfx = Buffer.from(makePfx((await makeCertificate()).pem, "correct horse"));
  assert.ok(createSecureContext({ pfx, passphrase: "correct horse" }));
  assert.throws(() => createSecureContext({ pfx, passphrase: "wrong" }), /mac verify failure/);
});
