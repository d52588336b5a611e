import { explain, UnreadableError } from "../contracts/errors.ts";
import type { DomainId, FileId, ItemId, SourceId } from "../contracts/ids.ts";
import type { JobContext } from "../contracts/job.ts";
import type { LostQuestion, Question, QuestionRun, QuestionSet } from "../contracts/questions.ts";
import type { Index, IndexedRef, Preview, SearchQuery } from "../contracts/search-index.ts";
import { plural } from "../lib/text.ts";
import { nowUtcMicros } from "../lib/time.ts";
import type { EngineParts } from "./engine-parts.ts";
import type { IndexTarget } from "./index-target.ts";
import type { DomainCrawl } from "./run-context.ts";

/** A crawl asks the questions of a domain from this many on: with fewer, one lost question is a large share. */
export const FEWEST_QUESTIONS = 10;
/** A question is answered if its document is among so many results. */
export const WITHIN = 5;
/** Lost questions that are named in logs and results. */
export const NAMED_QUESTIONS = 20;

type Parts = Pick<EngineParts, "questions">;

/** A question with the document it was found to mean. */
interface AimedQuestion extends Question {
  readonly sourceId: SourceId;
  readonly itemId: ItemId;
}

/** Where the document of a question stands among the results; null: not within the first, or without the words. */
export interface AskedQuestion {
  readonly question: Question;
  /** null: not answered; undefined: not asked, because the domain has no such document. */
  readonly place: number | null | undefined;
  /** What came first, for people who wonder why. */
  readonly first: string;
}

/** What a crawl asked, and what is to be done. */
export interface QuestionOutcome extends Omit<QuestionRun, "at" | "generationId" | "held"> {}

/**
 * Asks the questions of the domain against what the crawl is about to commit. undefined: there is nothing to ask, and the draft may be
 * committed.
 */
export async function askBeforeCommit(
  { domain, request, job, problems }: DomainCrawl,
  { index, together }: IndexTarget,
  parts: Parts,
): Promise<QuestionOutcome | undefined> {
  if (!together) return undefined;
  const { domainId } = domain;
  try {
    const set = await parts.questions.read(domainId);
    if (set.questions.length < FEWEST_QUESTIONS) return undefined;
    const { brought, removed } = await together.changes();
    const wasHeld = (await parts.questions.runs(domainId)).at(-1)?.verdict === "held";
    if (brought + removed === 0 && !wasHeld) return undefined;
    return await compare(
      { domainId, index, set, job },
      "crawl",
      { draft: together.generationId },
      parts,
      request.confirmWorse,
    );
  } catch (error) {
    if (!(error instanceof UnreadableError)) throw error;
    // Without its questions nobody knows whether readers would still be answered.
    problems.push(explain(error));
    job.log(`ERROR: ${explain(error)}`);
    const verdict = request.confirmWorse ? "confirmed" : "held";
    return { about: "crawl", asked: 0, before: 0, after: 0, retired: 0, verdict, lost: [] };
  }
}

/** Whether a crawl asks questions; true if they cannot be read. */
export async function hasQuestions(domainId: DomainId, { questions }: Parts): Promise<boolean> {
  try {
    return (await questions.read(domainId)).questions.length >= FEWEST_QUESTIONS;
  } catch (error) {
    if (error instanceof UnreadableError) return true;
    throw error;
  }
}

/** Asks them before searches use vectors that were learnt anew. Returns whether they may. */
export async function askBeforeVectors(
  { domain, request, job, problems }: DomainCrawl,
  { index }: IndexTarget,
  preview: Preview,
  parts: Parts,
): Promise<boolean> {
  const { domainId } = domain;
  try {
    const set = await parts.questions.read(domainId);
    if (!index.shown || set.questions.length < FEWEST_QUESTIONS) return true;
    const outcome = await compare({ domainId, index, set, job }, "vectors", preview, parts, request.confirmWorse);
    await noteRun(domainId, outcome, { generationId: "", held: 0 }, parts, job);
    if (outcome.verdict === "held") {
      problems.push(`${sayOutcome(outcome)} Searches go on with the earlier vectors. ${HOW_TO_CONFIRM_WORSE}`);
    }
    return outcome.verdict !== "held";
  } catch (error) {
    if (!(error instanceof UnreadableError)) throw error;
    problems.push(explain(error));
    return request.confirmWorse;
  }
}

