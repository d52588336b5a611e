import type { Domain, SourceConfig } from "../contracts/domain.ts";
import { BadInputError, DamagedError, explain, RemoteError, UnreadableError } from "../contracts/errors.ts";
import type { Finding } from "../contracts/finding.ts";
import type { DomainId, SourceId, VectorStoreId } from "../contracts/ids.ts";
import type { SourceRun } from "../contracts/source-kind.ts";
import { sayDuration } from "../lib/duration.ts";
import { plural } from "../lib/text.ts";
import type { EngineParts } from "./engine-parts.ts";
import { openIndexOf } from "./generations.ts";
import { describeMissingStore } from "./index-target.ts";
import { examineRecords } from "./ingest/registered-addresses.ts";
import { FEWEST_QUESTIONS, findHeld } from "./questions.ts";
import { createCertificates } from "./verify/stored-certificates.ts";

/** A finding and where it belongs: a source, a domain, or ("" for both) the installation. */
export interface PlacedFinding extends Finding {
  readonly domainId: DomainId | "";
  readonly sourceId: SourceId | "";
}

type DoctorParts = Pick<
  EngineParts,
  | "domains"
  | "backend"
  | "openSource"
  | "itemRepository"
  | "crawlerFolder"
  | "domainsFolder"
  | "ledgers"
  | "now"
  | "questions"
> & {
  /** Checks settings, certificate and storage. Web sites alone need no SharePoint sign-in. */
  examineInstallation(needs: { readonly sharepoint: boolean }): AsyncIterable<Finding>;
};

/**
 * Checks everything a crawl needs, of one domain or of all, without changing anything. A finding that is the same for
 * several sources (the sign-in) is yielded once. Throws NotFoundError for an unknown domain.
 */
export async function* examine(
  domainId: DomainId | undefined,
  parts: DoctorParts,
  signal: AbortSignal,
): AsyncGenerator<PlacedFinding, void> {
  const { domains, broken } =
    domainId === undefined ? await parts.domains.list() : { domains: [await parts.domains.get(domainId)], broken: [] };
  let sound = true;
  const sources = domains.flatMap((domain) => domain.sources);
  for await (const finding of parts.examineInstallation({
    sharepoint: sources.length === 0 || sources.some(({ kind }) => kind.abilities.needsSignIn),
  })) {
    sound &&= finding.outcome !== "problem";
    yield { ...finding, domainId: "", sourceId: "" };
  }
  for (const { domainId: name, reason } of broken) yield unreadable(name, reason);
  if (domains.length === 0 && broken.length === 0) yield noDomain();
  const yielded = new Set<string>();
  for (const domain of domains) {
    if (domain.scheduleProblem) yield badSchedule(domain, domain.scheduleProblem);
    yield { ...(await examineStore(domain, parts, signal)), domainId: domain.domainId, sourceId: "" };
    if (domain.maxAge) yield await examineCertificate(domain, parts);
    yield* examineQuestions(domain, parts);
    for (const source of domain.sources) {
      for await (const finding of examineSource({ domainId: domain.domainId, config: source }, parts, sound, signal)) {
        const { subject, outcome, remedy } = finding;
        // Without the detail, which may contain a request number.
        const words = JSON.stringify([subject, outcome, remedy]);
        if (outcome !== "not checked" && yielded.has(words)) continue;
        yielded.add(words);
        yield { ...finding, domainId: domain.domainId, sourceId: source.sourceId };
      }
    }
  }
}

/** Checks a source that is in no domain yet. */
export async function* examineOneSource(
  config: SourceConfig,
  parts: DoctorParts,
  signal: AbortSignal,
): AsyncGenerator<PlacedFinding, void> {
  let sound = true;
  for await (const finding of parts.examineInstallation({ sharepoint: config.kind.abilities.needsSignIn })) {
    if (finding.outcome !== "problem") continue;
    sound = false;
    yield { ...finding, domainId: "", sourceId: "" };
  }
  for await (const finding of examineSource({ domainId: NO_DOMAIN, config }, parts, sound, signal)) {
    yield { ...finding, domainId: "", sourceId: config.sourceId };
  }
}

