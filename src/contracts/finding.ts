/** One thing looked at on the way from the certificate to the search: what `lockstep doctor` says. */
export interface Finding {
  /** What was looked at: `Certificate`, `Sign-in`, `Site https://…`, `Library '/Shared Documents'`. */
  readonly subject: string;
  readonly outcome: "ok" | "problem" | "not checked";
  /** What was found, one sentence. */
  readonly detail: string;
  /** "" when nothing is to be done; otherwise the missing step, and who can take it. Commands stand on lines of their own. */
  readonly remedy: string;
  /** What there is instead of something that was not found. */
  readonly alternatives?: Alternatives;
}

export interface Alternatives {
  /** The field of a source, as `domain.json` has it. */
  readonly field: string;
  /** What could stand there, the likeliest first. */
  readonly values: readonly string[];
}
