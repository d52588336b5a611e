import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import type { Domain } from "../../contracts/domain.ts";
import { BadInputError, explain, NotFoundError } from "../../contracts/errors.ts";
import type { DomainId } from "../../contracts/ids.ts";
import type { Signer } from "../../contracts/signer.ts";
import { withDomainLock } from "../../domains/domain-files.ts";
import { isErrno, readFileIfExists, writeFileAtomic } from "../../lib/atomic-file.ts";
import { namesIn } from "../../lib/file-system.ts";
import {
  ageOf,
  type Certificate,
  type CertificateStatement,
  formatCertificate,
  hashCertificate,
  isLate,
  parseCertificate,
  signCertificate,
} from "./certificate.ts";

/** A certificate as it lies in the domain's folder. */
export interface StoredCertificate {
  /** Its file without `.json`: when it was finished, or QUICK. */
  readonly id: string;
  /** `sha256:…` of its file, which the next one names as `previous`. */
  readonly hash: string;
  readonly certificate: Certificate;
  /** false: its signature does not fit, so something was altered. */
  readonly isSound: boolean;
}

/** What is proved of a domain, and how old that is. */
export interface CertificateStatus {
  /** The last full verification; undefined without one, or if its file cannot be read. */
  readonly latest: StoredCertificate | undefined;
  /** The last quick one, usually after a crawl. */
  readonly quick: StoredCertificate | undefined;
  /** What cannot be read, in sentences; or "". */
  readonly problem: string;
  readonly ageMs: number | undefined;
  /** The latest is older than the domain's `max_age`, or there is none that can be read. Never without a `max_age`. */
  readonly isLate: boolean;
}

/** The certificates of all domains. */
export interface Certificates {
  status(domain: Domain): Promise<CertificateStatus>;
  /** Ids of the full ones, newest first. */
  list(domainId: DomainId): Promise<readonly string[]>;
  /** NotFoundError if there is none, BadInputError if its file is not a certificate. */
  get(domainId: DomainId, id: string): Promise<StoredCertificate>;
}

/** The id of the quick one: there is one of a domain, since it is replaced after every crawl. */
export const QUICK = "quick";
const ID = /^\d{4}-[\dTZ-]+$/;

export function isCertificateId(text: string): boolean {
  return text === QUICK || ID.test(text);
}

interface CertificatePlace {
  readonly domainsFolder: string;
  now(): Date;
}

export function createCertificates({ domainsFolder, now }: CertificatePlace): Certificates {
  const folderOf = (domainId: DomainId): string => join(domainsFolder, domainId, "certificates");
  return {
    status: (domain) => readStatus(folderOf(domain.domainId), domain, now()),
    list: async (domainId) => (await idsIn(folderOf(domainId))).reverse(),
    async get(domainId, id) {
      const stored = isCertificateId(id) ? await read(folderOf(domainId), id) : undefined;
      if (!stored) throw new NotFoundError(`Domain '${domainId}' has no certificate '${id}'.`);
      return stored;
    },
  };
}

async function readStatus(folder: string, { maxAge = "" }: Domain, now: Date): Promise<CertificateStatus> {
  const problems: string[] = [];
  const attempt = async (id: string | undefined): Promise<StoredCertificate | undefined> => {
    if (id === undefined) return undefined;
    try {
      const stored = await read(folder, id);
      if (stored && !stored.isSound) problems.push(`Certificate '${id}' was altered: its signature does not fit.`);
      return stored;
    } catch (error) {
      if (!(error instanceof BadInputError)) throw error;
      problems.push(`Certificate '${id}' cannot be read: ${explain(error)}`);
      return undefined;
    }
  };
  const latest = await attempt((await idsIn(folder)).at(-1));
  const quick = await attempt(QUICK);
  // One that was altered proves nothing.
  const statement = latest?.isSound ? latest.certificate.statement : undefined;
  const isOld = statement ? isLate({ ...statement, max_age: maxAge }, now) : maxAge !== "";
  const ageMs = latest && ageOf(latest.certificate.statement, now);
  return { latest, quick, problem: problems.join(" "), ageMs, isLate: isOld };
}

async function read(folder: string, id: string): Promise<StoredCertificate | undefined> {
  const bytes = await readFileIfExists(join(folder, `${id}.json`));
  if (bytes === undefined) return undefined;
  const text = bytes.toString("utf8");
  return { id, hash: hashCertificate(text), ...parseCertificate(text) };
}

/**
 * Signs and writes a certificate, one after the other, so that each names the one before it. A quick one replaces its predecessor
 * and is none of them. NotFoundError if the domain was deleted meanwhile.
 */
export async function storeCertificate(
  { domainsFolder, signer }: { readonly domainsFolder: string; readonly signer: Signer },
  domainId: DomainId,
  statementAfter: (previous: string) => CertificateStatement,
): Promise<StoredCertificate> {
  return await withDomainLock(domainsFolder, domainId, async () => {
    const folder = join(domainsFolder, domainId, "certificates");
    const last = (await idsIn(folder)).at(-1);
    const before = last === undefined ? undefined : await readFileIfExists(join(folder, `${last}.json`));
    const previous = before === undefined ? "" : hashCertificate(before.toString("utf8"));
    const certificate = await signCertificate(statementAfter(previous), signer);
    const { quick, finished_utc } = certificate.statement;
    const text = formatCertificate(certificate);
    const id = quick ? QUICK : idAfter(last, finished_utc.replaceAll(/[:.]/g, "-"));
    await createFolder(folder, domainId);
    await writeFileAtomic(join(folder, `${id}.json`), text);
    return { id, hash: hashCertificate(text), certificate, isSound: true };
  });
}

/** The newest sorts last, also when the clock was set back: the next one then has the name of the last one and a number. */
function idAfter(last: string | undefined, instant: string): string {
  if (last === undefined || instant > last) return instant;
  const [, named = last, count = "0"] = /^(.*Z)-(\d{6})$/.exec(last) ?? [];
  return `${named}-${String(Number(count) + 1).padStart(6, "0")}`;
}

/** Not its parents: a domain that was deleted must not come back as an empty folder. */
async function createFolder(folder: string, domainId: DomainId): Promise<void> {
  try {
    await mkdir(folder);
  } catch (error) {
    if (isErrno(error, "EEXIST")) return;
    if (!isErrno(error, "ENOENT")) throw error;
    throw new NotFoundError(`Domain '${domainId}' was removed while it was verified.`);
  }
}

/** Oldest first: their names are instants. */
async function idsIn(folder: string): Promise<string[]> {
  const names = await namesIn(folder);
  const ids = names.flatMap((name) => (name.endsWith(".json") ? [name.slice(0, -".json".length)] : []));
  return ids.filter((id) => ID.test(id)).sort();
}
