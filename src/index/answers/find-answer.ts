import type { WordCounts } from "../../contracts/answer.ts";
import { analyze, fold, tokenize, UNSPACED_SCRIPTS } from "../analyzer.ts";
import { STOP_WORDS } from "../search/stop-words.ts";
import { expectedKinds, type Kind, kindWords } from "./kinds-of-answers.ts";
import { inOtherWords, relatedWords } from "./related-words.ts";
import { type Statement, statementsOf } from "./statements-of.ts";

/** A passage that a search found. Passages are passed best first. */
export interface AnswerPassage {
  readonly text: string;
  /** 0 to 1. */
  readonly score: number;
  /** "Travel > Hotels" */
  readonly sectionPath?: string;
  readonly title?: string;
}

/** A statement that answers, word for word from a passage, without Markdown. */
export interface Quoted<P> {
  readonly text: string;
  readonly passage: P;
  readonly position: number;
}

/** Only the best passages are searched for answers. */
const MAX_PASSAGES = 12;
const MAX_SENTENCES = 3;
/** A statement answers if it covers this share of the question's words, weighted by their rarity. */
const ENOUGH = 0.53;
/** The same when words of earlier questions are included: a follow-up question does not mean all of them. */
const ENOUGH_TOGETHER = 0.45;
/** The statement and its heading or lead-in alone must cover this share. */
const ENOUGH_ITSELF = 0.3;
/** A further statement is added if its score is this share of the best one's. */
const NEARLY_AS_GOOD = 0.75;
/** A lower share is enough for a statement that covers at least ENOUGH_ADDED of the question beyond what the chosen ones cover. */
const WORTH_ADDING = 0.5;
const ENOUGH_ADDED = 0.15;

/**
 * Returns the statements that answer the question, at most three; none if the best one covers too little. `questions`: the
 * question, then the earlier ones of the conversation, latest first. Earlier ones are used only if the question alone finds nothing.
 */
export function findAnswer<P extends AnswerPassage>(
  questions: readonly string[],
  passages: readonly P[],
  counts?: WordCounts,
): readonly Quoted<P>[] {
  const candidates = passages.slice(0, MAX_PASSAGES).flatMap((passage) => candidatesOf(passage));
  const weigh = createWeights(candidates, counts);
  const [question = "", ...earlier] = questions.map(withoutMiddle);
  // "And after that?" asks nothing by itself.
  const first = earlier.length > 0 && !saysSomething(question) ? 1 : 0;
  for (let count = first; count <= earlier.length; count += 1) {
    const asked = readQuestion(question, earlier.slice(0, count), weigh);
    const found = chooseFor(asked, candidates, count === 0 ? ENOUGH : ENOUGH_TOGETHER);
    if (found.length > 0) return found;
  }
  return [];
}

function saysSomething(question: string): boolean {
  return [...runsOf(question)].some(
    ({ start, end }) => !isEmptyWord(fold(question.slice(start, end)).replace(ELIDED, "")),
  );
}

/** Shortens a long question to its beginning and end: with a pasted text, the question is before or after it. */
function withoutMiddle(question: string): string {
  if (question.length <= 2 * HALF) return question;
  // Not within a word: no text has half a word.
  return `${question.slice(0, HALF).replace(/\S{0,40}$/u, "")}\n${question.slice(-HALF).replace(/^\S{0,40}/u, "")}`;
}

const HALF = 500;

/** The result of a search for the question. */
export interface FoundFor<P> {
  readonly passages: readonly P[];
  readonly words?: WordCounts | undefined;
}

/** Like findAnswer(). If nothing answers, searches once more with synonyms. */
export async function searchAnswer<P extends AnswerPassage>(
  questions: readonly string[],
  { passages, words }: FoundFor<P>,
  search: (text: string) => Promise<FoundFor<P>>,
): Promise<readonly Quoted<P>[]> {
  const found = findAnswer(questions, passages, words);
  const other = found.length > 0 ? "" : inOtherWords(questions[0] ?? "");
  return other === "" ? found : findAnswer(questions, (await search(other)).passages, words);
}

