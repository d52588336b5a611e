import type { Domain, SourceConfig } from "../../contracts/domain.ts";
import { CancelledError, explain, NotFoundError } from "../../contracts/errors.ts";
import type { DomainId, ItemId } from "../../contracts/ids.ts";
import type { JobContext } from "../../contracts/job.ts";
import type { Signer } from "../../contracts/signer.ts";
import type { SourceRun } from "../../contracts/source-kind.ts";
import { releaseNumber } from "../../lib/release.ts";
import { plural } from "../../lib/text.ts";
import { nowUtcMicros } from "../../lib/time.ts";
import type { CrawlRequest, CrawlResult, SourceResult } from "../crawl-request.ts";
import type { EngineParts } from "../engine-parts.ts";
import { describeMissingStore } from "../index-target.ts";
import { findHeld } from "../questions.ts";
import { findRetired, sharesId } from "../retired-sources.ts";
import { type Certificate, type Proof, proofOf } from "./certificate.ts";
import { createCertificates, storeCertificate } from "./stored-certificates.ts";
import {
  type ItemProof,
  noSourceCounts,
  type SourceVerification,
  type VerifyRequest,
  worstOf,
} from "./verification.ts";
import type { IndexToVerify } from "./verify-index.ts";
import { type VerifiedSource, verifySource } from "./verify-source.ts";

export type VerifyParts = EngineParts & { readonly signer: Signer };

export interface VerifyResult {
  readonly certificate: Certificate;
  /** `sha256:…` of its file, which the next one names as `previous`. */
  readonly certificate_hash: string;
  /** Below the storage folder. */
  readonly certificate_file: string;
  /** The domain's last full certificate is older than its `max_age` allows. */
  readonly late: boolean;
  readonly proof?: Proof;
}

/** Damaged documents by source, which a repair rebuilds. */
export type DamagedDocuments = ReadonlyMap<SourceConfig, readonly ItemId[]>;

/**
 * Compares source, mirror, ledger, index and search of a domain, trusting none of them, and signs the result. Changes none of them;
 * leaves a certificate in the domain's folder. NotFoundError for an unknown domain, or if no source has an item to prove.
 */
export async function verifyDomain(
  request: VerifyRequest,
  parts: VerifyParts,
  job: JobContext,
): Promise<{ readonly result: VerifyResult; readonly damaged: DamagedDocuments }> {
  const started_utc = nowUtcMicros();
  const domain = await parts.domains.get(request.domainId);
  const target = await openIndexToVerify(domain, parts, job);
  const problems = target.problem === undefined ? [] : [target.problem];
  const sources: SourceVerification[] = [];
  const proofs: ItemProof[] = [];
  const damaged = new Map<SourceConfig, readonly ItemId[]>();
  const retired = await findRetired(domain, parts);
  for (const config of domain.sources) {
    await job.checkpoint();
    const run = { domainId: domain.domainId, config, sharesId: sharesId(config, [...domain.sources, ...retired]) };
    const verified = await lookAt(run, request, target, parts, job);
    sources.push(verified.result);
    proofs.push(...verified.proofs);
    if (verified.damaged.length > 0) damaged.set(config, verified.damaged);
  }
  const left = await findLeft(domain, target);
  for (const { source_id, differences } of left) {
    for (const { detail } of differences) job.log(`DIFFERS (index) source '${source_id}': ${detail}.`);
  }
  sources.push(...left);
  if (request.prove !== undefined && proofs.length === 0) throw notCovered(request.prove, domain.domainId);
  const state = target.problem === undefined ? await target.index.generations?.state() : undefined;
  if (state?.pinned) {
    job.log(
      `Readers are shown generation ${state.shown}; what was looked at is the newest, generation ${state.newest}.`,
    );
  }
  await tellHeld(domain, target, parts, job);
  const verdict = worstOf([
    ...sources.map((one) => one.verdict),
    ...(problems.length > 0 ? ["could not look" as const] : []),
  ]);
  const { domainId: domain_id, vectorStoreId: vector_store_id } = domain;
  const versions = { lockstep: releaseNumber(), node: process.versions.node, extractor: parts.extractor.revision };
  const { hash, id, certificate } = await storeCertificate(parts, domain_id, (previous) => ({
    domain_id,
    verdict,
    started_utc,
    finished_utc: nowUtcMicros(),
    generation: state?.newest ?? 0,
    generation_id: state?.newestId ?? "",
    shown_generation: state?.shown ?? 0,
    vector_store_id,
    download: request.download,
    quick: request.quick ?? false,
    max_age: domain.maxAge ?? "",
    versions,
    problems,
    sources,
    previous,
  }));
  const certificate_file = `domains/${domain_id}/certificates/${id}.json`;
  job.log(`Domain '${domain_id}': ${verdict}. Certificate ${certificate_file} (${hash}).`);
  const late = (await createCertificates(parts).status(domain)).isLate;
  const proof = proofs.length > 0 ? { proof: proofOf(certificate, proofs) } : {};
  return { result: { certificate, certificate_hash: hash, certificate_file, late, ...proof }, damaged };
}

