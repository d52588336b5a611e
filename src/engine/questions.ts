import { explain, UnreadableError } from "../contracts/errors.ts";
import type { DomainId, FileId, ItemId, SourceId } from "../contracts/ids.ts";
import type { JobContext } from "../contracts/job.ts";
import type { LostQuestion, Question, QuestionRun, QuestionSet } from "../contracts/questions.ts";
import type { HeldDraft, Index, IndexedRef, Preview, SearchQuery } from "../contracts/search-index.ts";
import { plural } from "../lib/text.ts";
import { nowUtcMicros } from "../lib/time.ts";
import type { QuestionsResult } from "./crawl-request.ts";
import type { EngineParts } from "./engine-parts.ts";
import type { IndexTarget } from "./index-target.ts";
import type { DomainCrawl } from "./run-context.ts";

/** A crawl asks the questions of a domain from this many on: with fewer, one lost question is a large share. */
export const FEWEST_QUESTIONS = 10;
/** A question is answered if its document is among so many results. */
export const WITHIN = 5;
/** Lost questions that are named in logs and results. */
const NAMED_QUESTIONS = 20;

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

/** How a crawl's questions were answered, and the verdict. */
interface QuestionOutcome extends Omit<QuestionRun, "at" | keyof RunOutcome> {}

/** What the crawl committed and held; `generationId` is "" if nothing was committed. */
type RunOutcome = Pick<QuestionRun, "generationId" | "held" | "heldDraft">;

/** By source: items that the crawl found, but which have nothing to be indexed by any more. */
type UnreadableItems = ReadonlyMap<SourceId, ReadonlySet<ItemId>>;

/**
 * Asks the questions of the domain against the draft that the crawl is about to commit, or against the new store of a swap.
 * undefined: there is nothing to ask, so nothing is held.
 */
export async function askQuestions(
  crawl: DomainCrawl,
  unreadable: UnreadableItems,
  parts: Parts,
): Promise<QuestionOutcome | undefined> {
  const { index, crawlDraft, swap } = crawl.target ?? {};
  if (!index) return undefined;
  if (swap) {
    if (swap.shortfalls.length > 0 || !index.shown) return undefined;
    const after = { index, preview: {}, unreadable };
    return await askUnlessUnreadable(crawl, parts, (set) =>
      compare({ about: "crawl", set, before: swap.index, after, crawl }, parts),
    );
  }
  if (!crawlDraft) return undefined;
  return await askUnlessUnreadable(crawl, parts, async (set) => {
    const { brought, removed } = await crawlDraft.changes();
    if (brought + removed === 0) return undefined;
    const after = { index, preview: { draft: crawlDraft.generationId }, unreadable };
    return await compare({ about: "crawl", set, before: index, after, crawl }, parts);
  });
}

/** Calls `ask` if there are enough questions. If they cannot be read, the draft is held: it may answer worse. */
async function askUnlessUnreadable(
  { domain, request, job, problems }: DomainCrawl,
  parts: Parts,
  ask: (set: QuestionSet) => Promise<QuestionOutcome | undefined>,
): Promise<QuestionOutcome | undefined> {
  try {
    const set = await parts.questions.read(domain.domainId);
    return set.questions.length < FEWEST_QUESTIONS ? undefined : await ask(set);
  } catch (error) {
    if (!(error instanceof UnreadableError)) throw error;
    problems.push(explain(error));
    job.log(`ERROR: ${explain(error)}`);
    const verdict = request.confirmWorse ? "confirmed" : "held";
    return { about: "crawl", asked: 0, before: 0, after: 0, retired: 0, verdict, lost: [] };
  }
}

/** Returns how many questions a crawl asks; 0 if they are too few. Infinity if they cannot be read. */
export async function countAsked(domainId: DomainId, { questions }: Parts): Promise<number> {
  try {
    const { length } = (await questions.read(domainId)).questions;
    return length < FEWEST_QUESTIONS ? 0 : length;
  } catch (error) {
    if (error instanceof UnreadableError) return Number.POSITIVE_INFINITY;
    throw error;
  }
}