interface Candidate<P> {
  readonly statement: Statement;
  readonly passage: P;
  readonly own: WordSet;
  readonly about: WordSet;
  readonly before: WordSet;
  /** Title and headings further up. */
  readonly above: WordSet;
  readonly passageWords: WordSet;
}

function candidatesOf<P extends AnswerPassage>(passage: P): Candidate<P>[] {
  const path = (passage.sectionPath ?? "").split(" > ");
  const above = wordSet([...path.slice(0, -1), passage.title ?? ""].join(" \n "));
  const passageWords = wordSet(passage.text);
  return statementsOf(passage.text).map((statement) => ({
    statement,
    passage,
    own: wordSet(statement.text),
    // "It now has 400 GB": the sentence before says what.
    about: wordSet(
      [...statement.about, path.at(-1) ?? "", REFERS.test(statement.text) ? statement.before : ""].join(" \n "),
    ),
    before: wordSet(statement.before),
    above,
    passageWords,
  }));
}

/** A sentence that begins so goes on with what the one before is about. */
const REFERS = /^(?:it|they|he|she|er|ils|elles?)\s/i;

/** Weight of a matching word by where it occurs: in the statement, or around it. */
const PLACES = { own: 1, about: 0.9, above: 0.75, before: 0.6, passageWords: 0.35 } as const;
type Place = keyof typeof PLACES;

/** A word of the question that counts. */
interface QuestionWord {
  readonly word: string;
  readonly weight: number;
  /** The kind of answer that says the same: `cost` is answered by a price. */
  readonly kinds: readonly Kind[];
  readonly isName: boolean;
}

interface Question {
  readonly words: readonly QuestionWord[];
  readonly kinds: readonly Kind[];
}

/** Weight of words of earlier questions. Those that no text has are ignored. */
const EARLIER_WEIGHT = 0.5;

function readQuestion(text: string, earlier: readonly string[], weigh: Weigh): Question {
  const words = new Map<string, QuestionWord>();
  const empty: QuestionWord[] = [];
  for (const [at, asked] of [text, ...earlier].entries()) {
    for (const { start, end, tokens } of runsOf(asked)) {
      const raw = fold(asked.slice(start, end)).replace(ELIDED, "");
      const isEmpty = isEmptyWord(raw);
      for (const word of tokens) {
        if (SINGLE_LETTER.test(word) && tokens.length > 1) continue;
        const { weight, isKnown } = weigh(word);
        // An identifier that occurs nowhere may still do so in parts.
        if (!isKnown && (at > 0 || (word.includes("_") && tokens.length > 1))) continue;
        const part = weight * (at === 0 ? 1 : EARLIER_WEIGHT);
        const one = { word, weight: part, kinds: kindWords(raw), isName: at === 0 && isName(asked, start) };
        if (isEmpty) empty.push(one);
        else if (!words.has(word)) words.set(word, one);
      }
    }
  }
  return { words: words.size > 0 ? [...words.values()] : empty, kinds: expectedKinds(text) };
}

function isEmptyWord(raw: string): boolean {
  return STOP_WORDS.has(raw) || GENERAL.has(raw);
}

/** `s'élève`, `qu'on`, `what's`: a word and what is left of another. */
const ELIDED = /^(?:\p{L}|qu|jusqu|lorsqu|puisqu)['’]|['’]s$/u;
const SINGLE_LETTER = /^\p{Script=Latin}$/u;

/** Yields the words of a question with their search tokens: an identifier has one for the whole and one per part. */
function* runsOf(text: string): Generator<{ readonly start: number; readonly end: number; readonly tokens: string[] }> {
  const runs = Map.groupBy(tokenize(text), ({ start, word }) => (UNSPACED.test(word) ? `${start} ${word}` : start));
  for (const tokens of runs.values()) {
    const [{ start, end } = { start: 0, end: 0 }] = tokens;
    yield { start, end, tokens: [...new Set(tokens.map(({ word }) => word))] };
  }
}