/** Domain id for a source without a domain. */
const NO_DOMAIN = "_" as DomainId;

/** Checks one source. If the installation has problems, a source that cannot be opened is "not checked". */
async function* examineSource(
  run: SourceRun,
  parts: DoctorParts,
  sound: boolean,
  signal: AbortSignal,
): AsyncGenerator<Finding, void> {
  try {
    yield* parts
      .openSource(run, {
        log: () => undefined,
        ledger: () => parts.ledgers.open(run, { readOnly: true }),
        dryRun: true,
        force: false,
        checksum: false,
      })
      .diagnose(signal);
    if (run.domainId === NO_DOMAIN) return;
    const damaged = await findDamagedLedger(run, parts);
    if (damaged) yield damaged;
    else yield* examineRecords(run, parts);
  } catch (error) {
    if (error instanceof DamagedError) {
      yield { subject: "Registry", outcome: "problem", detail: error.problem, remedy: error.remedy };
      return;
    }
    if (!(error instanceof BadInputError || error instanceof RemoteError)) throw error;
    const remedy = sound ? "Correct the source in the domain." : "";
    const outcome = sound ? "problem" : "not checked";
    yield { subject: run.config.kind.describePlace(run.config), outcome, detail: explain(error), remedy };
  }
}

async function findDamagedLedger(
  run: SourceRun,
  { ledgers }: Pick<DoctorParts, "ledgers">,
): Promise<Finding | undefined> {
  try {
    await ledgers.version(run);
    return undefined;
  } catch (error) {
    if (!(error instanceof DamagedError)) throw error;
    return { subject: "Ledger", outcome: "problem", detail: error.problem, remedy: error.remedy };
  }
}

/** No store has this id: opening it shows whether the backend answers. */
const UNKNOWN_STORE = "vs_000000000000000000000000" as VectorStoreId;

async function examineStore(domain: Domain, parts: DoctorParts, signal: AbortSignal): Promise<Finding> {
  const { vectorStoreId, domainId } = domain;
  const subject = vectorStoreId ? `Vector store ${vectorStoreId}` : "Vector store";
  const late = AbortSignal.timeout(ANSWER_MS);
  try {
    const index = await parts.backend.openIndex(
      vectorStoreId || UNKNOWN_STORE,
      domainId,
      AbortSignal.any([signal, late]),
    );
    await index?.probe?.();
    // A store whose file was lost opens as an empty one, where searches find nothing.
    const lost = index?.generations && !(await index.generations.list())[0] ? await countIndexed(domain, parts) : 0;
    if (lost > 0) {
      const detail = `It is empty, although ${plural(lost, "document was", "documents were")} indexed: its file was lost.`;
      return { subject, outcome: "problem", detail, remedy: `Index them again: lockstep crawl ${domainId}` };
    }
    if (index) return { subject, outcome: "ok", detail: "It is there, and the backend answers.", remedy: "" };
    if (!vectorStoreId) {
      const detail = "There is none yet: the first crawl creates it. The backend answers.";
      return { subject, outcome: "ok", detail, remedy: "" };
    }
    return { subject, outcome: "problem", ...splitSentences(describeMissingStore(domain, vectorStoreId, undefined)) };
  } catch (error) {
    if (signal.aborted) throw error;
    if (error instanceof DamagedError) {
      return { subject, outcome: "problem", detail: error.problem, remedy: error.remedy };
    }
    const reason = late.aborted ? `no answer within ${ANSWER_MS / 1000} seconds.` : explain(error);
    const remedy = "Check the settings of the backend (OPENAI_… or AZURE_OPENAI_…), with the owner of the account.";
    return { subject, outcome: "problem", detail: `The backend cannot be used: ${reason}`, remedy };
  }
}

