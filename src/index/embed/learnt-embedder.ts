import type { Embedder } from "../../contracts/embedder.ts";
import { analyze } from "../text/analyze.ts";
import type { LearntModel } from "./learnt-codec.ts";
import { normalise } from "./normalise.ts";
import { termWeight } from "./term-weights.ts";

export const LEARNT_MODEL = "lockstep-learnt";

/** Between so many texts others get their turn. */
const BATCH = 64;

/** Texts are placed where their words lie; words the model has never seen say nothing. */
export function createLearntEmbedder(learnt: LearntModel, revision: string): Embedder {
  const { words, idf, dimensions, scales, steps } = learnt;
  const places = new Map(words.map((word, place) => [word, place]));
  const counts = new Uint32Array(words.length);
  const embed = (text: string): Float32Array => {
    const vector = new Float32Array(dimensions);
    const known: number[] = [];
    for (const word of analyze(text)) {
      const place = places.get(word);
      if (place === undefined) continue;
      if (counts[place] === 0) known.push(place);
      counts[place] = (counts[place] as number) + 1;
    }
    for (const place of known) {
      const weight = termWeight(counts[place] as number, idf[place] as number);
      addSteps(vector, steps, place * dimensions, weight * (scales[place] as number));
      counts[place] = 0;
    }
    return normalise(vector);
  };
  return {
    model: LEARNT_MODEL,
    revision,
    dimensions,
    async embed(texts) {
      const vectors: Float32Array[] = [];
      for (const [at, text] of texts.entries()) {
        if (at % BATCH === BATCH - 1) await new Promise(setImmediate);
        vectors.push(embed(text));
      }
      return vectors;
    },
  };
}

/** Adds `factor` times the row at `from`. All the time goes here, hence four at a time. */
function addSteps(vector: Float32Array, steps: Int8Array, from: number, factor: number): void {
  const width = vector.length;
  let i = 0;
  for (; i + 3 < width; i += 4) {
    const at = from + i;
    vector[i] = (vector[i] as number) + factor * (steps[at] as number);
    vector[i + 1] = (vector[i + 1] as number) + factor * (steps[at + 1] as number);
    vector[i + 2] = (vector[i + 2] as number) + factor * (steps[at + 2] as number);
    vector[i + 3] = (vector[i + 3] as number) + factor * (steps[at + 3] as number);
  }
  for (; i < width; i++) vector[i] = (vector[i] as number) + factor * (steps[from + i] as number);
}
