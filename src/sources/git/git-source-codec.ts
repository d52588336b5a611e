/** A branch of a Git repository. */
export interface GitPlace {
  /** A URL without a secret, `user@host:path`, or an absolute path. */
  readonly repository: string;
  /** "": the default one. */
  readonly branch: string;
  /** The name of the environment variable that holds a token, or user:token; "": none. */
  readonly credential: string;
  readonly include: readonly string[];
  readonly exclude: readonly string[];
  readonly hidden: boolean;
  readonly maxFileBytes: number;
}