/** Asks them before searches use vectors that were learnt anew. Returns whether they may. */
export async function askBeforeVectors(
  crawl: DomainCrawl,
  { index }: IndexTarget,
  preview: Preview,
  parts: Parts,
): Promise<boolean> {
  if (!index.shown) return true;
  const { problems, job, domain } = crawl;
  const outcome = await askUnlessUnreadable(crawl, parts, (set) =>
    compare({ about: "vectors", set, before: index, after: { index, preview, unreadable: new Map() }, crawl }, parts),
  );
  if (!outcome) return true;
  if (outcome.asked + outcome.retired > 0) {
    await noteRun(domain.domainId, outcome, { generationId: "", held: 0, heldDraft: "" }, parts, job);
  }
  if (outcome.verdict === "held") {
    problems.push(`${sayOutcome(outcome)} Searches go on with the earlier vectors. ${HOW_TO_CONFIRM_WORSE}`);
  }
  return outcome.verdict !== "held";
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

/**
 * Returns the last run that held something which readers still do not have, and how many documents that are. Other crawls may have
 * passed since, of other sources or of single items.
 */
export async function findHeld(
  runs: readonly QuestionRun[],
  openIndex: () => Promise<Pick<Index, "crawlDrafts">>,
): Promise<QuestionRun | undefined> {
  const held = runs.filter(({ heldDraft }) => heldDraft !== "").toReversed();
  if (held.length === 0) return undefined;
  const { crawlDrafts } = await openIndex();
  const open = new Set(await crawlDrafts?.listOpen());
  for (const run of held) {
    const documents = open.has(run.heldDraft) ? ((await crawlDrafts?.count(run.heldDraft)) ?? 0) : 0;
    if (documents > 0) return { ...run, held: documents };
  }
  return undefined;
}

interface Asking {
  readonly about: QuestionOutcome["about"];
  readonly set: QuestionSet;
  /** What readers have. */
  readonly before: Index;
  /** What they would have. */
  readonly after: { readonly index: Index; readonly preview: Preview; readonly unreadable: UnreadableItems };
  readonly crawl: DomainCrawl;
}

async function compare({ about, set, before, after, crawl }: Asking, parts: Parts): Promise<QuestionOutcome> {
  const { domain, request, job } = crawl;
  const { preview, unreadable } = after;
  const aimed = await aimAll(domain.domainId, set, before, parts);
  const state = await before.generations?.state();
  // Crawls build on the newest generation, also while readers are shown another.
  const asOf: Partial<SearchQuery> = state?.pinned ? { generation: state.newest } : {};
  const then = await documentsOf(aimed, before, {});
  const soon = await documentsOf(aimed, after.index, preview);
  const lost: LostQuestion[] = [];
  const counts = { asked: 0, before: 0, after: 0 };
  const [now, next] = [{ ...asOf }, { ...(after.index === before && asOf), preview }];
  for (const [at, question] of aimed.entries()) {
    await job.checkpoint();
    if (!question) continue;
    const earlier = then.get(keyOf(question));
    const later = soon.get(keyOf(question)) ?? (await successorOf(question, after));
    // The document left, so the question is retired. A document that lost its text counts as lost.
    if (!later && !(earlier && unreadable.get(question.sourceId)?.has(question.itemId))) continue;
    const query: SearchQuery = {
      text: question.question,
      limit: WITHIN,
      scope: { domainId: domain.domainId },
      signal: job.signal,
    };
    const place = earlier ? placeIn(await before.search({ ...query, ...now }), question, earlier) : null;
    const heir = later && { ...question, sourceId: later.sourceId, itemId: later.itemId };
    const isStill = heir && placeIn(await after.index.search({ ...query, ...next }), heir, later) !== null;
    counts.asked += 1;
    if (place !== null) counts.before += 1;
    if (isStill) counts.after += 1;
    if (place !== null && !isStill)
      lost.push({ question: question.question, document: question.document, before: place });
    if ((at + 1) % 50 === 0) job.log(`[ ${at + 1} / ${aimed.length} ] Asking the questions of the domain.`);
  }
  const isWorse = doesWorse(counts, set);
  const outcome: QuestionOutcome = {
    about,
    ...counts,
    retired: aimed.length - counts.asked,
    verdict: isWorse ? (request.confirmWorse ? "confirmed" : "held") : "passed",
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

/**
 * Finds the documents that the questions mean, and remembers them: a question follows its document when that is renamed, and goes to the
 * one that is called so now when that is gone.
 */
async function aimAll(
  domainId: DomainId,
  { questions }: QuestionSet,
  index: Index,
  parts: Parts,
): Promise<readonly (AimedQuestion | undefined)[]> {
  const aimed: (AimedQuestion | undefined)[] = [];
  for (const question of questions) aimed.push(await aim(question, index));
  const found = new Map(aimed.flatMap((one) => (one ? [[one.question, one] as const] : [])));
  const isNew = (one: Question): boolean => {
    const now = found.get(one.question);
    return now?.document === one.document && (now.itemId !== one.itemId || now.sourceId !== one.sourceId);
  };
  if (questions.some(isNew)) {
    await parts.questions.change(domainId, (set) => ({
      ...set,
      questions: set.questions.map((one) => ({ ...one, ...(isNew(one) && found.get(one.question)) })),
    }));
  }
  return aimed;
}

/** undefined: the newest generation has no such document, or several. */
async function aim(question: Question, index: Index): Promise<AimedQuestion | undefined> {
  const { sourceId, itemId } = question;
  const item = sourceId !== "" && itemId !== "" ? { ...question, sourceId, itemId } : undefined;
  if (item && ((await index.shown?.newest(item.sourceId, [item.itemId])) ?? []).length > 0) return item;
  const found = await called(question, index, {});
  return found ? { ...question, sourceId: found.sourceId, itemId: found.itemId } : item;
}

type CalledDocument = Pick<IndexedRef, "itemId" | "fileId"> & { readonly sourceId: SourceId };

/** Returns the only document that is called so, of the question's source if it has one. */
async function called(
  { document, sourceId }: Question,
  { shown }: Index,
  preview: Preview,
): Promise<CalledDocument | undefined> {
  for (const source of sourceId === "" ? [undefined] : [sourceId, undefined]) {
    const [found, ...others] = (await shown?.called(document, source, preview)) ?? [];
    if (found && others.length === 0 && found.sourceId !== "") {
      return { ...found, sourceId: found.sourceId as SourceId };
    }
  }
  return undefined;
}

/** The document that is called so when the one that was meant is gone; what merely cannot be read is there. */
async function successorOf(
  question: AimedQuestion,
  { index, preview, unreadable }: Asking["after"],
): Promise<CalledDocument | undefined> {
  if (unreadable.get(question.sourceId)?.has(question.itemId)) return undefined;
  return await called(question, index, preview);
}

async function documentsOf(
  questions: readonly (AimedQuestion | undefined)[],
  { shown }: Index,
  preview: Preview,
): Promise<ReadonlyMap<string, CalledDocument>> {
  const found = new Map<string, CalledDocument>();
  const bySource = Map.groupBy(
    questions.filter((one) => one !== undefined),
    ({ sourceId }) => sourceId,
  );
  for (const [sourceId, some] of bySource) {
    const items = [...new Set(some.map(({ itemId }) => itemId))];
    for (const ref of (await shown?.newest(sourceId, items, preview)) ?? []) {
      found.set(keyOf({ sourceId, itemId: ref.itemId }), { ...ref, sourceId });
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

/** Notes how the questions were answered, and says what is held. */
export async function concludeQuestions(
  asked: QuestionOutcome,
  { generation, heldDraft }: { readonly generation: number | null; readonly heldDraft: HeldDraft | undefined },
  { domain, target, problems, job }: DomainCrawl,
  parts: Parts,
): Promise<QuestionsResult> {
  const held = heldDraft?.documents ?? 0;
  const generationId = generation === null ? "" : (target?.crawlDraft?.generationId ?? "");
  const outcome = { generationId, held, heldDraft: heldDraft?.generationId ?? "" };
  await noteRun(domain.domainId, asked, outcome, parts, job);
  if (asked.verdict === "held" && target?.swap) target.swap.shortfalls.push(sayNotSwapped(asked));
  else if (asked.verdict === "held") {
    problems.push(sayHeld(asked, held));
    job.log(`WARNING: ${problems.at(-1)}`);
  }
  const { about: _, lost, ...counts } = asked;
  return { ...counts, held, lost: lost.slice(0, NAMED_QUESTIONS) };
}

async function noteRun(
  domainId: DomainId,
  asked: QuestionOutcome,
  outcome: RunOutcome,
  { questions }: Parts,
  job: JobContext,
): Promise<void> {
  const run: QuestionRun = { at: nowUtcMicros(), ...asked, ...outcome };
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
  const theirs = retired === 1 ? "its document is" : "their documents are";
  const gone = retired > 0 ? ` ${plural(retired, "question")} not asked: ${theirs} not in the domain.` : "";
  return `Questions: ${after} of ${asked} are answered within the first ${WITHIN}${whose}, ${before} were before.${gone}`;
}

/** The sentence for people who read the result of a crawl. */
function sayHeld(outcome: QuestionOutcome, documents: number): string {
  return `${sayOutcome(outcome)} So ${plural(documents, "addition or change is", "additions and changes are")} held; removals were made.${sayLost(outcome)} ${HOW_TO_CONFIRM_WORSE}`;
}

/** The same for a store that was to take the place of another. */
function sayNotSwapped(outcome: QuestionOutcome): string {
  return `${sayOutcome(outcome)}${sayLost(outcome)} If that is right, swap again with confirm_worse=true. A crawl without a swap makes the removals`;
}

function sayLost({ lost }: QuestionOutcome): string {
  const named = lost.slice(0, 3).map(({ question, document }) => `'${question}' (${document})`);
  const more = lost.length > named.length ? ` and ${lost.length - named.length} more` : "";
  return named.length > 0 ? ` Not answered any more: ${named.join(", ")}${more}.` : "";
}