/** Recognises German, which writes every noun with a capital: there, a capital is no sign of a name. */
const GERMAN =
  /\b(?:der|die|das|den|dem|des|ist|sind|wie|wer|wo|wann|was|und|ein|eine|im|zum|zur|welche[nmrs]?|gibt|kann|muss|darf)\b/iu;

function isName(question: string, start: number): boolean {
  return start > 1 && /\p{Lu}/u.test(question[start] ?? "") && !GERMAN.test(question);
}

/** Question words that say nothing about the subject, in English, German, French and Spanish. They count only if the question has no others. */
const GENERAL: ReadonlySet<string> = new Set(
  (
    "until off per once now today later soon each every all any above below under between during without within since other others another own really ever just only also still yet already many much long often far does did has have get gets got getting give gives given take takes need needs needed want use used using make makes made happen happens happened " +
    "must may might shall let know tell explain describe mean means find please there here one ones someone anyone somebody anybody something anything thing things way ways kind type sort " +
    "able allowed possible available different exactly really usually currently actually go goes come comes call called name named say says said work works apply applies ask " +
    "wann wer wie wo was ab pro ins ans ums aufs beim einmal heute jetzt gleich je jede jeder jedes alle alles schon noch nur auch immer eigene eigenen lang viel viele vielen vieles lange oft weit wieviel wieviele welche welcher welches welchen welchem muss mussen musst darf durfen soll sollte sollen konnen konnte will wollen mochte brauche braucht brauchen " +
    "bekomme bekommt bekommen kriege kriegt erhalte erhalt erhalten gibt geben gilt gelten heisst passiert mache macht machen tun tue tut man jemand etwas bitte dafur davon dazu wofur wozu womit wodurch wessen wem wen wohin woher warum wieso weshalb " +
    "moglich erlaubt genau eigentlich gerade dort hier werden wurde wurden worden habe haben hatten bin seit geht gehen kommt kommen finde findet finden wissen weiss nennt genannt mein meine meinen meiner meinem " +
    "combien quel quelle quels quelles quand comment pourquoi quoi faut peut peux peuvent puis puis-je pouvez dois doit doivent avoir ai as avez ont etre est-ce suis sont fait faire faites meme temps fois chaque tout toute tous toutes lors apres entre depuis jusqu jusque aupres chez si y cela ceci celui celle mon ma mes votre vos notre nos leurs lui me te on se quelque trouve appelle eleve existe aussi tres plus moins " +
    "cuanto cuanta cuantos cuantas cual cuales cuando donde quien quienes hay tiene tienen tengo puede puedo pueden debe debo hacer hago esta estan desde hasta mi mis tu tus me te cada mismo vez tambien muy todo toda todos todas"
  )
    .split(" ")
    .map(fold),
);

/** Returns the weight of a word, 0 to 1: rare words weigh most. `isKnown`: some passage has it. */
type Weigh = (word: string) => { readonly weight: number; readonly isKnown: boolean };

function createWeights(candidates: readonly Candidate<AnswerPassage>[], counts: WordCounts | undefined): Weigh {
  const passages = new Map(candidates.map(({ passage, passageWords }) => [passage, passageWords]));
  // Without counts, the passages found are taken as a sample of all.
  const all = Math.max(counts?.passages ?? 0, passages.size, LEAST_PASSAGES);
  const rarity = (having: number): number => Math.log(1 + all / (having + 0.5));
  // A word that occurs nowhere weighs no more than a rare one: the texts may use a synonym.
  const most = rarity(1);
  return (word) => {
    const having = counts
      ? (counts.having.get(word) ?? 0)
      : [...passages.values()].filter(({ exact }) => exact.has(word)).length;
    const isKnown = having > 0;
    // In scripts without blanks, a pair of characters may span two words. Then it occurs nowhere, and means nothing.
    if (!isKnown && UNSPACED.test(word)) return { weight: 0.15, isKnown };
    return { weight: Math.min(1, rarity(having) / most), isKnown };
  };
}

