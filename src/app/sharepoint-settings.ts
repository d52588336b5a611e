import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { BadInputError } from "../contracts/errors.ts";
import { isErrno } from "../lib/atomic-file.ts";
import { type Certificate, readPemCertificate, readPfxCertificate, warnOfExpiry } from "./certificate.ts";
import type { SettingReader } from "./setting-reader.ts";

export interface SharePointSettings {
  readonly tenantId: string;
  readonly clientId: string;
  readonly certificate: Certificate;
  /** "" for Microsoft's own. */
  readonly tokenEndpoint: string;
  /** Requests under way at the same time. */
  readonly concurrency: number;
  /** Who crawls, for the User-Agent that Microsoft asks for. */
  readonly company: string;
}

/** All of the group or none of it: half a sign-in is a problem to tell, not a sign-in to try. */
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

/** It becomes part of a header whose parts are separated by bars. */
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

/** A path from the current folder, or a name inside the storage folder. */
function readFromEither(file: string, storagePath: string): { path: string; bytes: Buffer } {
  const candidates = [...new Set([resolve(file), resolve(storagePath, file)])];
  for (const path of candidates) {
    try {
      return { path, bytes: readFileSync(path) };
    } catch (error) {
      if (isErrno(error, "ENOENT", "ENOTDIR")) continue;
      const code = error instanceof Error && "code" in error ? String(error.code) : "unknown error";
      throw new BadInputError(`${path} cannot be read (${code}).`);
    }
  }
  throw new BadInputError(`there is no such file (looked for ${candidates.join(" and ")}).`);
}
