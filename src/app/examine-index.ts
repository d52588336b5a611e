import type { Embedder } from "../contracts/embedder.ts";
import { explain } from "../contracts/errors.ts";
import type { Finding } from "../contracts/finding.ts";

/** Where documents are indexed; shown by `lockstep doctor`. */
export interface IndexFacts {
  /** `SQLite files in /data/index`. */
  readonly place: string;
  /** Where vectors come from and how they are compared; "" if a remote backend does that. */
  readonly vectors: string;
  /** Opens the embedder for new texts; undefined if there is none to check. */
  readonly embedder: (() => Promise<Embedder>) | undefined;
  /** The setting to check if the embedder does not respond. */
  readonly setting: string;
}

export async function* examineIndex(facts: IndexFacts): AsyncGenerator<Finding> {
  const vectors = facts.vectors && ` ${facts.vectors}`;
  yield { subject: "Index", outcome: "ok", detail: `${facts.place}.${vectors}`, remedy: "" };
  if (!facts.embedder) return;
  const subject = "Embeddings";
  try {
    const { model, dimensions } = await facts.embedder();
    yield { subject, outcome: "ok", detail: `Model '${model}' gives vectors of ${dimensions} dimensions.`, remedy: "" };
  } catch (error) {
    const remedy = `Check ${facts.setting}. Until it answers, nothing new is embedded, and searches go by words alone.`;
    yield { subject, outcome: "problem", detail: explain(error), remedy };
  }
}