const LEAST_PASSAGES = 20;
const UNSPACED = new RegExp(`^[${UNSPACED_SCRIPTS}]`, "u");

/** Factor if a name of the question is missing. */
const WITHOUT_NAME = 0.75;
/** Factor if the statement is not of the expected kind: "how many" expects a number. */
const WITHOUT_KIND = 0.75;
/** The same for kinds that no answer lacks: what costs something has a price. */
const WITHOUT_SURE_KIND = 0.55;

interface Judged<P> {
  readonly candidate: Candidate<P>;
  readonly cover: number;
  readonly score: number;
  /** It has the expected kind of answer, or none is expected. */
  readonly fits: boolean;
}

function chooseFor<P extends AnswerPassage>(
  question: Question,
  candidates: readonly Candidate<P>[],
  enough: number,
): Quoted<P>[] {
  const judged = candidates
    .map((candidate) => judge(question, candidate))
    .filter((one) => one !== undefined)
    .sort((a, b) => b.score - a.score);
  const best = judged[0];
  if (!best || best.cover < enough) return [];
  const chosen: Judged<P>[] = [];
  for (const one of judged) {
    if (chosen.length >= MAX_SENTENCES || one.score < best.score * WORTH_ADDING) break;
    const isAsGood = one.score >= best.score * NEARLY_AS_GOOD && (one.fits || !best.fits);
    if (!isAsGood && addedShare(question, one, chosen) < ENOUGH_ADDED) continue;
    if (!chosen.some((other) => saysTheSame(other.candidate, one.candidate))) chosen.push(one);
  }
  return inReadingOrder(chosen.map(({ candidate }) => candidate)).map(({ statement, passage }) => ({
    text: statement.text,
    passage,
    position: statement.position,
  }));
}

function judge<P extends AnswerPassage>(question: Question, candidate: Candidate<P>): Judged<P> | undefined {
  const has = question.kinds.filter((kind) => kind.isIn(candidate.statement.text));
  const matches = question.words.map((asked) => matchOf(asked, candidate));
  // A number alone is no answer if no word of the question is near it.
  const isAbout = matches.length < 2 || matches.some(({ around }) => around > 0);
  let all = 0;
  let covered = 0;
  let itself = 0;
  let missing = 1;
  for (const [at, { weight, kinds, isName: isNamed }] of question.words.entries()) {
    const { near = 0, anywhere = 0 } = matches[at] ?? {};
    const byKind = isAbout && kinds.some((kind) => has.includes(kind)) ? BY_KIND : 0;
    all += weight;
    covered += weight * Math.max(byKind, anywhere);
    itself += weight * Math.max(byKind, near);
    // A statement about Rome does not answer a question about Madrid.
    if (isNamed && anywhere === 0) missing = WITHOUT_NAME;
  }
  if (all === 0) return undefined;
  const cover = (missing * covered) / all;
  if (itself / all < ENOUGH_ITSELF) return undefined;
  const fits = question.kinds.length === 0 || has.length > 0;
  const length = Math.max(12, candidate.own.size);
  const brevity = Math.sqrt(12 / length);
  const fitness = fits ? 1 : question.kinds.some(({ isSure }) => isSure) ? WITHOUT_SURE_KIND : WITHOUT_KIND;
  const score = cover * fitness * (0.85 + 0.15 * candidate.passage.score) * (0.85 + 0.15 * brevity);
  return { candidate, cover: cover * fitness, score, fits };
}

/** Weight of a word such as `cost` that the statement answers by its kind (a price) without repeating it. */
const BY_KIND = 0.9;

/**
 * Returns how well a word matches. `near`: the statement, its heading or lead-in. `around`: also higher headings, the title and
 * the sentence before. `anywhere`: also the rest of the passage.
 */
function matchOf(
  { word }: QuestionWord,
  candidate: Candidate<unknown>,
): { readonly near: number; readonly around: number; readonly anywhere: number } {
  const at = (place: Place): number => PLACES[place] * candidate[place].match(word);
  const near = Math.max(at("own"), at("about"));
  const around = Math.max(near, at("above"), at("before"));
  return { near, around, anywhere: Math.max(around, at("passageWords")) };
}

