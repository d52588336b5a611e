// A client certificate is read from PEM or PFX, and whatever is wrong with one is explained without its password.
import assert from "node:assert/strict";
import { createPrivateKey, generateKeyPairSync, X509Certificate } from "node:crypto";
import { mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import forge from "node-forge";
import { ConfigError, readConfig } from "../../src/app/config.ts";
import { readPemCertificate, readPfxCertificate, warnOfExpiry } from "../../src/app/sharepoint-settings.ts";
import { BadInputError } from "../../src/contracts/errors.ts";
import { makeCertificate } from "../../src/sandbox/certificates.ts";
import { makePfx } from "../sandbox/make-pfx.ts";

const IDS = { CRAWLER_TENANT_ID: "contoso.onmicrosoft.com", CRAWLER_CLIENT_ID: "0b2d6f3e-1111-4222-8333-444455556666" };

/** A PFX as current tools write it: AES and an RSA key, certificate optional. */
function pfxOf(keyPem: string, certificatePem: string | undefined, password: string): Buffer {
  const certificates = certificatePem ? [forge.pki.certificateFromPem(certificatePem)] : [];
  const key = keyPem ? (forge.pki.privateKeyFromPem(keyPem) as forge.pki.rsa.PrivateKey) : null;
  const asn1 = forge.pkcs12.toPkcs12Asn1(key, certificates, password, { algorithm: "aes256" });
  return Buffer.from(forge.asn1.toDer(asn1).getBytes(), "binary");
}

describe("client certificate", () => {
  let folder = "";
  let pem = "";
  let keyPem = "";
  let certificatePem = "";
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), "lockstep-"));
    pem = (await makeCertificate("crawler")).pem;
    certificatePem = new X509Certificate(pem).toString();
    keyPem = createPrivateKey(pem.slice(pem.indexOf("-----BEGIN PRIVATE")))
      .export({ type: "pkcs8", format: "pem" })
      .toString();
  });
  after(() => rm(folder, { recursive: true }));

  function settings(extra: Record<string, string>): Record<string, string> {
    return { ...IDS, PERSISTENT_STORAGE_PATH: folder, ...extra };
  }

  function problem(extra: Record<string, string>): string {
    try {
      readConfig(settings(extra));
    } catch (error) {
      assert.ok(error instanceof ConfigError);
      return error.problems.join("\n");
    }
    return "";
  }

  it("is the same from PEM and from PFX, old and new encryption", () => {
    const fromPem = readPemCertificate(pem, "", "a.pem");
    assert.equal(fromPem.thumbprint, new X509Certificate(pem).fingerprint256.replaceAll(":", ""));
    assert.equal(fromPem.subject, "CN=crawler");
    for (const pfx of [makePfx(pem, "pa ß"), pfxOf(keyPem, certificatePem, "pa ß")]) {
      const fromPfx = readPfxCertificate(pfx, "pa ß", "a.pfx");
      assert.equal(fromPfx.thumbprint, fromPem.thumbprint);
      assert.equal(fromPfx.privateKeyPem.reveal(), fromPem.privateKeyPem.reveal());
    }
  });

  it("is found by path and by name inside the storage folder, and leaves nothing on disk", async () => {
    await writeFile(join(folder, "crawler.pfx"), makePfx(pem, "secret"));
    const before = await readdir(folder);
    for (const file of ["crawler.pfx", join(folder, "crawler.pfx")]) {
      const config = readConfig(
        settings({ CRAWLER_CLIENT_CERTIFICATE_PFX_FILE: file, CRAWLER_CLIENT_CERTIFICATE_PASSWORD: "secret" }),
      );
      assert.equal(config.sharepoint?.tenantId, IDS.CRAWLER_TENANT_ID);
      assert.match(config.sharepoint?.certificate.privateKeyPem.reveal() ?? "", /BEGIN PRIVATE KEY/);
      assert.deepEqual(config.warnings, []);
    }
    assert.deepEqual(await readdir(folder), before);
  });

  it("that is missing is named with the places looked at", () => {
    const text = problem({ CRAWLER_CLIENT_CERTIFICATE_PFX_FILE: "none.pfx" });
    assert.match(text, /^CRAWLER_CLIENT_CERTIFICATE_PFX_FILE: there is no such file/);
    assert.ok(text.includes(join(folder, "none.pfx")));
  });

  it("with a wrong password says so, without repeating it", async () => {
    await writeFile(join(folder, "a.pfx"), makePfx(pem, "right"));
    for (const password of ["wr0ng", ""]) {
      const text = problem({
        CRAWLER_CLIENT_CERTIFICATE_PFX_FILE: "a.pfx",
        CRAWLER_CLIENT_CERTIFICATE_PASSWORD: password,
      });
      assert.match(text, /The password for .*a\.pfx is wrong/);
      assert.ok(!text.includes("wr0ng"));
    }
  });

  it("without a private key, with another's, or damaged is explained", async () => {
    const other = (await makeCertificate("other")).pem;
    const otherKey = other.slice(other.indexOf("-----BEGIN PRIVATE"));
    const cases: [string, string | Buffer, RegExp][] = [
      ["only-cert.pem", certificatePem, /contains no private key/],
      ["only-key.pem", keyPem, /contains no certificate/],
      ["mixed.pem", certificatePem + otherKey, /private key in .* does not belong to the certificate/],
      [
        "broken.pem",
        `${certificatePem}-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n`,
        /key in .* is damaged/,
      ],
      ["only-cert.pfx", pfxOf("", certificatePem, ""), /contains no RSA private key/],
      ["mixed.pfx", pfxOf(otherKey, certificatePem, ""), /does not belong to the certificate/],
      ["text.pfx", "hello", /not a PFX file/],
    ];
    for (const [name, content, expected] of cases) {
      await writeFile(join(folder, name), content);
      const setting = name.endsWith("pfx") ? "PFX" : "PEM";
      const text = problem({ [`CRAWLER_CLIENT_CERTIFICATE_${setting}_FILE`]: name });
      assert.match(text, expected, name);
      assert.ok(text.includes(name), text);
    }
  });

  it("is picked out of its chain", async () => {
    const ca = new X509Certificate((await makeCertificate("ca")).pem).toString();
    assert.equal(readPemCertificate(ca + pem, "", "chain.pem").subject, "CN=crawler");
  });

  it("in an encrypted PEM needs the password", () => {
    const encrypted = createPrivateKey(keyPem).export({
      type: "pkcs8",
      format: "pem",
      cipher: "aes-256-cbc",
      passphrase: "p",
    });
    assert.equal(readPemCertificate(certificatePem + encrypted, "p", "a.pem").subject, "CN=crawler");
    assert.throws(() => readPemCertificate(certificatePem + encrypted, "", "a.pem"), /is encrypted: set CRAWLER_/);
    assert.throws(() => readPemCertificate(certificatePem + encrypted, "x", "a.pem"), /password is wrong/);
  });

  it("must be RSA", () => {
    const key = generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey.export({ type: "pkcs8", format: "pem" });
    assert.throws(() => readPemCertificate(certificatePem + key, "", "a.pem"), BadInputError);
    assert.throws(() => readPemCertificate(certificatePem + key, "", "a.pem"), /needs RSA/);
  });

  it("warns before and after it expires", () => {
    const certificate = { ...readPemCertificate(pem, "", "a.pem"), expiresAt: "2030-06-30T12:00:00.000Z" };
    assert.equal(warnOfExpiry(certificate, new Date("2030-01-01T00:00:00Z")), "");
    assert.match(warnOfExpiry(certificate, new Date("2030-06-15T00:00:00Z")), /expires on 2030-06-30/);
    assert.match(warnOfExpiry(certificate, new Date("2030-07-01T00:00:00Z")), /expired on 2030-06-30/);
  });

  it("settings are complete or a problem", () => {
    assert.match(problem({}), /SharePoint accepts no client secret/);
    const both = { CRAWLER_CLIENT_CERTIFICATE_PFX_FILE: "a", CRAWLER_CLIENT_CERTIFICATE_PEM_FILE: "b" };
    assert.match(problem(both), /both set; keep one/);
    assert.match(problem({ CRAWLER_CLIENT_ID: "crawler" }), /CRAWLER_CLIENT_ID must be the application/);
    assert.match(
      problem({ CRAWLER_TOKEN_ENDPOINT: "http://login.example.com" }),
      /CRAWLER_TOKEN_ENDPOINT must begin with https/,
    );
  });
});
