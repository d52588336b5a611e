import type { Embedder } from "../../contracts/embedder.ts";

/**
 * Stands in for a model that cannot be had. It gives no vectors, so that words alone decide, and so that what is put
 * meanwhile is found lacking one when the model can be had again.
 */
export function createBlindEmbedder(of: Omit<Embedder, "embed">): Embedder {
  const { model, revision, dimensions } = of;
  return { model, revision, dimensions, embed: async () => [] };
}