/** Asks the questions of a domain as readers would. */
export async function askNow(
  domainId: DomainId,
  index: Index,
  { questions }: QuestionSet,
  job: Pick<JobContext, "checkpoint" | "signal">,
): Promise<AskedQuestion[]> {
  const asked: AskedQuestion[] = [];
  for (const question of questions) {
    await job.checkpoint();
    const aimed = await aim(question, index);
    const [document] = aimed && index.shown ? await index.shown.of(aimed.sourceId, [aimed.itemId]) : [];
    if (!aimed || !document) {
      asked.push({ question, place: undefined, first: "" });
      continue;
    }
    const query = { text: question.question, limit: WITHIN, scope: { domainId }, signal: job.signal };
    const hits = await index.search(query);
    asked.push({
      question,
      place: placeIn(hits, aimed, document),
      first: hits[0]?.details?.path ?? hits[0]?.name ?? "",
    });
  }
  return asked;
}

interface Asking {
  readonly domainId: DomainId;
  readonly index: Index;
  readonly set: QuestionSet;
  readonly job: JobContext;
}

async function compare(
  { domainId, index, set, job }: Asking,
  about: QuestionOutcome["about"],
  preview: Preview,
  parts: Parts,
  confirmWorse: boolean,
): Promise<QuestionOutcome> {
  const aimed = await aimAll(domainId, set, index, parts);
  const state = await index.generations?.state();
  // Crawls build on the newest generation, also while readers are shown another.
  const asOf: Partial<SearchQuery> = state?.pinned ? { generation: state.newest } : {};
  const lost: LostQuestion[] = [];
  const counts = { asked: 0, before: 0, after: 0 };
  const [then, soon] = [await documentsOf(aimed, index, {}), await documentsOf(aimed, index, preview)];
  for (const [at, question] of aimed.entries()) {
    await job.checkpoint();
    const document = question && soon.get(keyOf(question));
    if (!question || !document) continue;
    const query: SearchQuery = {
      text: question.question,
      limit: WITHIN,
      scope: { domainId },
      signal: job.signal,
      ...asOf,
    };
    const earlier = then.get(keyOf(question));
    const before = earlier ? placeIn(await index.search(query), question, earlier) : null;
    const after = placeIn(await index.search({ ...query, preview }), question, document);
    counts.asked += 1;
    if (before !== null) counts.before += 1;
    if (after !== null) counts.after += 1;
    if (before !== null && after === null)
      lost.push({ question: question.question, document: question.document, before });
    if ((at + 1) % 50 === 0) job.log(`[ ${at + 1} / ${aimed.length} ] Asking the questions of the domain.`);
  }
  const isWorse = doesWorse(counts, set);
  const outcome: QuestionOutcome = {
    about,
    ...counts,
    retired: aimed.length - counts.asked,
    verdict: isWorse ? (confirmWorse ? "confirmed" : "held") : "passed",
    lost,
  };
  job.log(`${isWorse ? "WARNING: " : ""}${sayOutcome(outcome)}`);
  for (const { question, document, before } of lost.slice(0, NAMED_QUESTIONS)) {
    job.log(`  not answered any more: '${question}' by '${document}', which was result ${before}`);
  }
  if (lost.length > NAMED_QUESTIONS) job.log(`  and ${lost.length - NAMED_QUESTIONS} more`);
  return outcome;
}

/** Net: what is lost at one place may be won at another. */
function doesWorse(
  { asked, before, after }: Pick<QuestionOutcome, "asked" | "before" | "after">,
  { maxDrop, minLost }: QuestionSet,
): boolean {
  const fewer = before - after;
  return fewer >= minLost && (100 * fewer) / Math.max(1, asked) > maxDrop;
}

/** Finds the documents that the questions mean, and remembers them: a question follows its document when that is renamed. */
async function aimAll(
  domainId: DomainId,
  { questions }: QuestionSet,
  index: Index,
  parts: Parts,
): Promise<readonly (AimedQuestion | undefined)[]> {
  const aimed: (AimedQuestion | undefined)[] = [];
  for (const question of questions) aimed.push(await aim(question, index));
  const found = new Map(aimed.flatMap((one) => (one ? [[one.question, one] as const] : [])));
  if (questions.some((one) => one.itemId === "" && found.has(one.question))) {
    await parts.questions.change(domainId, (set) => ({
      ...set,
      questions: set.questions.map((one) => {
        const known = found.get(one.question);
        return one.itemId === "" && known?.document === one.document
          ? { ...one, sourceId: known.sourceId, itemId: known.itemId }
          : one;
      }),
    }));
  }
  return aimed;
}

