import type { Embedder } from "../../contracts/embedder.ts";
import { forEachConcurrent } from "../../lib/concurrency.ts";
import type { SpaceRow } from "../storage/spaces.ts";
import { batchTexts } from "./batch-texts.ts";
import { type EmbeddingsService, postEmbeddings, TooLongError } from "./post-embeddings.ts";
import { createServiceModel, onceOpened, type VectorModel } from "./vector-model.ts";

export interface HttpModelSettings extends EmbeddingsService {
  /** 0: as many as the model gives. */
  readonly dimensions: number;
}

/** Requests under way at once; services count them, and more of them are only refused. */
const CONCURRENCY = 4;
/** Some 8,000 tokens: the window of today's models. Of the rest of a text the answer would not know anyway. */
const MAX_TEXT_CHARACTERS = 30_000;
/** Shorter than this, it is not the length that is wrong. */
const MIN_TEXT_CHARACTERS = 200;

/** Any `/v1/embeddings` address. Asked for its dimensions when a store first needs vectors, unless the settings say how many. */
export function createHttpModel(settings: HttpModelSettings): VectorModel {
  const open = onceOpened(() => openHttpEmbedder(settings));
  // Without asking the service for its dimensions once more: a search needs one request, not two.
  const known = async ({ model, revision, dimensions }: SpaceRow): Promise<Embedder | undefined> =>
    model === settings.model && revision === String(dimensions) ? createHttpEmbedder(settings, dimensions) : undefined;
  return createServiceModel(open, known);
}

/** Throws RemoteError when the service has to be asked and does not answer. */
export async function openHttpEmbedder(settings: HttpModelSettings): Promise<Embedder> {
  if (settings.dimensions > 0) return createHttpEmbedder(settings, settings.dimensions);
  const [vector] = await postEmbeddings(settings, { texts: ["dimensions"], dimensions: 0, requested: 0 });
  return createHttpEmbedder(settings, vector?.length ?? 0);
}

function createHttpEmbedder(settings: HttpModelSettings, dimensions: number): Embedder {
  // A service that was asked for a length, is asked for the length of the space at hand, which may be an older one.
  const requested = settings.dimensions > 0 ? dimensions : 0;
  let longest = MAX_TEXT_CHARACTERS;
  const embedBatch = async (texts: readonly string[], signal?: AbortSignal): Promise<Float32Array[]> => {
    for (;;) {
      const cut = texts.map((text) => text.slice(0, longest));
      try {
        return await postEmbeddings(settings, { texts: cut, dimensions, requested }, signal);
      } catch (error) {
        if (!(error instanceof TooLongError)) throw error;
        if (texts.length > 1) return await halves(texts, signal);
        const length = cut[0]?.length ?? 0;
        if (length <= MIN_TEXT_CHARACTERS) throw error;
        longest = Math.floor(length / 2);
      }
    }
  };
  const halves = async (texts: readonly string[], signal?: AbortSignal): Promise<Float32Array[]> => {
    const middle = Math.ceil(texts.length / 2);
    const first = await embedBatch(texts.slice(0, middle), signal);
    return [...first, ...(await embedBatch(texts.slice(middle), signal))];
  };
  return {
    model: settings.model,
    revision: String(dimensions),
    dimensions,
    async embed(texts, signal) {
      const vectors: Float32Array[] = texts.map(() => new Float32Array(dimensions));
      await forEachConcurrent(batchTexts(texts, MAX_TEXT_CHARACTERS), CONCURRENCY, async ({ places, texts: batch }) => {
        const answer = await embedBatch(batch, signal);
        for (const [at, place] of places.entries()) vectors[place] = answer[at] ?? new Float32Array(dimensions);
      });
      return vectors;
    },
  };
}
