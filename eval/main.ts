import { join } from "node:path";
import { parseArgs } from "node:util";
import { evaluateAnswers, hasAnswerSet } from "./answers.ts";
import { type Collection, findCollections, readCollection } from "./collection.ts";
import { type Measures, measure, type Ranking } from "./measures.ts";
import { plainBm25 } from "./plain-bm25.ts";
import { openProductSearch } from "./product-search.ts";

const { positionals, values } = parseArgs({ allowPositionals: true, options: { "least-gain": { type: "string" } } });
const [path = join(import.meta.dirname, "answers")] = positionals;
const folders = hasAnswerSet(path) ? [] : findCollections(path);
if (hasAnswerSet(path)) await evaluateAnswers(path, print);
else if (folders.length === 0) {
  process.stderr.write(
    `Give a folder with collections: npm run eval -- <folder> [--least-gain <percent>]. A collection is a folder with corpus.jsonl, queries.jsonl and qrels.tsv. A folder with questions.tsv is an answer set; without a folder, ours is scored.\n`,
  );
  process.exitCode = 2;
}
/** What is gained over plain BM25. */
interface Gain {
  readonly text: number;
  readonly fused: number;
}

const gains: Gain[] = [];
for (const folder of folders) gains.push(await evaluate(readCollection(folder)));
if (gains.length > 1) {
  const average = gains.reduce((sum, { fused }) => sum + fused, 0) / gains.length;
  print(`\nfused over plain BM25, on average of ${gains.length} collections: ${percent(average)} nDCG@10`);
}
const wanted = values["least-gain"];
if (wanted !== undefined && gains.some(({ text, fused }) => text < 0 || fused < Number(wanted) / 100)) {
  print(`Not good enough: fused must gain ${wanted} % everywhere, and text alone must not lose.`);
  process.exitCode = 1;
}

async function evaluate(collection: Collection): Promise<Gain> {
  const { name, documents, questions } = collection;
  print(`\n${name}: ${documents.length} documents, ${questions.length} questions`);
  print("               nDCG@10          recall@100   MRR     ms per question");
  const plain = await show("plain BM25", collection, plainBm25(collection));
  const search = await openProductSearch(collection);
  try {
    const text = await show("text only", collection, search.ranking("text"), plain);
    await show("vectors only", collection, search.ranking("vectors"), plain);
    const fused = await show("fused", collection, search.ranking(undefined), plain);
    const [indexing, learning] = [search.indexingMs, search.learningMs].map((ms) => (ms / 1000).toFixed(1));
    print(`${search.indexed} documents indexed in ${indexing} s, vectors learnt and made in ${learning} s`);
    for (const reason of new Set(search.refused)) {
      print(`${search.refused.filter((other) => other === reason).length} documents refused: ${reason}`);
    }
    return { text: text.ndcg10 / plain.ndcg10 - 1, fused: fused.ndcg10 / plain.ndcg10 - 1 };
  } finally {
    await search.close();
  }
}

async function show(what: string, collection: Collection, rank: Ranking, plain?: Measures): Promise<Measures> {
  const startedAt = performance.now();
  const found = await measure(collection, rank);
  const ms = (performance.now() - startedAt) / Math.max(1, collection.questions.length);
  const gain = plain ? percent(found.ndcg10 / plain.ndcg10 - 1) : "";
  const cells = [found.ndcg10.toFixed(4), gain.padStart(8), "  ", found.recall100.toFixed(3), "      "];
  print(`${what.padEnd(14)} ${cells.join(" ")} ${found.mrr.toFixed(3)}   ${ms.toFixed(1).padStart(6)}`);
  return found;
}

function percent(share: number): string {
  return `${share < 0 ? "" : "+"}${(100 * share).toFixed(1)} %`;
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}
