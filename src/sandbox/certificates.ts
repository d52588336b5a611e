import { createHash, generateKeyPair, randomBytes, X509Certificate } from "node:crypto";
import { promisify } from "node:util";
import forge from "node-forge";

/** A key pair with its self-signed certificate, as an app registration would use it. */
export interface ClientCertificate {
  /** Certificate and unencrypted private key in one text. */
  readonly pem: string;
  /** SHA-1 of the certificate, upper-case hex: what the portal shows and `x5t` carries. */
  readonly thumbprint: string;
  /** SHA-256 of the certificate, upper-case hex: what `x5t#S256` carries. */
  readonly thumbprintSha256: string;
}

const DAY_MS = 24 * 3600 * 1000;

/** Valid from yesterday, or from a day before it expires, whichever is earlier. */
export async function makeCertificate(
  commonName = "lockstep sandbox",
  expiresAt = new Date(Date.now() + 3650 * DAY_MS),
): Promise<ClientCertificate> {
  const { privateKey } = await promisify(generateKeyPair)("rsa", { modulusLength: 2048 });
  const keyPem = privateKey.export({ type: "pkcs8", format: "pem" }).toString();
  return readCertificate(selfSign(keyPem, commonName, expiresAt) + keyPem);
}

/** Takes a PEM text with a certificate in it, in any order with its key. */
export function readCertificate(pem: string): ClientCertificate {
  const der = new X509Certificate(pem).raw;
  const digest = (algorithm: string): string => createHash(algorithm).update(der).digest("hex").toUpperCase();
  return { pem, thumbprint: digest("sha1"), thumbprintSha256: digest("sha256") };
}

function selfSign(keyPem: string, commonName: string, expiresAt: Date): string {
  const key = forge.pki.privateKeyFromPem(keyPem);
  const certificate = forge.pki.createCertificate();
  certificate.publicKey = forge.pki.rsa.setPublicKey(key.n, key.e);
  certificate.serialNumber = makeSerialNumber();
  certificate.validity.notBefore = new Date(Math.min(Date.now(), expiresAt.getTime()) - DAY_MS);
  certificate.validity.notAfter = expiresAt;
  const subject = [{ name: "commonName", value: commonName }];
  certificate.setSubject(subject);
  certificate.setIssuer(subject);
  certificate.sign(key, forge.md.sha256.create());
  return forge.pki.certificateToPem(certificate).replaceAll("\r\n", "\n");
}

/** The first bits 01 keep it positive and without a leading zero byte: X.509 demands the one, DER the other. */
function makeSerialNumber(): string {
  const bytes = randomBytes(16);
  bytes[0] = ((bytes[0] ?? 0) & 0x3f) | 0x40;
  return bytes.toString("hex");
}
