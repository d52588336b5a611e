/** A result of `lockstep doctor`: one check on the way from the certificate to the search. */
export interface Finding {
  /** What was checked: `Certificate`, `Sign-in`, `Site https://…`, `Library '/Shared Documents'`. */
  readonly subject: string;
  /** late: nothing keeps a crawl from working, but the domain was not verified for longer than it allows. */
  readonly outcome: "ok" | "problem" | "late" | "not checked";
  /** What was found, one sentence. */
  readonly detail: string;
  /** The next step, and who can take it, or "". Commands are on separate lines. */
  readonly remedy: string;
  /** What exists, if something was not found. */
  readonly alternatives?: Alternatives;
}

export interface Alternatives {
  /** The field of a source, as `domain.json` has it. */
  readonly field: string;
  /** Possible values, the likeliest first. */
  readonly values: readonly string[];
}
