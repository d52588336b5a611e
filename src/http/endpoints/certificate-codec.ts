import type { Certificate } from "../../engine/verify/certificate.ts";
import type { CertificateStatus, StoredCertificate } from "../../engine/verify/stored-certificates.ts";

/** A certificate as lists, search answers and descriptions name it. */
export interface CertificateJson {
  /** Its id; with `domain_id` it finds the certificate itself. */
  readonly certificate: string;
  readonly certificate_hash: string;
  readonly verdict: string;
  readonly finished_utc: string;
  readonly generation: number;
  readonly download: boolean;
  readonly differences: number;
  readonly behind: number;
  /** The fingerprint of the key. */
  readonly signed_by: string;
  /** false: it was altered since. */
  readonly sound: boolean;
}

/** What is proved of a domain. */
export interface CertificateStatusJson {
  readonly domain_id: string;
  /** "" without a limit. */
  readonly max_age: string;
  readonly late: boolean;
  /** null without a certificate. */
  readonly age_seconds: number | null;
  /** What cannot be read; or "". */
  readonly problem: string;
  readonly latest: CertificateJson | null;
  readonly quick: CertificateJson | null;
}

export function toCertificateJson({ id, hash, certificate, isSound }: StoredCertificate): CertificateJson {
  const { statement, signature } = certificate;
  return {
    certificate: id,
    certificate_hash: hash,
    verdict: statement.verdict,
    finished_utc: statement.finished_utc,
    generation: statement.generation,
    download: statement.download,
    differences: countDifferences(certificate),
    behind: statement.sources.reduce((sum, one) => sum + (one.behind?.length ?? 0) + (one.behind_more ?? 0), 0),
    signed_by: signature.fingerprint,
    sound: isSound,
  };
}

export function countDifferences({ statement }: Certificate): number {
  return statement.sources.reduce((sum, one) => sum + (one.differences?.length ?? 0) + (one.differences_more ?? 0), 0);
}

/** The latest certificate of a domain, as an answer about its content names it; null without one. */
export interface ProofJson extends CertificateJson {
  readonly domain_id: string;
  readonly late: boolean;
}

export function toProofJson(domainId: string, { latest, isLate }: CertificateStatus): ProofJson | null {
  return latest ? { domain_id: domainId, late: isLate, ...toCertificateJson(latest) } : null;
}

export function toStatusJson(
  { domainId, maxAge = "" }: { readonly domainId: string; readonly maxAge?: string },
  { latest, quick, problem, ageMs, isLate }: CertificateStatus,
): CertificateStatusJson {
  return {
    domain_id: domainId,
    max_age: maxAge,
    late: isLate,
    age_seconds: ageMs === undefined ? null : Math.floor(ageMs / 1000),
    problem,
    latest: latest ? toCertificateJson(latest) : null,
    quick: quick ? toCertificateJson(quick) : null,
  };
}