/** Returns the share of the question that this statement covers and those chosen before it do not. */
function addedShare<P>({ words }: Question, { candidate }: Judged<P>, chosen: readonly Judged<P>[]): number {
  let all = 0;
  let added = 0;
  for (const { word, weight } of words) {
    all += weight;
    const isNew = !chosen.some((other) => other.candidate.own.match(word) > 0 || other.candidate.about.match(word) > 0);
    if (isNew) added += weight * candidate.own.match(word);
  }
  return added / all;
}

function saysTheSame(one: Candidate<unknown>, other: Candidate<unknown>): boolean {
  if (one.statement.text === other.statement.text) return true;
  // Passages may overlap, and versions of a document differ in little.
  const [small, large] = one.own.size <= other.own.size ? [one.own, other.own] : [other.own, one.own];
  return small.size > 3 && [...small.exact].every((word) => large.exact.has(word));
}

/** Groups the statements by passage, in their order; passages in the order in which they were chosen. */
function inReadingOrder<P>(chosen: readonly Candidate<P>[]): Candidate<P>[] {
  const passages = [...new Set(chosen.map(({ passage }) => passage))];
  return passages.flatMap((one) =>
    chosen.filter(({ passage }) => passage === one).sort((a, b) => a.statement.position - b.statement.position),
  );
}

/** The words of a text. */
interface WordSet {
  readonly size: number;
  readonly exact: ReadonlySet<string>;
  /** 1 for the word itself; less for another form, a compound, or a synonym; 0 for none. */
  match(word: string): number;
}

/** Stems German words whose relation the stemmer of the index misses: `anmeldung`, `meldet`; `leitung`, `leitet`. */
function stemOf(word: string): string {
  const ended = word.replace(
    /(?:ungen|ung|heit|keit|lich|isch|enden|ende|eten|ete|est|en|er|em|es|et|st|e|t|n|s)$/,
    "",
  );
  return ended.replace(/^(?:zuruck|nach|aus|auf|ein|vor|ent|zer|ver|ab|an|um|be|ge|er|zu|mit)(?=.{4})/, "");
}

/** Other forms of a word begin alike; parts of compounds are at least this long. */
const MIN_STEM = 4;
const MIN_PART = 5;

function wordSet(text: string): WordSet {
  const exact = new Set(analyze(text));
  return {
    size: exact.size,
    exact,
    match(word) {
      if (exact.has(word)) return 1;
      if (word.length < MIN_STEM || !/^\p{L}+$/u.test(word)) return 0;
      let best = 0;
      for (const other of exact) best = Math.max(best, likeness(word, other));
      return best;
    },
  };
}

const RELATED = 0.85;
const FORM = 0.8;
const PART = 0.6;

function likeness(word: string, other: string): number {
  if (relatedWords(word).has(other)) return RELATED;
  if (isFormOf(word, other)) return FORM;
  // A compound is a kind of its last part: a `mahlstufe` is a `stufe`.
  return other.length >= MIN_STEM && word.length >= other.length + MIN_STEM && word.endsWith(other) ? PART : 0;
}

function isFormOf(word: string, other: string): boolean {
  const [short, long] = word.length <= other.length ? [word, other] : [other, word];
  if (short.length < MIN_STEM) return false;
  const stem = stemOf(short);
  if (stem.length >= MIN_STEM && stem === stemOf(long)) return true;
  if (long.startsWith(short) && (short.length >= MIN_PART || long.length - short.length <= 3)) return true;
  // A compound is a kind of its last part: `hauptgericht`, `gericht`. The required difference excludes `exchange`, `change`.
  if (short.length >= MIN_PART && long.endsWith(short) && long.length - short.length >= 3) return true;
  let same = 0;
  while (same < short.length && short[same] === long[same]) same += 1;
  // `kundig|en` and `kundig|ung`
  return same >= MIN_PART && same >= long.length - 4 && same >= short.length - 3;
}
