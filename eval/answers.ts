import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { extname, join } from "node:path";
import type { DomainId, ItemId, SourceId, VectorStoreId } from "../src/contracts/ids.ts";
import { createExtractor } from "../src/extract/extractor.ts";
import { searchAnswer } from "../src/index/answers/find-answer.ts";
import { EmbeddedIndex } from "../src/index/embedded-index.ts";
import { createLearntModel } from "../src/index/embedding/learnt-model.ts";
import { openSqliteStores } from "../src/index/sqlite/open-sqlite-stores.ts";

/** A question about a folder of documents, and the span of them that answers; "-": nothing does. */
interface AnswerCase {
  readonly split: string;
  readonly folder: string;
  readonly question: string;
  readonly span: string;
}

const FILE = "questions.tsv";

/** Shares, 0 to 1, of the questions of a split; "": of all. */
export interface AnswerScore {
  readonly split: string;
  /** The span that answers is within three sentences. */
  readonly answered: number;
  /** Nothing answers, and that is said. */
  readonly refused: number;
}

/** Folders of documents with questions.tsv beside them: split, folder, question, span. */
export function hasAnswerSet(path: string): boolean {
  return existsSync(join(path, FILE));
}

/** Scores the answers that are taken from documents, without a language model. Prints those that are wrong. */
export async function evaluateAnswers(path: string, print: (line: string) => void): Promise<readonly AnswerScore[]> {
  const [, ...lines] = readFileSync(join(path, FILE), "utf8").trimEnd().split("\n");
  const cases = lines.map((line): AnswerCase => {
    const [split = "", folder = "", question = "", span = ""] = line.split("\t");
    return { split, folder, question, span };
  });
  const rights = new Map<AnswerCase, boolean>();
  for (const folder of new Set(cases.map((one) => one.folder))) {
    const answers = await openFolder(join(path, folder));
    try {
      for (const one of cases.filter((other) => other.folder === folder)) {
        const sentences = await answers.answer(one.question);
        const isRight = one.span === "-" ? sentences.length === 0 : sentences.some((text) => has(text, one.span));
        rights.set(one, isRight);
        if (!isRight)
          print(`  ${one.split}, ${folder}: ${one.question} [${one.span}] ${sentences.join(" / ") || "nothing"}`);
      }
    } finally {
      await answers.close();
    }
  }
  const shareOf = (of: readonly AnswerCase[]): number =>
    of.filter((one) => rights.get(one)).length / Math.max(1, of.length);
  const say = (share: number, of: readonly AnswerCase[]): string =>
    `${Math.round(share * of.length)} of ${of.length} (${Math.round(100 * share)} %)`;
  const scores: AnswerScore[] = [];
  for (const split of [...new Set(cases.map((one) => one.split)), ""]) {
    const own = cases.filter((one) => split === "" || one.split === split);
    const [asked, foreign] = [own.filter(({ span }) => span !== "-"), own.filter(({ span }) => span === "-")];
    const score = { split, answered: shareOf(asked), refused: shareOf(foreign) };
    scores.push(score);
    const said = `span within three sentences: ${say(score.answered, asked)}; nothing answers, and it is said: ${say(score.refused, foreign)}`;
    print(`${(split || "all").padEnd(9)} ${said}`);
  }
  return scores;
}

function has(text: string, span: string): boolean {
  const plain = (one: string): string => one.replaceAll(/\s+/g, " ").toLowerCase();
  return plain(text).includes(plain(span));
}

async function openFolder(
  folder: string,
): Promise<{ answer(question: string): Promise<string[]>; close(): Promise<void> }> {
  const place = await mkdtemp(join(tmpdir(), "lockstep-answers-"));
  const provider = openSqliteStores(join(place, "index"), { model: createLearntModel() });
  const close = async (): Promise<void> => {
    await provider.close();
    await rm(place, { recursive: true, force: true });
  };
  const store = () => provider.open("vs_eval" as VectorStoreId);
  const index = new EmbeddedIndex({ store, extractor: createExtractor(), domain: "EVAL" as DomainId });
  const { signal } = new AbortController();
  const draft = await index.draft("folder" as SourceId);
  for (const name of readdirSync(folder)) {
    const path = join(folder, name);
    const content = readFileSync(path);
    const label = { name, path: name, url: "", fileType: extname(name).slice(1), modifiedAt: "", attributes: {} };
    const sha256 = createHash("sha256").update(content).digest("hex");
    await draft.put({ itemId: `item-${name}` as ItemId, path, sha256, bytes: content.length, label }, signal);
  }
  await draft.commit(signal);
  await index.refreshVectors(() => undefined, signal);
  return {
    async answer(question) {
      const search = async (text: string) => {
        const hits = await index.search({ text, limit: 12 });
        return { passages: hits.map(({ details, ...hit }) => ({ ...hit, title: details?.title ?? "" })) };
      };
      const found = { ...(await search(question)), words: await index.countWords(question) };
      return (await searchAnswer([question], found, search)).map(({ text }) => text);
    },
    close,
  };
}
