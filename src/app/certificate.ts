import { createPrivateKey, type KeyObject, X509Certificate } from "node:crypto";
import { BadInputError } from "../contracts/errors.ts";
import { openPfx } from "./pfx.ts";
import { Secret } from "./secret.ts";

/** What the crawler signs in with. The key stays in memory; nothing converted is written to disk. */
export interface Certificate {
  readonly certificatePem: string;
  /** PKCS #8, not encrypted. */
  readonly privateKeyPem: Secret;
  readonly subject: string;
  /** Hexadecimal SHA-256 as Entra shows it. */
  readonly thumbprint: string;
  /** ISO 8601 UTC. */
  readonly expiresAt: string;
}

/** From a PFX (PKCS #12) file's bytes. BadInputError says what is wrong, with `name` as the file's name. */
export function readPfxCertificate(bytes: Uint8Array, password: string, name: string): Certificate {
  return readPemCertificate(openPfx(bytes, password, name), "", name);
}

/** From a PEM text with the certificate (perhaps with its chain) and the private key, in any order. */
export function readPemCertificate(pem: string, password: string, name: string): Certificate {
  const certificates = pem.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];
  if (certificates.length === 0) throw new BadInputError(`${name} contains no certificate.`);
  const key = readKey(pem, password, name);
  const own = certificates.map((text) => parseCertificate(text, name)).find((each) => each.checkPrivateKey(key));
  if (!own) throw new BadInputError(`The private key in ${name} does not belong to the certificate in it.`);
  return {
    certificatePem: own.toString(),
    privateKeyPem: new Secret(key.export({ type: "pkcs8", format: "pem" }).toString()),
    subject: own.subject.replaceAll("\n", ", "),
    thumbprint: own.fingerprint256.replaceAll(":", ""),
    expiresAt: own.validToDate.toISOString(),
  };
}

function readKey(pem: string, password: string, name: string): KeyObject {
  const block = /-----BEGIN ([A-Z ]*)PRIVATE KEY-----[\s\S]+?-----END \1PRIVATE KEY-----/.exec(pem)?.[0];
  if (!block) throw new BadInputError(`${name} contains no private key.`);
  const encrypted = block.includes("ENCRYPTED");
  if (encrypted && !password) {
    throw new BadInputError(`The private key in ${name} is encrypted: set CRAWLER_CLIENT_CERTIFICATE_PASSWORD.`);
  }
  let key: KeyObject;
  try {
    key = createPrivateKey({ key: block, ...(encrypted ? { passphrase: password } : {}) });
  } catch {
    // OpenSSL's own words name byte offsets and routines, which help nobody here.
    const reason = encrypted ? "the password is wrong or the key is damaged" : "it is damaged";
    throw new BadInputError(`The private key in ${name} cannot be read: ${reason}.`);
  }
  if (key.asymmetricKeyType === "rsa") return key;
  throw new BadInputError(`The private key in ${name} is of type ${key.asymmetricKeyType}; Entra sign-in needs RSA.`);
}

function parseCertificate(pem: string, name: string): X509Certificate {
  try {
    return new X509Certificate(pem);
  } catch {
    throw new BadInputError(`The certificate in ${name} cannot be read: it is damaged.`);
  }
}

/** "" while there is nothing to say. */
export function warnOfExpiry(certificate: Certificate, now: Date): string {
  const daysLeft = Math.floor((Date.parse(certificate.expiresAt) - now.getTime()) / 86_400_000);
  const day = certificate.expiresAt.slice(0, 10);
  if (daysLeft < 0) return `The client certificate expired on ${day}; the sign-in will refuse it.`;
  return daysLeft < 30 ? `The client certificate expires on ${day}.` : "";
}
