/** Text turned into vectors. Vectors of two models, or of two revisions of one, are never compared. */
export interface Embedder {
  readonly model: string;
  /** Changes whenever the same text would give another vector; part of the key under which embeddings are reused. */
  readonly revision: string;
  readonly dimensions: number;
  /** One vector per text, in order, of length 1 or (for text without any feature) 0. */
  embed(texts: readonly string[]): Promise<Float32Array[]>;
}
