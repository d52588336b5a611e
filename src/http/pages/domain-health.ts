import type { JobRecord } from "../../contracts/job.ts";
import type { SourceKinds } from "../../contracts/source-kind.ts";
import type { CrawlResult } from "../../engine/crawl-request.ts";
import type { DomainStatus } from "../../engine/domain-status.ts";
import { withoutItemProblems } from "../../engine/failures.ts";
import type { CertificateStatus } from "../../engine/verify/stored-certificates.ts";
import { plural } from "../../lib/text.ts";
import { countDifferences } from "../endpoints/certificate-codec.ts";
import { certificatesAddress, sayLate } from "./certificate-pages.ts";
import { summarizeCrawl } from "./crawl-summary.ts";
import { jobAddress } from "./job-fragments.ts";

export interface Health {
  readonly tone: "good" | "warn" | "bad" | "busy" | "idle";
  readonly word: string;
  /** "" if the word is enough. */
  readonly reason: string;
  /** What the user can do about it. */
  readonly wayOut?: { readonly words: string; readonly href: string };
}

export interface Vitals {
  readonly kinds: SourceKinds;
  readonly domainId: string;
  /** The job that is running or paused now. */
  readonly active: JobRecord | undefined;
  /** The last crawl that ended and was not a dry run. */
  readonly last: JobRecord | undefined;
  /** undefined: it could not be determined. */
  readonly standing: DomainStatus | undefined;
  /** undefined: it could not be read, or is not needed. */
  readonly certificates?: CertificateStatus | undefined;
  /** The domain's `max_age`. */
  readonly maxAge?: string | undefined;
}

/** Returns the first problem with its remedy. "In step" only if no problem is known. */
export function healthOf(vitals: Vitals): Health {
  return (
    healthNow(vitals) ??
    healthOfLastCrawl(vitals) ??
    healthOfFiles(vitals) ??
    healthOfCertificates(vitals) ?? { tone: "good", word: "in step", reason: "" }
  );
}

function healthNow({ domainId, active, standing }: Vitals): Health | undefined {
  if (active?.stalled) {
    const reason = `${active.jobId} has sent no heartbeat since ${active.lastModifiedAt}.`;
    return {
      tone: "warn",
      word: "stalled",
      reason,
      wayOut: { words: "Look at the job", href: jobAddress(active.jobId) },
    };
  }
  if (active) return { tone: "busy", word: wordOf(active), reason: "" };
  if (standing?.rolledBackTo === null || standing?.rolledBackTo === undefined) return undefined;
  return {
    tone: "warn",
    word: "rolled back",
    reason: `Readers see generation ${standing.rolledBackTo}, whatever is crawled, until it is released.`,
    wayOut: { words: "Look at the generations", href: `/v2/domains/generations?domain_id=${domainId}&format=html` },
  };
}

function wordOf({ state, action }: JobRecord): string {
  if (state === "paused") return "paused";
  return action === "verify" ? "verifying" : "crawling";
}

function healthOfLastCrawl({ kinds, domainId, last, standing }: Vitals): Health | undefined {
  if (!last) return healthWithoutCrawl(domainId, standing);
  if (last.state === "cancelled") {
    const reason = "The last crawl was cancelled: what it had not come to is as it was before.";
    return {
      tone: "warn",
      word: "cancelled",
      reason,
      wayOut: { words: "Look at the job", href: jobAddress(last.jobId) },
    };
  }
  if (last.result?.ok || (standing?.failed === 0 && hasOnlyFailedItems(last))) {
    return healthOfPlan(domainId, summarizeCrawl(last, kinds)?.left ?? 0);
  }
  const reason = last.result?.error ?? "The last crawl left no result.";
  const { held = 0, failed = 0, isWorse = false } = summarizeCrawl(last, kinds) ?? {};
  if (isWorse) {
    const wayOut = {
      words: "See which questions got lost",
      href: `/v2/domains/questions?domain_id=${domainId}&format=html`,
    };
    return { tone: "warn", word: "changes held", reason, wayOut };
  }
  const log = { words: "Read the log", href: jobAddress(last.jobId) };
  const list = { words: "See what failed", href: failuresAddress(domainId) };
  const isListed = failed > 0 || hasUnreadSource(last);
  return held > 0
    ? {
        tone: "warn",
        word: "removals held",
        reason,
        wayOut: {
          words: "See what would go, then confirm",
          href: `${crawlerAddress(domainId)}&dry_run=true&confirm_deletes=true`,
        },
      }
    : { tone: "bad", word: "needs attention", reason, wayOut: isListed ? list : log };
}