async function countIndexed({ domainId, sources }: Domain, { ledgers }: DoctorParts): Promise<number> {
  let indexed = 0;
  for (const config of sources) {
    const run = { domainId, config };
    // A damaged ledger is a finding of its source.
    if (await findDamagedLedger(run, { ledgers })) continue;
    const ledger = await ledgers.open(run, { readOnly: true });
    try {
      indexed += (await ledger.count()).indexed;
    } finally {
      await ledger.close();
    }
  }
  return indexed;
}

/** Shorter than in a crawl: a user waits for the result. */
const ANSWER_MS = 15_000;

/** Splits a message into problem and remedy. */
function splitSentences(text: string): { detail: string; remedy: string } {
  const at = text.indexOf(". ") + 1;
  return { detail: text.slice(0, at), remedy: text.slice(at + 1) };
}

function unreadable(name: string, reason: string): PlacedFinding {
  const remedy = "Repair or remove its domain.json on the server.";
  return {
    subject: `Domain '${name}'`,
    outcome: "problem",
    detail: `It cannot be read: ${reason}`,
    remedy,
    domainId: "",
    sourceId: "",
  };
}

function badSchedule({ domainId }: Domain, problem: string): PlacedFinding {
  const remedy = "Correct the schedule of the domain, or clear it.";
  const detail = `It is not crawled by itself: ${problem}`;
  return { subject: "Schedule", outcome: "problem", detail, remedy, domainId, sourceId: "" };
}

async function examineCertificate(domain: Domain, parts: DoctorParts): Promise<PlacedFinding> {
  const { domainId, maxAge = "" } = domain;
  const { ageMs, isLate, problem } = await createCertificates(parts).status(domain);
  const last = ageMs === undefined ? "It was never verified in full" : `Verified ${sayDuration(ageMs)} ago`;
  const detail = `${last}; at most ${maxAge} (max_age) are allowed. ${problem}`.trimEnd();
  const place = { subject: "Verification", detail, domainId, sourceId: "" } as const;
  if (!isLate) return { ...place, outcome: "ok", remedy: "" };
  return { ...place, outcome: "late", remedy: `Verify it: lockstep verify ${domainId}` };
}

/** Nothing for a domain without questions. */
async function* examineQuestions({ domainId }: Domain, parts: DoctorParts): AsyncGenerator<PlacedFinding> {
  const place = { subject: "Questions", domainId, sourceId: "" } as const;
  try {
    const { length } = (await parts.questions.read(domainId)).questions;
    if (length === 0) return;
    const runs = await parts.questions.runs(domainId);
    const last = runs.findLast(({ about }) => about === "crawl");
    // That the store cannot be opened is a finding of its own.
    const held = await findHeld(runs, async () => (await openIndexOf(domainId, parts)).index).catch(() => undefined);
    if (held) {
      const { asked, before, after, at } = held;
      const detail = `${plural(held.held, "addition or change is", "additions and changes are")} held since ${at.slice(0, 16).replace("T", " ")}: ${after} of ${asked} would be answered, ${before} before.`;
      const remedy = `Look at what got lost: lockstep questions ${domainId}`;
      yield { ...place, outcome: "problem", detail, remedy };
    } else if (length < FEWEST_QUESTIONS) {
      const detail = `It has ${plural(length, "question")}, and crawls ask from ${FEWEST_QUESTIONS} on.`;
      yield { ...place, outcome: "not checked", detail, remedy: "" };
    } else {
      const said = last
        ? `${last.after} of ${last.asked} were answered the last time.`
        : "No crawl has asked them yet.";
      yield { ...place, outcome: "ok", detail: said, remedy: "" };
    }
  } catch (error) {
    if (!(error instanceof UnreadableError)) throw error;
    yield { ...place, outcome: "problem", detail: explain(error), remedy: "" };
  }
}

function noDomain(): PlacedFinding {
  const detail = "There is no domain yet, so no source was checked.";
  return { subject: "Domains", outcome: "not checked", detail, remedy: "", domainId: "", sourceId: "" };
}
