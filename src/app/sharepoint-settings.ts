import { createPrivateKey, type KeyObject, X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import type forge from "node-forge";
import { BadInputError } from "../contracts/errors.ts";
import { isErrno } from "../lib/atomic-file.ts";
import { errorCode } from "../lib/explain-network.ts";
import { later } from "../lib/later.ts";
import { Secret, type SettingReader } from "./setting-reader.ts";

export interface SharePointSettings {
  readonly tenantId: string;
  readonly clientId: string;
  readonly certificate: Certificate;
  /** "" for Microsoft's own. */
  readonly tokenEndpoint: string;
  /** Number of concurrent requests. */
  readonly concurrency: number;
  /** The company in the User-Agent header, which Microsoft asks for. */
  readonly company: string;
}

/** Returns all settings or none: an incomplete sign-in is reported as a problem, not tried. */
export function readSharePointSettings(reader: SettingReader, storagePath: string): SharePointSettings | null {
  const tenantId = reader.text("CRAWLER_TENANT_ID");
  const clientId = reader.text("CRAWLER_CLIENT_ID");
  const pfxFile = reader.text("CRAWLER_CLIENT_CERTIFICATE_PFX_FILE");
  const pemFile = reader.text("CRAWLER_CLIENT_CERTIFICATE_PEM_FILE");
  const password = reader.text("CRAWLER_CLIENT_CERTIFICATE_PASSWORD");
  const tokenEndpoint = reader.url("CRAWLER_TOKEN_ENDPOINT", "refuse");
  const concurrency = reader.number("CRAWLER_CONCURRENCY", 4, { min: 1, max: 10 });
  const company = readCompany(reader);
  if (![tenantId, clientId, pfxFile, pemFile, password, tokenEndpoint].some(Boolean)) return null;

  checkIds(reader, tenantId, clientId);
  const certificate = readCertificate(reader, { pfxFile, pemFile, password, storagePath });
  return certificate && { tenantId, clientId, certificate, tokenEndpoint, concurrency, company };
}

/** The company becomes part of a header whose parts are separated by bars. */
function readCompany(reader: SettingReader): string {
  const company = reader.text("CRAWLER_USER_AGENT_COMPANY", "lockstep");
  if (!/^[A-Za-z0-9 ._-]{1,64}$/.test(company)) {
    reader.problems.push(
      "CRAWLER_USER_AGENT_COMPANY must be 1 to 64 letters, digits, spaces, dots, underscores or hyphens.",
    );
  }
  return company;
}

function checkIds(reader: SettingReader, tenantId: string, clientId: string): void {
  const because = "is needed to sign in to SharePoint, because other CRAWLER_ settings are set.";
  if (!tenantId) reader.problems.push(`CRAWLER_TENANT_ID ${because}`);
  else if (!/^[A-Za-z0-9][A-Za-z0-9.-]*$/.test(tenantId)) {
    reader.problems.push("CRAWLER_TENANT_ID must be the tenant's id or domain, e.g. contoso.onmicrosoft.com.");
  }
  if (!clientId) reader.problems.push(`CRAWLER_CLIENT_ID ${because}`);
  else if (!/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(clientId)) {
    reader.problems.push("CRAWLER_CLIENT_ID must be the application (client) id of the app registration, a GUID.");
  }
}

interface CertificateFile {
  readonly pfxFile: string;
  readonly pemFile: string;
  readonly password: string;
  readonly storagePath: string;
}

function readCertificate(reader: SettingReader, files: CertificateFile): Certificate | null {
  const { pfxFile, pemFile, password, storagePath } = files;
  if (pfxFile && pemFile) {
    reader.problems.push(
      "CRAWLER_CLIENT_CERTIFICATE_PFX_FILE and CRAWLER_CLIENT_CERTIFICATE_PEM_FILE are both set; keep one.",
    );
    return null;
  }
  if (!pfxFile && !pemFile) {
    reader.problems.push(
      "CRAWLER_CLIENT_CERTIFICATE_PFX_FILE or CRAWLER_CLIENT_CERTIFICATE_PEM_FILE is needed: SharePoint accepts no client secret.",
    );
    return null;
  }
  const setting = pfxFile ? "CRAWLER_CLIENT_CERTIFICATE_PFX_FILE" : "CRAWLER_CLIENT_CERTIFICATE_PEM_FILE";
  try {
    const { path, bytes } = readFromEither(pfxFile || pemFile, storagePath);
    const certificate = pfxFile
      ? readPfxCertificate(bytes, password, path)
      : readPemCertificate(bytes.toString("utf8"), password, path);
    const warning = warnOfExpiry(certificate, new Date());
    if (warning) reader.warnings.push(warning);
    return certificate;
  } catch (error) {
    if (!(error instanceof BadInputError)) throw error;
    reader.problems.push(`${setting}: ${error.message}`);
    return null;
  }
}

/** Reads a path relative to the current folder, or a name inside the storage folder. */
function readFromEither(file: string, storagePath: string): { path: string; bytes: Buffer } {
  const candidates = [...new Set([resolve(file), resolve(storagePath, file)])];
  for (const path of candidates) {
    try {
      return { path, bytes: readFileSync(path) };
    } catch (error) {
      if (isErrno(error, "ENOENT", "ENOTDIR")) continue;
      throw new BadInputError(`${path} cannot be read (${errorCode(error) || "unknown error"}).`);
    }
  }
  throw new BadInputError(`there is no such file (looked for ${candidates.join(" and ")}).`);
}

/** The crawler's sign-in certificate. The key stays in memory; nothing converted is written to disk. */
interface Certificate {
  readonly certificatePem: string;
  /** PKCS #8, not encrypted. */
  readonly privateKeyPem: Secret;
  readonly subject: string;
  /** Hexadecimal SHA-256, as Entra shows it. */
  readonly thumbprint: string;
  /** ISO 8601 UTC. */
  readonly expiresAt: string;
}

/** Reads a PFX (PKCS #12) file. BadInputError says what is wrong and calls the file `name`. */
export function readPfxCertificate(bytes: Uint8Array, password: string, name: string): Certificate {
  return readPemCertificate(openPfx(bytes, password, name), "", name);
}

/** Reads a PEM text with the certificate (possibly with its chain) and the private key, in any order. */
export function readPemCertificate(pem: string, password: string, name: string): Certificate {
  const certificates = pem.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];
  if (certificates.length === 0) throw new BadInputError(`${name} contains no certificate.`);
  const key = readKey(pem, password, name);
  const own = certificates
    .map((text) => parseCertificate(text, name))
    .find((candidate) => candidate.checkPrivateKey(key));
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
    // OpenSSL's own message names byte offsets and routines, which does not help the admin.
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

/** Returns "" if there is nothing to warn about. */
export function warnOfExpiry(certificate: Certificate, now: Date): string {
  const daysLeft = Math.floor((Date.parse(certificate.expiresAt) - now.getTime()) / 86_400_000);
  const day = certificate.expiresAt.slice(0, 10);
  if (daysLeft < 0) return `The client certificate expired on ${day}; the sign-in will refuse it.`;
  return daysLeft < 30 ? `The client certificate expires on ${day}.` : "";
}

const forgeOf = later<typeof forge>("node-forge");

/** Returns the private key and all certificates of a PFX file as one PEM text. */
function openPfx(bytes: Uint8Array, password: string, name: string): string {
  const { pki } = forgeOf();
  const content = decrypt(parse(bytes, name), password, name);
  const key = bagsOf(content, pki.oids["pkcs8ShroudedKeyBag"])
    .concat(bagsOf(content, pki.oids["keyBag"]))
    .map((bag) => bag.key)
    .find((candidate) => candidate !== undefined && candidate !== null);
  if (!key) throw new BadInputError(`${name} contains no RSA private key; export it with its private key.`);
  const certificates = bagsOf(content, pki.oids["certBag"]).flatMap((bag) => (bag.cert ? [bag.cert] : []));
  return [pki.privateKeyToPem(key), ...certificates.map((candidate) => pki.certificateToPem(candidate))].join("\n");
}

function parse(bytes: Uint8Array, name: string): forge.asn1.Asn1 {
  try {
    const { asn1, util } = forgeOf();
    return asn1.fromDer(util.createBuffer(Buffer.from(bytes).toString("binary")));
  } catch {
    throw new BadInputError(`${name} is not a PFX file, or it is damaged.`);
  }
}

function decrypt(asn1: forge.asn1.Asn1, password: string, name: string): forge.pkcs12.Pkcs12Pfx {
  try {
    return forgeOf().pkcs12.pkcs12FromAsn1(asn1, password);
  } catch (error) {
    const text = error instanceof Error ? error.message : "";
    if (/password|MAC|decrypt/i.test(text)) {
      throw new BadInputError(`The password for ${name} is wrong: check CRAWLER_CLIENT_CERTIFICATE_PASSWORD.`);
    }
    throw new BadInputError(`${name} is not a PFX file we can read: ${text || "unknown format"}.`);
  }
}

function bagsOf(content: forge.pkcs12.Pkcs12Pfx, type: string | undefined): forge.pkcs12.Bag[] {
  return type === undefined ? [] : (content.getBags({ bagType: type })[type] ?? []);
}
