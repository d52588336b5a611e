/** Text turned into vectors. Vectors of two models, or of two revisions of one, are never compared. */
export interface Embedder {
  readonly model: string;
  /** Changes whenever the same text would give another vector; part of the key under which vectors are reused. */
  readonly revision: string;
  readonly dimensions: number;
  /**
   * Returns one vector per text, in order, of length 1 or (for text without features) 0. Returns none while the model
   * is unavailable.
   */
  embed(texts: readonly string[], signal?: AbortSignal): Promise<Float32Array[]>;
}