/** Whether every problem of the crawl is a failed item, and thus in the list of failures. */
function hasOnlyFailedItems({ result }: JobRecord): boolean {
  const { sources = [], problems = [] } = (result?.data ?? {}) as Partial<CrawlResult>;
  if (!Array.isArray(sources) || !Array.isArray(problems)) return false;
  const errors = sources.map(({ error }) => error).filter(Boolean);
  return (
    errors.length > 0 && problems.length === errors.length && errors.every((one) => withoutItemProblems(one) === "")
  );
}

/** A source that was skipped, or could not be read whole. */
function hasUnreadSource({ result }: JobRecord): boolean {
  const { sources = [] } = (result?.data ?? {}) as Partial<CrawlResult>;
  return Array.isArray(sources) && sources.some(({ error = "" }) => withoutItemProblems(error) !== "");
}

/** Warns if applying a plan skipped changes that were not as planned; the next crawl makes them. */
function healthOfPlan(domainId: string, left: number): Health | undefined {
  if (left === 0) return undefined;
  const reason = `${plural(left, "change was", "changes were")} not as planned when a plan was applied, and left to the next crawl.`;
  return { tone: "warn", word: "behind", reason, wayOut: { words: "Crawl it", href: crawlerAddress(domainId) } };
}

/** Jobs keep the old name of a renamed domain and are removed after a while: if the domain has documents, it was crawled. */
function healthWithoutCrawl(domainId: string, standing: DomainStatus | undefined): Health | undefined {
  if (!standing || standing.documents === null || standing.failed > 0) return undefined;
  if (standing.documents === 0) return { tone: "idle", word: "not crawled yet", reason: "" };
  const reason = "The job of its last crawl is gone: the domain was renamed since, or the job was removed.";
  return {
    tone: "idle",
    word: "crawl it again",
    reason,
    wayOut: { words: "Crawl it", href: crawlerAddress(domainId) },
  };
}

/** Returns the text shown instead of the time of the last crawl. */
export function sayNoCrawl(documents: number | null | undefined): string {
  return documents === 0 ? "never" : "not on record";
}

function healthOfFiles({ domainId, standing }: Vitals): Health | undefined {
  if (!standing) return { tone: "warn", word: "unknown", reason: "Its status cannot be read at the moment." };
  if (standing.failed > 0) {
    const reason = `${standing.failed === 1 ? "1 file" : `${standing.failed} files`} could not be read, embedded or brought up to date.`;
    const wayOut = { words: "See what failed", href: failuresAddress(domainId) };
    return { tone: "warn", word: "files failed", reason, wayOut };
  }
  return standing.error === "" ? undefined : { tone: "warn", word: "unknown", reason: standing.error };
}

function healthOfCertificates({ domainId, certificates, maxAge = "" }: Vitals): Health | undefined {
  if (!certificates) return undefined;
  const { latest, quick, ageMs, isLate, problem } = certificates;
  const look = { words: "Look at the verification", href: certificatesAddress(domainId) };
  // A full verification counts until the next full one: a quick one checks less.
  const wrong = [latest, quick].find((one) => one?.certificate.statement.verdict === "differs");
  if (wrong) {
    const count = plural(countDifferences(wrong.certificate), "difference");
    const reason = `${wrong === quick ? "The quick verification" : "The last verification"} found ${count} between source, mirror and index.`;
    return { tone: "bad", word: "differs", reason, wayOut: look };
  }
  if (problem) return { tone: "warn", word: "certificate damaged", reason: problem, wayOut: look };
  return isLate ? { tone: "warn", word: "late", reason: sayLate(maxAge, ageMs), wayOut: look } : undefined;
}

export function failuresAddress(domainId: string): string {
  return `/v2/documents/failed?domain_id=${domainId}&format=html`;
}

export function crawlerAddress(domainId: string): string {
  return `/v2/crawler?format=ui&domain_id=${encodeURIComponent(domainId)}`;
}