/** undefined: the newest generation has no such document, or several. */
async function aim(question: Question, index: Index): Promise<AimedQuestion | undefined> {
  const { sourceId, itemId, document } = question;
  if (sourceId !== "" && itemId !== "") return { ...question, sourceId, itemId };
  const [found, ...others] = (await index.shown?.called(document, sourceId || undefined)) ?? [];
  if (!found || others.length > 0 || found.sourceId === "") return undefined;
  return { ...question, sourceId: found.sourceId as SourceId, itemId: found.itemId };
}

async function documentsOf(
  questions: readonly (AimedQuestion | undefined)[],
  { shown }: Index,
  preview: Preview,
): Promise<ReadonlyMap<string, IndexedRef>> {
  const found = new Map<string, IndexedRef>();
  const bySource = Map.groupBy(
    questions.filter((one) => one !== undefined),
    ({ sourceId }) => sourceId,
  );
  for (const [sourceId, some] of bySource) {
    const items = [...new Set(some.map(({ itemId }) => itemId))];
    for (const ref of (await shown?.newest(sourceId, items, preview)) ?? []) {
      found.set(keyOf({ sourceId, itemId: ref.itemId }), ref);
    }
  }
  return found;
}

function keyOf({ sourceId, itemId }: Pick<AimedQuestion, "sourceId" | "itemId">): string {
  return JSON.stringify([sourceId, itemId]);
}

/** Returns the place of the document among the hits, if their passages of it have all words; else null. */
function placeIn(
  hits: Awaited<ReturnType<Index["search"]>>,
  { sourceId, itemId, words }: AimedQuestion,
  { fileId }: { readonly fileId: FileId },
): number | null {
  const own = hits.flatMap((hit, at) => {
    const { details } = hit;
    const isIt = details?.sourceId === sourceId && details.itemId === itemId;
    return isIt || details?.alsoIn.some((other) => other.fileId === fileId) ? [{ hit, place: at + 1 }] : [];
  });
  const [best] = own;
  if (!best) return null;
  const text = foldText(own.map(({ hit }) => `${hit.sectionPath}\n${hit.text}`).join("\n"));
  return words.every((word) => text.includes(foldText(word))) ? best.place : null;
}

function foldText(text: string): string {
  return text.normalize("NFKC").toLowerCase().replaceAll(/\s+/g, " ");
}

/** What was committed: `generationId` is "" if nothing was. */
export async function noteRun(
  domainId: DomainId,
  { about, asked, before, after, retired, verdict, lost }: QuestionOutcome,
  { generationId, held }: Pick<QuestionRun, "generationId" | "held">,
  { questions }: Parts,
  job: JobContext,
): Promise<void> {
  const run: QuestionRun = {
    at: nowUtcMicros(),
    about,
    generationId,
    asked,
    before,
    after,
    retired,
    verdict,
    held,
    lost,
  };
  try {
    await questions.changeRuns(domainId, (runs) => [...runs, run]);
  } catch (error) {
    // The commit is done, or not; that is told anyway.
    job.log(`WARNING: how the questions were answered could not be noted: ${explain(error)}`);
  }
}

const HOW_TO_CONFIRM_WORSE =
  "If that is right, crawl again with confirm_worse=true (on the command line: --confirm-worse); nothing is embedded again.";

/** Returns `Questions: 12 of 20 are answered within the first 5, 19 were before.` */
function sayOutcome({ about, asked, before, after, retired }: QuestionOutcome): string {
  if (asked === 0 && retired === 0) return "Questions: they could not be asked.";
  const whose = about === "vectors" ? " with the new vectors" : "";
  const gone = retired > 0 ? ` ${plural(retired, "question")} not asked: their documents are not in the domain.` : "";
  return `Questions: ${after} of ${asked} are answered within the first ${WITHIN}${whose}, ${before} were before.${gone}`;
}

/** The sentence for people who read the result of a crawl. */
export function sayHeld(outcome: QuestionOutcome, documents: number): string {
  const lost = outcome.lost.slice(0, 3).map(({ question, document }) => `'${question}' (${document})`);
  const more = outcome.lost.length > lost.length ? ` and ${outcome.lost.length - lost.length} more` : "";
  const which = lost.length > 0 ? ` Not answered any more: ${lost.join(", ")}${more}.` : "";
  return `${sayOutcome(outcome)} So ${plural(documents, "addition or change is", "additions and changes are")} held; removals were made.${which} ${HOW_TO_CONFIRM_WORSE}`;
}
