/** Something that is played again and again, each time by another seed, and must always end well. */
export interface Soak {
  /** How often, unless told otherwise. */
  readonly count: number;
  /** Throws when it does not end well; returns what to say of it. */
  play(seed: number): Promise<string>;
}
