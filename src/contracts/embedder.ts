/** Text turned into vectors. Vectors of two models, or of two revisions of one, are never compared. */
export interface Embedder {
  readonly model: string;
  /** Changes whenever the same text would give another vector; part of the key under which vectors are reused. */
  readonly revision: string;
  readonly dimensions: number;
  /** One vector per text, in order, of length 1 or (for text without any feature) 0. None at all while the model cannot be had. */
  embed(texts: readonly string[], signal?: AbortSignal): Promise<Float32Array[]>;
}
