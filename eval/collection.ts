import { existsSync, readdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";

/** Documents, questions, and which documents answer which question. */
export interface Collection {
  readonly name: string;
  readonly documents: readonly { readonly id: string; readonly title: string; readonly text: string }[];
  /** Those that have an answer. */
  readonly questions: readonly { readonly id: string; readonly text: string }[];
  readonly answers: ReadonlyMap<string, ReadonlySet<string>>;
}

const FILES = ["corpus.jsonl", "queries.jsonl", "qrels.tsv"];

/** The folder itself, or the folders in it, that hold a collection. */
export function findCollections(path: string): string[] {
  const isCollection = (folder: string): boolean => FILES.every((file) => existsSync(join(folder, file)));
  if (isCollection(path)) return [path];
  return readdirSync(path, { withFileTypes: true })
    .filter((entry) => !entry.name.startsWith("."))
    .map((entry) => join(path, entry.name))
    .filter(isCollection)
    .sort();
}

/** Every listed pair with a score above 0 counts as an answer. */
export function readCollection(folder: string): Collection {
  const answers = new Map<string, Set<string>>();
  for (const line of linesOf(folder, "qrels.tsv")) {
    const [question = "", document = "", score = ""] = line.split("\t");
    if (!(Number(score) > 0)) continue;
    const known = answers.get(question) ?? new Set<string>();
    answers.set(question, known.add(document));
  }
  return {
    name: basename(folder),
    documents: linesOf(folder, "corpus.jsonl").map((line) => {
      const { _id, title = "", text = "" } = JSON.parse(line) as Record<string, string>;
      return { id: String(_id), title, text };
    }),
    questions: linesOf(folder, "queries.jsonl")
      .map((line) => JSON.parse(line) as Record<string, string>)
      .map(({ _id, text = "" }) => ({ id: String(_id), text }))
      .filter(({ id }) => answers.has(id)),
    answers,
  };
}

function linesOf(folder: string, file: string): string[] {
  return readFileSync(join(folder, file), "utf8")
    .split("\n")
    .filter((line) => line.trim() !== "");
}