/** What is held because of the domain's questions differs, as it should. */
async function tellHeld(
  { domainId }: Domain,
  target: IndexToVerify,
  parts: Pick<EngineParts, "questions">,
  job: JobContext,
): Promise<void> {
  if (target.problem !== undefined) return;
  const runs = await parts.questions.runs(domainId).catch(() => []);
  const held = (await findHeld(runs, async () => target.index))?.held ?? 0;
  if (held === 0) return;
  job.log(
    `${plural(held, "addition or change is", "additions and changes are")} held because of the domain's questions: there index and source differ until they are shown. lockstep questions ${domainId} tells more.`,
  );
}

/**
 * The quick look after a crawl that changed something: not after one that left the index out, and not after each of many small
 * commits. Waits for nothing and never fails the crawl; what it found is in the certificate, and a warning in the log if something differs.
 */
export async function verifyAfterCrawl(
  result: CrawlResult,
  request: CrawlRequest,
  parts: VerifyParts,
  job: JobContext,
): Promise<void> {
  const isDue = !result.dry_run && !request.gathered && request.steps.includes("embed") && !request.vectorStoreId;
  if (!isDue || !result.sources.some(hasChanges)) return;
  const { domainId } = request;
  try {
    const quietly: JobContext = { ...job, log: () => undefined };
    const looked = await verifyDomain({ domainId, download: false, quick: true, mayWait: false }, parts, quietly);
    if (looked.result.certificate.statement.verdict !== "differs") return;
    const count = countDifferences(looked.result);
    job.log(
      `WARNING: quick verification found ${plural(count, "difference")}${(result.questions?.held ?? 0) > 0 ? ", among them what is held" : ""}. lockstep verify ${domainId} --quick lists them.`,
    );
  } catch (error) {
    // A job that is cancelled now has done its work: the crawl is committed.
    if (job.signal.aborted) return;
    job.log(`WARNING: domain '${domainId}' could not be verified quickly: ${explain(error)}`);
  }
}

export function countDifferences({ certificate }: VerifyResult): number {
  const { sources } = certificate.statement;
  return sources.reduce((sum, one) => sum + one.differences.length + one.differences_more, 0);
}

function hasChanges({ download, process, embed }: SourceResult): boolean {
  return [download, process, embed].some(({ added, changed, moved, removed }) => added + changed + moved + removed > 0);
}

function notCovered(called: string, domainId: DomainId): NotFoundError {
  return new NotFoundError(
    `No source of domain '${domainId}' has an item '${called}'. Give its item id, file id, path below the source, or name.`,
  );
}

async function openIndexToVerify(domain: Domain, { backend }: EngineParts, job: JobContext): Promise<IndexToVerify> {
  const { vectorStoreId: store, domainId } = domain;
  if (!store) return { problem: `Domain '${domainId}' has no vector store yet: nothing was crawled.` };
  try {
    const index = await backend.openIndex(store, domainId, job.signal);
    if (!index)
      return { problem: describeMissingStore(domain, store, undefined).replace(", so nothing was embedded", "") };
    return { store, index };
  } catch (error) {
    if (error instanceof CancelledError || job.signal.aborted) throw error;
    return { problem: `The vector store cannot be opened: ${explain(error)}` };
  }
}

/** What keeps one source from being looked at does not keep the others. */
async function lookAt(
  run: SourceRun,
  request: VerifyRequest,
  target: IndexToVerify,
  parts: VerifyParts,
  job: JobContext,
): Promise<VerifiedSource> {
  try {
    return await verifySource(run, request, target, parts, job);
  } catch (error) {
    if (error instanceof CancelledError || job.signal.aborted) throw error;
    const problem = explain(error);
    job.log(`WARNING: source '${run.config.sourceId}' could not be looked at: ${problem}`);
    return {
      result: { ...nothingSeen(run.config), verdict: "could not look", problems: [problem] },
      proofs: [],
      damaged: [],
    };
  }
}

/** Documents of sources that the domain does not have any more. */
async function findLeft(domain: Domain, target: IndexToVerify): Promise<SourceVerification[]> {
  if (target.problem !== undefined) return [];
  const left: SourceVerification[] = [];
  for (const sourceId of await target.index.sources()) {
    if (domain.sources.some((source) => source.sourceId === sourceId)) continue;
    let documents = 0;
    for await (const refs of target.index.holdings(sourceId)) documents += refs.length;
    if (documents === 0) continue;
    const detail = `the index has ${plural(documents, "document")} of a source that the domain does not have`;
    const crawl = "removes them from the index";
    left.push({
      ...nothingSeen({ sourceId, sourceType: "" }),
      verdict: "differs",
      differences: [{ layer: "index", part: "document", item_id: "", path: "", detail, crawl }],
    });
  }
  return left;
}

const NOTHING = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

function nothingSeen({ sourceId, sourceType }: Pick<SourceConfig, "sourceId" | "sourceType">): SourceVerification {
  const root = { root: NOTHING, leaves: 0 };
  const unseen = "not looked at";
  return {
    source_id: sourceId,
    source_type: sourceType,
    verdict: "agrees",
    problems: [],
    counts: noSourceCounts(),
    based_on: { source: unseen, mirror: unseen, index: unseen, search: unseen },
    roots: { source: root, mirror: root, index: root },
    differences: [],
    differences_more: 0,
    behind: [],
    behind_more: 0,
  };
}
